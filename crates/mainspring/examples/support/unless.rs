//! Work that ends when a shutdown is requested.

use mainspring::shutdown::Requested;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

/// What `work` comes to, unless `stop` is requested before.
pub(crate) async fn unless<T>(
    mut stop: Pin<&mut Requested>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|cx| match stop.as_mut().poll(cx) {
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => work.as_mut().poll(cx).map(Some),
    })
    .await
}

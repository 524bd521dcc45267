//! Models of a place that several threads leave at once.

use crate::channel::bounded;
use crate::channel::place::{Place, Waits};
use futures_core::Stream;
use loom::future::block_on;
use loom::thread;
use mainspring_core::sync::Arc;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Is dropped when it is left. Loom watches the place's cell: two at once are a failure.
struct Counts(Arc<()>);

impl Waits for Counts {
    fn waits(&self) -> bool {
        true
    }
}

// WITNESS: place.alone
#[test]
fn threads_that_leave_at_once_leave_one_after_the_other_and_once() {
    loom::model(|| {
        let alive = Arc::new(());
        let mut place = Place::new();
        place.wait(|| Counts(Arc::clone(&alive)), |_| ());
        let place = Arc::new(place);
        let others = [(); 2].map(|()| {
            let place = Arc::clone(&place);
            thread::spawn(move || place.leave())
        });
        for other in others {
            other.join().unwrap();
        }
        let Some(mut place) = Arc::into_inner(place) else {
            panic!("somebody has it");
        };
        assert_eq!(Arc::strong_count(&alive), 1, "it was left");
        // It waits again, and is left once more.
        place.wait(|| Counts(Arc::clone(&alive)), |_| ());
        assert_eq!(Arc::strong_count(&alive), 2);
        place.leave();
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

// WITNESS: place.left
/// S1: the message comes before, while or after the stream's place is left.
#[test]
fn stream_that_is_left_while_it_is_told_passes_that_on() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let (tx, rx) = bounded(1);
        let mut stream = rx.clone();
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(Pin::new(&mut stream).poll_next(&mut cx), Poll::Pending);
        let sender = thread::spawn(move || {
            tx.try_send(1).unwrap();
            tx
        });
        let other = thread::spawn(move || assert_eq!(block_on(rx.recv()), Ok(1)));
        // Kept alive.
        drop(stream.recv());
        other.join().unwrap();
        drop(sender.join().unwrap());
        drop(stream);
    });
}

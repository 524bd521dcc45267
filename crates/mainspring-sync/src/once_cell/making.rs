//! The futures that wait for the value or make it.

use super::right::{Init, Right, Step, look};
use crate::parked::Parked;
use mainspring_core::wait::WaitKind;
use mainspring_core::wait_list::WaitList;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

const OVER: &str = "MS0017: an initialiser was polled after its end (docs/errors.md)";

/// What both futures do.
struct Making<'a, T, F, Fut> {
    list: &'a WaitList<Init<T>>,
    parked: Parked<&'a WaitList<Init<T>>, Step<'a, T>>,
    /// Taken when this one begins to make the value.
    start: Option<F>,
    /// There while this one makes the value.
    future: Option<Fut>,
    /// As well; dropped after it, so that the next initialiser begins when this one has gone.
    right: Option<Right<'a, T>>,
}

impl<'a, T, F, Fut> Making<'a, T, F, Fut>
where
    F: FnOnce() -> Fut,
    Fut: Future,
{
    fn new(list: &'a WaitList<Init<T>>, start: F) -> Self {
        Self {
            list,
            parked: Parked::new(list, ()),
            start: Some(start),
            right: None,
            future: None,
        }
    }

    fn poll<E>(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        outcome: impl FnOnce(Fut::Output) -> Result<T, E>,
    ) -> Poll<Result<&'a T, E>> {
        // SAFETY: [once-cell.pinned] nothing is moved out of `parked` and `future` below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [once-cell.pinned] it is pinned as long as `self` is, and dropped in place.
        let mut future = unsafe { Pin::new_unchecked(&mut this.future) };
        if future.is_none() {
            // SAFETY: [once-cell.pinned] as above.
            let parked = unsafe { Pin::new_unchecked(&mut this.parked) };
            match ready!(parked.poll(cx, WaitKind::Notify, Step::quick, look(this.list))) {
                Step::Set => {
                    drop(this.start.take());
                    let value = this.list.kind().place().value();
                    return Poll::Ready(Ok(value.expect("set-once.init: it was found")));
                }
                // CLAIM: [once-cell.right] if what follows unwinds, the right goes to the next.
                Step::Make(right) => {
                    let start = this.start.take();
                    let start = start.expect(OVER);
                    future.set(Some(start()));
                    this.right = Some(right);
                }
            }
        }
        let right = this.right.take();
        let right = right.expect(OVER);
        let running = future.as_mut().as_pin_mut();
        let running = running.expect("made above, or by an earlier poll");
        let Poll::Ready(output) = running.poll(cx) else {
            this.right = Some(right);
            return Poll::Pending;
        };
        let outcome = outcome(output);
        future.set(None);
        let value = outcome?;
        right.complete(value);
        let value = this.list.kind().place().value();
        Poll::Ready(Ok(value.expect("set-once.init: it was put in")))
    }
}

/// The future of [`OnceCell::get_or_init`](super::OnceCell::get_or_init).
///
/// # Cancel safety
///
/// It *loses value*: see [`OnceCell::get_or_init`](super::OnceCell::get_or_init).
#[must_use = "futures do nothing unless polled"]
pub struct GetOrInit<'a, T, F, Fut> {
    making: Making<'a, T, F, Fut>,
}

impl<'a, T, F, Fut> GetOrInit<'a, T, F, Fut>
where
    F: FnOnce() -> Fut,
    Fut: Future<Output = T>,
{
    pub(super) fn new(list: &'a WaitList<Init<T>>, start: F) -> Self {
        Self {
            making: Making::new(list, start),
        }
    }
}

impl<'a, T, F, Fut> Future for GetOrInit<'a, T, F, Fut>
where
    F: FnOnce() -> Fut,
    Fut: Future<Output = T>,
{
    type Output = &'a T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<&'a T> {
        // SAFETY: [once-cell.pinned] a projection of the one field; nothing is moved out.
        let making = unsafe { self.map_unchecked_mut(|this| &mut this.making) };
        match ready!(making.poll(cx, Ok::<T, Infallible>)) {
            Ok(value) => Poll::Ready(value),
        }
    }
}

/// The future of [`OnceCell::get_or_try_init`](super::OnceCell::get_or_try_init).
///
/// # Cancel safety
///
/// It *loses value*: see [`OnceCell::get_or_init`](super::OnceCell::get_or_init).
#[must_use = "futures do nothing unless polled"]
pub struct GetOrTryInit<'a, T, F, Fut> {
    making: Making<'a, T, F, Fut>,
}

impl<'a, T, E, F, Fut> GetOrTryInit<'a, T, F, Fut>
where
    F: FnOnce() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    pub(super) fn new(list: &'a WaitList<Init<T>>, start: F) -> Self {
        Self {
            making: Making::new(list, start),
        }
    }
}

impl<'a, T, E, F, Fut> Future for GetOrTryInit<'a, T, F, Fut>
where
    F: FnOnce() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Output = Result<&'a T, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [once-cell.pinned] a projection of the one field; nothing is moved out.
        let making = unsafe { self.map_unchecked_mut(|this| &mut this.making) };
        making.poll(cx, |result| result)
    }
}

impl<T, F, Fut> fmt::Debug for GetOrInit<'_, T, F, Fut> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GetOrInit")
            .field("is_making", &self.making.right.is_some())
            .finish_non_exhaustive()
    }
}

impl<T, F, Fut> fmt::Debug for GetOrTryInit<'_, T, F, Fut> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GetOrTryInit")
            .field("is_making", &self.making.right.is_some())
            .finish_non_exhaustive()
    }
}

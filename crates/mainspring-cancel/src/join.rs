//! Both of two futures, in one task.
//!
//! # Invariants
//!
//! - **join.pinned** — a future is pinned in its place from its first poll on; when it is ready it
//!   is dropped there, and its output takes the place.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// One of the two.
enum Part<F: Future> {
    Running(F),
    Done(F::Output),
    Taken,
}

impl<F: Future> Part<F> {
    /// Whether it is done.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> bool {
        // SAFETY: [join.pinned] the future is not moved below.
        let this = unsafe { self.as_mut().get_unchecked_mut() };
        let future = match this {
            Self::Running(future) => future,
            Self::Done(_) => return true,
            // PANIC: as its documentation says.
            Self::Taken => panic!("MS0017: a join was polled after its end"),
        };
        // SAFETY: [join.pinned] it is pinned as long as `self` is, and dropped in place.
        let future = unsafe { Pin::new_unchecked(future) };
        match future.poll(cx) {
            Poll::Ready(output) => {
                self.set(Self::Done(output));
                true
            }
            Poll::Pending => false,
        }
    }

    /// The output, which is there when `poll` has said so.
    fn take(self: Pin<&mut Self>) -> Option<F::Output> {
        // SAFETY: [join.pinned] a future is put back where it was, and nothing else is pinned.
        let this = unsafe { self.get_unchecked_mut() };
        if matches!(this, Self::Running(_)) {
            return None;
        }
        match std::mem::replace(this, Self::Taken) {
            Self::Done(output) => Some(output),
            Self::Running(_) | Self::Taken => None,
        }
    }
}

/// Waits for both of two futures, and polls both in one task.
///
/// For futures that need not be spawned: they may borrow. Where one may fail and the other is then
/// not worth going on with, take [`try_join2`]; for work that should run on several threads spawn
/// it, and await the handles.
///
/// Each is dropped as soon as it is ready. A poll polls those that are not, whichever was woken.
///
/// ```
/// use mainspring_cancel::join2;
///
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// let mut both = pin!(join2(async { 1 }, async { "two" }));
/// # let mut cx = Context::from_waker(Waker::noop());
/// let found = both.as_mut().poll(&mut cx); // or `.await`
/// assert_eq!(found, Poll::Ready((1, "two")));
/// ```
///
/// # Cancel safety
///
/// *Loses value*: dropped when one of them is ready it loses what that one gave.
///
/// # Complexity
///
/// Allocates nothing.
pub fn join2<A: Future, B: Future>(first: A, second: B) -> Join2<A, B> {
    Join2 {
        first: Part::Running(first),
        second: Part::Running(second),
    }
}

/// The future of [`join2`].
///
/// # Cancel safety
///
/// *Loses value*: dropped when one of them is ready it loses what that one gave.
///
/// # Panics
///
/// With `MS0017` when it is polled after its end.
#[must_use = "futures do nothing unless polled"]
pub struct Join2<A: Future, B: Future> {
    first: Part<A>,
    second: Part<B>,
}

/// Both parts, pinned.
type Parts<'a, A, B> = (Pin<&'a mut Part<A>>, Pin<&'a mut Part<B>>);

impl<A: Future, B: Future> Join2<A, B> {
    fn parts(self: Pin<&mut Self>) -> Parts<'_, A, B> {
        // SAFETY: [join.pinned] nothing is moved out of the two.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [join.pinned] pinned as long as `self` is, and dropped in place.
        let first = unsafe { Pin::new_unchecked(&mut this.first) };
        // SAFETY: [join.pinned] as above.
        let second = unsafe { Pin::new_unchecked(&mut this.second) };
        (first, second)
    }
}

impl<A: Future, B: Future> Future for Join2<A, B> {
    type Output = (A::Output, B::Output);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (first, second) = self.as_mut().parts();
        let is_first_done = first.poll(cx);
        if !(second.poll(cx) && is_first_done) {
            return Poll::Pending;
        }
        let (first, second) = self.parts();
        match (first.take(), second.take()) {
            (Some(first), Some(second)) => Poll::Ready((first, second)),
            _ => unreachable!("join.pinned: both are done"),
        }
    }
}

impl<A: Future, B: Future> fmt::Debug for Join2<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Join2").finish_non_exhaustive()
    }
}

/// Waits for both of two futures, or for the first that fails: then the other one goes with the
/// future that this returns, wherever it is.
///
/// For a part that must not stop halfway use [`join2`], and look at the results.
///
/// ```
/// use mainspring_cancel::try_join2;
///
/// # use std::{future::{Future, pending}, pin::pin, task::{Context, Poll, Waker}};
/// let fails = async { Err::<u8, _>("no such file") };
/// let mut both = pin!(try_join2(pending::<Result<u8, _>>(), fails));
/// # let mut cx = Context::from_waker(Waker::noop());
/// let found = both.as_mut().poll(&mut cx); // or `.await`
/// assert_eq!(found, Poll::Ready(Err("no such file")));
/// ```
///
/// # Cancel safety
///
/// *Loses value*: dropped when one of them is ready it loses what that one gave.
///
/// # Errors
///
/// The first error of either.
///
/// # Complexity
///
/// Allocates nothing.
pub fn try_join2<A, B, T, U, E>(first: A, second: B) -> TryJoin2<A, B>
where
    A: Future<Output = Result<T, E>>,
    B: Future<Output = Result<U, E>>,
{
    TryJoin2 {
        both: join2(first, second),
    }
}

/// The future of [`try_join2`].
///
/// # Cancel safety
///
/// *Loses value*: dropped when one of them is ready it loses what that one gave.
///
/// # Panics
///
/// With `MS0017` when it is polled after its end.
#[must_use = "futures do nothing unless polled"]
pub struct TryJoin2<A: Future, B: Future> {
    both: Join2<A, B>,
}

/// The error of a part that has one.
fn error_of<F, T, E>(mut part: Pin<&mut Part<F>>) -> Option<E>
where
    F: Future<Output = Result<T, E>>,
{
    if !matches!(&*part, Part::Done(Err(_))) {
        return None;
    }
    part.as_mut().take().and_then(Result::err)
}

impl<A, B, T, U, E> Future for TryJoin2<A, B>
where
    A: Future<Output = Result<T, E>>,
    B: Future<Output = Result<U, E>>,
{
    type Output = Result<(T, U), E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [join.pinned] a projection of the one field; nothing is moved out.
        let both = unsafe { self.map_unchecked_mut(|this| &mut this.both) };
        let (mut first, mut second) = both.parts();
        let is_first_done = first.as_mut().poll(cx);
        if let Some(error) = error_of(first.as_mut()) {
            return Poll::Ready(Err(error));
        }
        let is_second_done = second.as_mut().poll(cx);
        if let Some(error) = error_of(second.as_mut()) {
            return Poll::Ready(Err(error));
        }
        if !(is_first_done && is_second_done) {
            return Poll::Pending;
        }
        match (first.take(), second.take()) {
            (Some(Ok(first)), Some(Ok(second))) => Poll::Ready(Ok((first, second))),
            _ => unreachable!("join.pinned: both are done, and neither failed"),
        }
    }
}

impl<A: Future, B: Future> fmt::Debug for TryJoin2<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TryJoin2").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

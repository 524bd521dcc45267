//! Futures that are polled by hand.

use crate::waker::{Script, Tally};
use mainspring_core::{budget, poll};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A future whose type does not matter.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A future on the heap that is polled when the test says so, with the waker that it says.
///
/// The first waker counts and does nothing else; [`rescript`](Self::rescript) gives it another.
/// Each hand has wakers of its own, so that a primitive which tells tasks apart by their wakers
/// takes each hand for a task.
///
/// ```
/// use mainspring_testkit::Hand;
/// use std::future::pending;
///
/// let mut hand = Hand::new(pending::<()>());
/// assert!(hand.poll().is_pending());
/// hand.waker().wake_by_ref();
/// assert!(hand.is_woken());
/// ```
pub struct Hand<T> {
    /// `None` once it was ready: a task drops its future then, too.
    future: Option<Boxed<T>>,
    waker: Waker,
    tally: Tally,
    woken_before: usize,
}

impl<T> Hand<T> {
    /// Takes a future, which is not polled yet.
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self::scripted(future, Script::new())
    }

    /// As [`new`](Self::new), with a waker that follows `script`.
    pub fn scripted(future: impl Future<Output = T> + Send + 'static, script: Script) -> Self {
        let (waker, tally) = script.waker();
        Self {
            future: Some(Box::pin(future)),
            waker,
            tally,
            woken_before: 0,
        }
    }

    /// Polls with the current waker. If it is ready, the future is dropped before this returns.
    ///
    /// # Panics
    ///
    /// If it was ready before.
    #[track_caller]
    pub fn poll(&mut self) -> Poll<T> {
        self.woken_before = self.tally.woken();
        poll_once(&mut self.future, &self.waker)
    }

    /// Polls with a waker of the caller's. What [`is_woken`](Self::is_woken) says is about the
    /// hand's own wakers all the same.
    ///
    /// # Panics
    ///
    /// As [`poll`](Self::poll).
    #[track_caller]
    pub fn poll_with(&mut self, waker: &Waker) -> Poll<T> {
        self.woken_before = self.tally.woken();
        poll_once(&mut self.future, waker)
    }

    /// Polls as the last leaf of a task of mainspring that has used up its cooperative budget: it
    /// may be ready, or wake itself and yield; its place in a queue must not depend on which.
    ///
    /// For a primitive that does not ask `mainspring_core::budget`, a poll like any other.
    ///
    /// # Panics
    ///
    /// As [`poll`](Self::poll).
    #[track_caller]
    pub fn poll_spent(&mut self) -> Poll<T> {
        poll::root(|| {
            while !budget::is_spent() {
                budget::consume();
            }
            self.poll()
        })
    }

    /// Whether it was woken since it was last polled, by a waker that is still the current one.
    #[must_use]
    pub fn is_woken(&self) -> bool {
        self.tally.woken() > self.woken_before
    }

    /// Whether there is a future left to poll.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.future.is_some()
    }

    /// Gives it another waker, for the next poll. Returns what counts the old one's: whatever is
    /// still alive of them is in the hands of the primitive.
    pub fn rescript(&mut self, script: Script) -> Tally {
        let (waker, tally) = script.waker();
        let old = std::mem::replace(&mut self.waker, waker);
        let old_tally = std::mem::replace(&mut self.tally, tally);
        self.woken_before = 0;
        drop(old);
        old_tally
    }

    /// The current waker.
    #[must_use]
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// What counts the current waker's clones, this hand's own one included.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Drops the future now, then the hand's own waker, and returns what counts the clones.
    pub fn dismiss(self) -> Tally {
        let Self {
            future,
            waker,
            tally,
            ..
        } = self;
        drop(future);
        drop(waker);
        tally
    }

    /// Takes the future out, to be polled elsewhere and put back.
    pub(crate) fn lend(&mut self) -> Boxed<T> {
        self.woken_before = self.tally.woken();
        self.future.take().expect("polled after it was ready")
    }

    pub(crate) fn take_back(&mut self, future: Boxed<T>) {
        self.future = Some(future);
    }
}

#[track_caller]
fn poll_once<T>(slot: &mut Option<Boxed<T>>, waker: &Waker) -> Poll<T> {
    let future = slot.as_mut().expect("polled after it was ready");
    let polled = future.as_mut().poll(&mut Context::from_waker(waker));
    if polled.is_ready() {
        *slot = None;
    }
    polled
}

impl<T> fmt::Debug for Hand<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hand")
            .field("alive", &self.is_alive())
            .field("woken", &self.is_woken())
            .field("tally", &self.tally)
            .finish()
    }
}

#[cfg(test)]
mod tests;

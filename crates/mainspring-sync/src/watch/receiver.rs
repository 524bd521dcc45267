//! The side that is told of changes.

use super::Shared;
use super::guard::Ref;
use super::version::{Found, Version, look};
use crate::block;
use crate::parked::Parked;
use mainspring_core::sync::Arc;
use mainspring_core::wait::WaitKind;
use mainspring_core::wait_list::WaitList;
use mainspring_core::{CancelSafe, budget};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// Every sender was dropped, and the last value has been seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError;

impl RecvError {
    /// Never: nothing will change any more.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        false
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the senders have gone and the value will not change")
    }
}

impl Error for RecvError {}

/// The receiving side of a [`channel`](super::channel()). A clone has seen what this one has seen.
///
/// # Cancel safety
///
/// *Safe*: its futures leave what they do not return for the next one.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version that was seen last.
    seen: u64,
}

impl<T> Receiver<T> {
    pub(super) fn new(shared: &Arc<Shared<T>>) -> Self {
        shared.receivers.join();
        Self {
            shared: Arc::clone(shared),
            seen: shared.version().current(),
        }
    }

    /// The value, locked for reading, whether it was seen before or not. See [`Ref`] for what that
    /// means to senders: let go of it before the next `.await`.
    #[must_use]
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref::new(&self.shared).0
    }

    /// As [`borrow`](Self::borrow); the value that is shown counts as seen.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let (value, version) = Ref::new(&self.shared);
        self.seen = version;
        value
    }

    /// Whether there is a value that was not seen: whether [`changed`](Self::changed) would be `Ok`
    /// at once. One load.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        matches!(
            self.shared.version().look(self.seen),
            Some(Found::Version(_))
        )
    }

    /// Whether every sender has gone. There may be a last value that was not seen.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.version().is_closed()
    }

    /// Counts the value as not seen: the next [`changed`](Self::changed) is ready at once.
    pub fn mark_changed(&mut self) {
        // A version that the value does not have, and will not have again.
        self.seen = self.shared.version().current().wrapping_sub(1);
    }

    /// Counts the value as seen.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.version().current();
    }

    /// Waits for a value that was not seen, which then counts as seen.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: a change counts as seen in the poll that returns it, and not before.
    ///
    /// # Errors
    ///
    /// [`RecvError`] when every sender has gone and the last value was seen.
    pub fn changed(&mut self) -> Changed<'_, T> {
        Changed {
            parked: Parked::new(&self.shared.changes, ()),
            receiver: Seen {
                shared: &self.shared,
                seen: &mut self.seen,
            },
        }
    }

    /// Waits until the value, the one that is there now or a later one, satisfies `condition`.
    /// Values that it was asked about count as seen.
    ///
    /// `condition` is asked with the value locked, once for each that it gets to see: do not use
    /// the channel in there, and be short.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing but the values that did not satisfy it.
    ///
    /// # Errors
    ///
    /// [`RecvError`] when every sender has gone and the last value does not satisfy `condition`.
    ///
    /// # Panics
    ///
    /// When `condition` panics. The value that it was asked about does not count as seen.
    pub fn wait_for<F: FnMut(&T) -> bool>(&mut self, condition: F) -> WaitFor<'_, T, F> {
        WaitFor {
            parked: Parked::new(&self.shared.changes, ()),
            receiver: Seen {
                shared: &self.shared,
                seen: &mut self.seen,
            },
            condition,
            asked: None,
        }
    }

    /// Blocks this thread until there is a value that was not seen, which then counts as seen.
    ///
    /// # Errors
    ///
    /// [`RecvError`] when every sender has gone and the last value was seen.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn changed_blocking(&mut self) -> Result<(), RecvError> {
        block::wait(pin!(self.changed()))
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.receivers.join();
        Self {
            shared: Arc::clone(&self.shared),
            seen: self.seen,
        }
    }
}

impl<T> Drop for Receiver<T> {
    /// # Panics
    ///
    /// When the last one goes and the waker of a sender that waits for that panics.
    fn drop(&mut self) {
        self.shared.receivers.leave();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("has_changed", &self.has_changed())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

/// What a future borrows of its receiver.
struct Seen<'a, T> {
    shared: &'a Shared<T>,
    seen: &'a mut u64,
}

/// The waiter of a future of this file.
type Waiting<'a> = Parked<&'a WaitList<Version>, Found>;

fn poll_change(
    parked: Pin<&mut Waiting<'_>>,
    cx: &mut Context<'_>,
    seen: u64,
) -> Poll<Result<u64, RecvError>> {
    let quick = |version: &Version| version.look(seen);
    match ready!(parked.poll(cx, WaitKind::Receive, quick, look(seen))) {
        Found::Version(version) => Poll::Ready(Ok(version)),
        Found::Closed => Poll::Ready(Err(RecvError)),
    }
}

/// The future of [`Receiver::changed`].
///
/// # Cancel safety
///
/// *Safe*: a change counts as seen in the poll that returns it, and not before.
#[must_use = "futures do nothing unless polled"]
pub struct Changed<'a, T> {
    parked: Waiting<'a>,
    receiver: Seen<'a, T>,
}

impl<T> CancelSafe for Changed<'_, T> {}

impl<T> Future for Changed<'_, T> {
    type Output = Result<(), RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [parked.pinned] nothing is moved out of `parked` below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [parked.pinned] it is pinned as long as `self` is, and dropped in place.
        let parked = unsafe { Pin::new_unchecked(&mut this.parked) };
        let version = ready!(poll_change(parked, cx, *this.receiver.seen))?;
        *this.receiver.seen = version;
        Poll::Ready(Ok(()))
    }
}

impl<T> fmt::Debug for Changed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changed")
            .field("seen", &self.receiver.seen)
            .finish_non_exhaustive()
    }
}

/// The future of [`Receiver::wait_for`]. It gives out the value locked: see [`Ref`].
///
/// # Cancel safety
///
/// *Safe*: dropped early it loses nothing but the values that did not satisfy its condition.
#[must_use = "futures do nothing unless polled"]
pub struct WaitFor<'a, T, F> {
    parked: Waiting<'a>,
    receiver: Seen<'a, T>,
    condition: F,
    /// The version that did not satisfy the condition.
    asked: Option<u64>,
}

impl<T, F: FnMut(&T) -> bool> CancelSafe for WaitFor<'_, T, F> {}

impl<'a, T, F: FnMut(&T) -> bool> Future for WaitFor<'a, T, F> {
    type Output = Result<Ref<'a, T>, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: [parked.pinned] nothing is moved out of `parked` below; the other fields are not
        // pinned.
        let this = unsafe { self.get_unchecked_mut() };
        loop {
            // SAFETY: [parked.pinned] it is pinned as long as `self` is, and dropped in place.
            let parked = unsafe { Pin::new_unchecked(&mut this.parked) };
            let unit = match this.asked {
                Some(asked) => {
                    ready!(poll_change(parked, cx, asked))?;
                    None
                }
                // Nobody's turn is taken by a look: there is no queue to join before it.
                None => Some(ready!(budget::poll_proceed(cx))),
            };
            let (value, version) = Ref::new(this.receiver.shared);
            let is_satisfied = (this.condition)(&value);
            *this.receiver.seen = version;
            if is_satisfied {
                if let Some(unit) = unit {
                    unit.spend();
                }
                // Polled again it begins anew.
                this.asked = None;
                return Poll::Ready(Ok(value));
            }
            this.asked = Some(version);
        }
    }
}

impl<T, F> fmt::Debug for WaitFor<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitFor")
            .field("seen", &self.receiver.seen)
            .finish_non_exhaustive()
    }
}

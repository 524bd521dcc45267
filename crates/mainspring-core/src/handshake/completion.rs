//! The safe pair of handles on a [`Handshake`]: one allocation, one value, once.
//!
//! [`completion`] is the lean form. [`completion_with_cancel`] adds a place for the producer's own
//! waker, so that it can wait until nobody wants the value any more.
//!
//! # Invariants
//!
//! - **completion.alive** — the shared allocation lives as long as a handle points to it and no
//!   verdict has said that the other side frees it.

#[expect(
    unnameable_types,
    reason = "the sealing trait is out of reach on purpose"
)]
mod kind;

pub use kind::{Kind, Plain, WithCancel};

use super::{Handshake, OnCancel, OnComplete, OnPoll};
use crate::budget;
use crate::wait::{self, WaitKind};
use kind::{End, OnLeave, Place};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, ready};

/// Makes a connected pair: what the [`Completer`] is given, the [`Completion`] resolves to.
///
/// Use it as a oneshot channel between tasks or from a thread to a task. When the producer should
/// learn that nobody waits any more, use [`completion_with_cancel`]; for things that complete again
/// and again, a [`Relay`](crate::Relay).
///
/// One allocation for the pair. Completing is one read-modify-write and so is parking; taking the
/// value and freeing need none.
///
/// ```
/// use mainspring_core::completion;
/// use std::future::Future;
/// use std::task::{Context, Poll, Waker};
///
/// let (completer, completion) = completion();
/// assert_eq!(completer.complete(42), Ok(()));
/// let mut completion = std::pin::pin!(completion);
/// let mut cx = Context::from_waker(Waker::noop());
/// assert_eq!(completion.as_mut().poll(&mut cx), Poll::Ready(Ok(42)));
/// ```
pub fn completion<T>() -> (Completer<T>, Completion<T>) {
    pair(Plain::new())
}

/// As [`completion`], with a [`Completer`] that can wait until its value is no longer wanted.
///
/// Costs a counter and a waker's place in the allocation, and one read-modify-write more a side
/// when the completion is dropped or closed before the value comes.
///
/// ```
/// use mainspring_core::completion_with_cancel;
/// use std::future::Future;
/// use std::task::{Context, Poll, Waker};
///
/// let (mut completer, completion) = completion_with_cancel::<u32>();
/// let mut cx = Context::from_waker(Waker::noop());
/// assert!(completer.poll_cancelled(&mut cx).is_pending());
/// drop(completion);
/// assert!(completer.poll_cancelled(&mut cx).is_ready());
/// assert_eq!(completer.complete(1), Err(1));
/// ```
pub fn completion_with_cancel<T>() -> (Completer<T, WithCancel>, Completion<T, WithCancel>) {
    pair(WithCancel::new())
}

fn pair<T, K: Kind>(kind: K) -> (Completer<T, K>, Completion<T, K>) {
    let shared = NonNull::from(Box::leak(Box::new(Shared {
        cell: Handshake::new(),
        kind,
    })));
    (
        Completer { shared },
        Completion {
            shared: Some(shared),
        },
    )
}

/// `None` in the cell says that the completer was dropped.
struct Shared<T, K> {
    cell: Handshake<Option<T>>,
    kind: K,
}

/// Leaves, and frees if that was the last of it.
///
/// # Safety
///
/// The caller's side leaves for the first time, with the handshake's verdict, and does not use
/// `shared` afterwards.
#[inline]
unsafe fn leave<T, K: Kind>(shared: NonNull<Shared<T, K>>, end: End, place: Place) {
    // SAFETY: [completion.alive] only the address is computed, inside what `pair` allocated.
    let kind = unsafe { &raw const (*shared.as_ptr()).kind };
    // SAFETY: [completion.freed-once] the caller leaves for the first time.
    match unsafe { K::leave(kind, end, place) } {
        OnLeave::Keep => {}
        // SAFETY: [completion.freed-once] both sides have left, and `pair` made it from a box.
        OnLeave::Free => drop(unsafe { Box::from_raw(shared.as_ptr()) }),
    }
}

/// The completer was dropped without a value, or there is nothing left to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped;

impl Dropped {
    /// Never: no value will come.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        false
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the completer was dropped without a value")
    }
}

impl Error for Dropped {}

/// Why [`Completion::try_take`] returned no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryTakeError {
    /// Not yet; the completer still exists.
    Pending,
    /// The completer was dropped without a value, or there is nothing left to take.
    Dropped,
}

impl TryTakeError {
    /// Whether a later attempt may succeed.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Pending)
    }
}

impl fmt::Display for TryTakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pending => f.write_str("the value has not arrived yet"),
            Self::Dropped => Dropped.fmt(f),
        }
    }
}

impl Error for TryTakeError {}

/// The producing side of a [`completion`].
///
/// Exists exactly as long as no value was given. Dropping it resolves the [`Completion`] to
/// [`Dropped`].
#[must_use = "dropping the completer tells the other side that no value comes"]
pub struct Completer<T, K: Kind = Plain> {
    shared: NonNull<Shared<T, K>>,
}

// SAFETY: [completion.alive] a handle is one side of a `Handshake<Option<T>>`, which is `Sync` for
// a `T: Send`; through a shared reference only the state word is read.
unsafe impl<T: Send, K: Kind> Send for Completer<T, K> {}
// SAFETY: [completion.alive] as above.
unsafe impl<T: Send, K: Kind> Sync for Completer<T, K> {}

impl<T, K: Kind> Completer<T, K> {
    /// Gives the value and wakes whoever waits for it. The wake only schedules: nothing of the
    /// consumer's runs here.
    ///
    /// # Errors
    ///
    /// The value comes back when the completion was dropped or closed.
    ///
    /// # Panics
    ///
    /// When the consumer's waker panics. The value has arrived all the same.
    #[inline]
    pub fn complete(self, value: T) -> Result<(), T> {
        let this = ManuallyDrop::new(self);
        match this.finish(Some(value)) {
            None => Ok(()),
            // `finish` gives back what it was given.
            Some(value) => value.map_or(Ok(()), Err),
        }
    }

    /// Whether the completion was dropped or closed, so that a value would only come back.
    ///
    /// A hint: it may become true right afterwards. One load.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared().cell.is_cancelled()
    }

    #[inline]
    fn shared(&self) -> &Shared<T, K> {
        // SAFETY: [completion.alive] this handle has not completed: it would not exist.
        unsafe { self.shared.as_ref() }
    }

    /// Completes and leaves. Called once, by `complete` or by the drop.
    #[inline]
    fn finish(&self, value: Option<T>) -> Option<Option<T>> {
        let shared = self.shared();
        // SAFETY: [completion.alive] this side has not left.
        let own = unsafe { K::take_own(&raw const shared.kind) };
        // SAFETY: [handshake.one-terminal] the one completer, for the first time, on a live cell.
        let verdict = unsafe { shared.cell.complete(value) };
        let (end, place) = match verdict {
            OnComplete::Free(_) => (End::Cancelled, Place::Second),
            OnComplete::Published | OnComplete::Wake(_) => (End::Completed, Place::First),
        };
        // SAFETY: [completion.freed-once] as the handshake says; nothing is used afterwards.
        unsafe { leave(self.shared, end, place) };
        let back = match verdict {
            OnComplete::Published => None,
            OnComplete::Wake(waker) => {
                waker.wake();
                None
            }
            OnComplete::Free(value) => Some(value),
        };
        drop(own);
        back
    }
}

impl<T> Completer<T, WithCancel> {
    /// Ready when the completion was dropped or closed; otherwise the current task is woken then.
    ///
    /// Only the latest task counts.
    pub fn poll_cancelled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_cancelled() {
            return Poll::Ready(());
        }
        self.shared().kind.register_producer(cx.waker());
        // Looked at again: a cancel between the first look and the registration woke nobody.
        if self.is_cancelled() {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    /// Waits until the completion was dropped or closed.
    ///
    /// Use it beside the work whose result would be given, to stop early.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing and can be called again.
    pub fn cancelled(&mut self) -> Cancelled<'_, T> {
        Cancelled { completer: self }
    }
}

impl<T, K: Kind> Drop for Completer<T, K> {
    fn drop(&mut self) {
        // What comes back is the `None` that went in.
        let _ = self.finish(None);
    }
}

impl<T, K: Kind> fmt::Debug for Completer<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completer")
            .field("is_cancelled", &self.is_cancelled())
            .finish()
    }
}

/// The future of [`Completer::cancelled`].
///
/// # Cancel safety
///
/// *Safe*: it holds nothing but the borrow.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Cancelled<'a, T> {
    completer: &'a mut Completer<T, WithCancel>,
}

// It holds nothing but the borrow, and has no place to keep.
impl<T> crate::cancel_safe::CancelSafe for Cancelled<'_, T> {}

impl<T> Future for Cancelled<'_, T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.completer.poll_cancelled(cx)
    }
}

/// The consuming side of a [`completion`]: a future of the value.
///
/// It resolves to the value, or to [`Dropped`] when the completer went without giving one. Polled
/// after that it is ready with [`Dropped`] again: nothing more will come.
///
/// # Cancel safety
///
/// *Safe* by `&mut`: an await dropped early leaves the value here for the next one. Dropping the
/// completion itself drops the value with it, or gives it back to the completer if it comes later;
/// [`close`](Self::close) hands over what has arrived.
#[must_use = "futures do nothing unless polled"]
pub struct Completion<T, K: Kind = Plain> {
    /// `None` once the value was taken or the completion closed.
    shared: Option<NonNull<Shared<T, K>>>,
}

// SAFETY: [completion.alive] a handle is one side of a `Handshake<Option<T>>`, which is `Sync` for
// a `T: Send`; a shared reference reads only the handle itself.
unsafe impl<T: Send, K: Kind> Send for Completion<T, K> {}
// SAFETY: [completion.alive] as above.
unsafe impl<T: Send, K: Kind> Sync for Completion<T, K> {}
// Nothing is pinned inside.
impl<T, K: Kind> Unpin for Completion<T, K> {}

impl<T, K: Kind> Completion<T, K> {
    /// Takes the value if it has arrived, without waiting. A parked task stays parked.
    ///
    /// # Errors
    ///
    /// [`TryTakeError::Pending`] while the completer exists, [`TryTakeError::Dropped`] when
    /// nothing will come, also after the value was taken or the completion closed.
    pub fn try_take(&mut self) -> Result<T, TryTakeError> {
        let Some(shared) = self.shared else {
            return Err(TryTakeError::Dropped);
        };
        // SAFETY: [completion.alive] neither taken nor closed: the handle would not point to it.
        let cell = unsafe { &shared.as_ref().cell };
        // SAFETY: [handshake.second-frees] the one consumer, which has neither taken nor left.
        match unsafe { cell.try_take() } {
            OnPoll::Pending => Err(TryTakeError::Pending),
            OnPoll::Ready(value) => {
                self.taken(shared);
                value.ok_or(TryTakeError::Dropped)
            }
        }
    }

    /// Stops waiting. From now on the completer gets its value back; one that has arrived before is
    /// returned.
    ///
    /// # Panics
    ///
    /// When the producer's waker panics, or the drop of the consumer's. The completion is closed.
    pub fn close(&mut self) -> Option<T> {
        let shared = self.shared.take()?;
        // SAFETY: [completion.alive] neither taken nor closed: the handle would not point to it.
        let cell = unsafe { &shared.as_ref().cell };
        // SAFETY: [handshake.second-frees] the one consumer, which leaves now and only now.
        match unsafe { cell.cancel() } {
            OnCancel::Free(value) => {
                // SAFETY: [completion.freed-once] as the handshake says; not used afterwards.
                unsafe { leave(shared, End::Completed, Place::Second) };
                value
            }
            OnCancel::Left(own) => {
                // SAFETY: [completion.alive] only the address is computed.
                let kind = unsafe { &raw const (*shared.as_ptr()).kind };
                // SAFETY: [completion.freed-once] the lean form has no waker and is not looked at;
                // the other is held until `leave`.
                let producer = unsafe { K::take_producer(kind) };
                // SAFETY: [completion.freed-once] as the handshake says; not used afterwards.
                unsafe { leave(shared, End::Cancelled, Place::First) };
                if let Some(producer) = producer {
                    producer.wake();
                }
                drop(own);
                None
            }
        }
    }

    /// The value was moved out of `shared`, whose producer has left.
    #[inline]
    fn taken(&mut self, shared: NonNull<Shared<T, K>>) {
        self.shared = None;
        // SAFETY: [completion.freed-once] READY was found, so this side is the second.
        unsafe { leave(shared, End::Completed, Place::Second) };
    }
}

impl<T, K: Kind> Future for Completion<T, K> {
    type Output = Result<T, Dropped>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(shared) = this.shared else {
            return Poll::Ready(Err(Dropped));
        };
        let unit = ready!(budget::poll_proceed(cx));
        // SAFETY: [completion.alive] neither taken nor closed: the handle would not point to it.
        let cell = unsafe { &shared.as_ref().cell };
        // SAFETY: [handshake.second-frees] the one consumer, which has neither taken nor left.
        match unsafe { cell.poll(cx.waker()) } {
            OnPoll::Pending => {
                wait::note(WaitKind::Completion, 0);
                Poll::Pending
            }
            OnPoll::Ready(value) => {
                unit.spend();
                this.taken(shared);
                Poll::Ready(value.ok_or(Dropped))
            }
        }
    }
}

impl<T, K: Kind> Drop for Completion<T, K> {
    #[inline]
    fn drop(&mut self) {
        if self.shared.is_some() {
            drop(self.close());
        }
    }
}

impl<T, K: Kind> fmt::Debug for Completion<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion")
            .field("is_done", &self.shared.is_none())
            .finish()
    }
}

#[cfg(test)]
mod tests;

//! The side that changes the value.

use super::Shared;
use super::guard::{Ref, Write};
use super::receiver::Receiver;
use super::version::{OnPublish, wake};
use crate::wait_group::count::{Holders, Zero};
use mainspring_core::CancelSafe;
use mainspring_core::sync::Arc;
use mainspring_core::sync::atomic::{
    Ordering::{Relaxed, Release},
    acquire_last,
};
use mainspring_core::wait::WaitKind;
use mainspring_core::wait_list::WaitList;
use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The sending side of a [`channel`](super::channel()). When the last one is dropped the receivers
/// are told that nothing will change any more.
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

impl<T> Sender<T> {
    /// A channel that holds `value` and has no receiver yet.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            shared: Shared::new(value),
        }
    }

    /// Replaces the value and wakes who waits for a change. Blocks while a
    /// [`borrow`](Receiver::borrow) is held.
    ///
    /// Whether there is a receiver makes no difference: who subscribes later finds the value.
    ///
    /// # Panics
    ///
    /// When the drop of the old value or a waker panics. The new value has been sent.
    pub fn send(&self, value: T) {
        drop(self.send_replace(value));
    }

    /// As [`send`](Self::send), and returns the value that was there.
    ///
    /// # Panics
    ///
    /// When a waker panics. The new value has been sent, and the old one is dropped.
    pub fn send_replace(&self, value: T) -> T {
        let mut current = Write::new(&self.shared);
        // CLAIM: [watch.sent] whoever is there or not; the old one leaves the lock first.
        let old = mem::replace(&mut *current, value);
        drop(current);
        old
    }

    /// Changes the value in place and wakes who waits for a change.
    ///
    /// The value is locked while `change` runs: do not use the channel in there, and be short.
    ///
    /// # Panics
    ///
    /// When `change` panics, which counts as a change: the value may be another one now. When a
    /// waker panics.
    pub fn send_modify(&self, change: impl FnOnce(&mut T)) {
        change(&mut Write::new(&self.shared));
    }

    /// As [`send_modify`](Self::send_modify), and tells nobody if `change` returns `false`, which
    /// is handed on.
    ///
    /// # Panics
    ///
    /// As [`send_modify`](Self::send_modify).
    pub fn send_if_modified(&self, change: impl FnOnce(&mut T) -> bool) -> bool {
        let mut current = Write::new(&self.shared);
        let is_change = change(&mut current);
        current.is_change = is_change;
        is_change
    }

    /// The value, locked for reading. See [`Ref`] for what that means to senders.
    #[must_use]
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref::new(&self.shared).0
    }

    /// A receiver that has seen the value which is there now.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: nothing is lost with a receiver.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::new(&self.shared)
    }

    /// How many receivers there are.
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.shared.receivers.holders()
    }

    /// Whether there is no receiver. One may [`subscribe`](Self::subscribe) at any time.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there is no receiver: until there was one moment without, since the first poll.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing and can be called again.
    pub fn closed(&self) -> Closed<'_, T> {
        Closed {
            sender: self,
            zero: Zero::new(&self.shared.receivers),
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.senders.fetch_add(1, Relaxed);
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T> Drop for Sender<T> {
    /// # Panics
    ///
    /// When the last one goes and a waker panics.
    fn drop(&mut self) {
        // ORDERING: [watch.senders] Release, pairs with the acquire of the last sender, whose close
        // hands on what all of them did. Relaxed would hide one sender's work behind the end of
        // another.
        if self.shared.senders.fetch_sub(1, Release) != 1 {
            return;
        }
        // ORDERING: [watch.senders] Acquire, pairs with the other senders' decrements.
        acquire_last(&self.shared.senders);
        match self.shared.version().close() {
            OnPublish::Quiet => {}
            OnPublish::Wake => wake(&self.shared.changes),
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("version", &self.shared.version().current())
            .field("receivers", &self.receiver_count())
            .finish_non_exhaustive()
    }
}

/// The future of [`Sender::closed`]. Polled after it was ready it is ready again.
///
/// # Cancel safety
///
/// *Safe*: it holds nothing but the borrow and a place in the list.
#[must_use = "futures do nothing unless polled"]
pub struct Closed<'a, T> {
    sender: &'a Sender<T>,
    zero: Zero<&'a WaitList<Holders>>,
}

impl<T> CancelSafe for Closed<'_, T> {}

impl<T> Future for Closed<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: [parked.pinned] a projection of one field; nothing is moved out, and the other
        // one is not pinned.
        unsafe { self.map_unchecked_mut(|this| &mut this.zero) }.poll(cx, WaitKind::Notify)
    }
}

impl<T> fmt::Debug for Closed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closed")
            .field("sender", self.sender)
            .finish_non_exhaustive()
    }
}

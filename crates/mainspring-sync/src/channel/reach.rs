//! The ways from a future to the lists that it waits in.
//!
//! # Invariants
//!
//! - **channel.waits** — whoever waits in a list of the channel holds what keeps that list where
//!   it is.

use super::shared::{Room, Shared};
use mainspring_core::sync::Arc;
use mainspring_core::wait_list::{Holds, WaitList};

/// A way to the shared part: borrowed from an end, or owned.
///
/// # Safety
///
/// It leads to the same place every time, which stays where it is as long as this exists.
pub(crate) unsafe trait Reach {
    type Item;

    fn shared(&self) -> &Shared<Self::Item>;
}

// SAFETY: [channel.waits] what is borrowed does not move.
unsafe impl<T> Reach for &Shared<T> {
    type Item = T;

    #[inline(always)]
    fn shared(&self) -> &Shared<T> {
        self
    }
}

// SAFETY: [channel.waits] what an `Arc` holds does not move and lives as long as it.
unsafe impl<T> Reach for Arc<Shared<T>> {
    type Item = T;

    #[inline(always)]
    fn shared(&self) -> &Shared<T> {
        self
    }
}

/// What can be had twice: a reference, or a count more.
pub(crate) trait Copied {
    fn copied(&self) -> Self;
}

impl<T> Copied for &T {
    fn copied(&self) -> Self {
        self
    }
}

impl<T> Copied for Arc<T> {
    fn copied(&self) -> Self {
        Self::clone(self)
    }
}

/// Leads a waiting sender to its list.
pub(crate) struct ToSenders<R>(pub(crate) R);

// SAFETY: [channel.waits] the list is part of what `R` reaches.
unsafe impl<R: Reach> Holds for ToSenders<R> {
    type Kind = Room;

    fn list(&self) -> &WaitList<Room> {
        &self.0.shared().senders
    }
}

/// Leads a waiting receiver to its list.
pub(crate) struct ToReceivers<R>(pub(crate) R);

// SAFETY: [channel.waits] the list is part of what `R` reaches.
unsafe impl<R: Reach> Holds for ToReceivers<R> {
    type Kind = ();

    fn list(&self) -> &WaitList<()> {
        &self.0.shared().receivers
    }
}

/// Leads one that waits for the end to its list.
pub(crate) struct ToClosed<R>(pub(crate) R);

// SAFETY: [channel.waits] the list is part of what `R` reaches.
unsafe impl<R: Reach> Holds for ToClosed<R> {
    type Kind = ();

    fn list(&self) -> &WaitList<()> {
        &self.0.shared().closed
    }
}

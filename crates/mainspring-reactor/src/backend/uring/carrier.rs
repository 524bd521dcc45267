//! Which ring carries the operations of a socket's direction.
//!
//! Tasks move between workers, and each worker has a ring. An operation that is in flight stays
//! where it is; the next begins in the ring of the thread that polls, where it costs neither a lock
//! nor a call to another thread.
//!
//! # Invariants
//!
//! - **carrier.here** — an operation begins in the ring that is current on the thread that begins
//!   it; where there is none, or one that has closed, in the ring that carried the last; if that
//!   has closed, in the ring of the thread that made the socket. Only if none of them takes it, it
//!   is refused.
//! - **carrier.one** — the carrier changes only as an operation begins, never while one is in
//!   flight or while something that one brought has not been taken. So whoever stops an operation
//!   or gives a buffer back, on whichever thread, finds the ring that has to do with it.
//! - **carrier.kept** — a ring is kept by the sockets whose operations it carries.
//!
//! # Rejected
//!
//! - *A counted reference to its ring in each operation*: two read-modify-writes more for each, for
//!   what changes when a task is stolen.
//! - *Moving an operation that ends by itself*: a cancellation and a wake of another thread, for
//!   one wake across threads that it saves. What goes on and on is stopped, once.

use super::cell::{self, Kind, Owner};
use super::hub::{Gone, Hub};
use crate::driver;
use io_uring::squeue::Entry;
use std::sync::Arc;

/// The ring that carries the operation in flight, or carried the last one.
#[derive(Debug)]
pub(crate) struct Carrier<R> {
    /// `None`: the maker's.
    moved: Option<Arc<R>>,
}

impl<R> Carrier<R> {
    pub(crate) const fn new() -> Self {
        Self { moved: None }
    }

    /// The ring. `maker` is that of the thread that made the socket, here and below.
    #[inline]
    pub(crate) fn ring<'c>(&'c self, maker: &'c Arc<R>) -> &'c Arc<R> {
        self.moved.as_ref().unwrap_or(maker)
    }

    /// Begins in the first ring that takes it: `here`, the last one, the maker's. Under the lock of
    /// the direction, which the completion takes.
    #[inline]
    pub(crate) fn begin_in(
        &mut self,
        maker: &Arc<R>,
        here: Option<&Arc<R>>,
        mut attempt: impl FnMut(&R) -> Result<(), Gone>,
    ) -> Result<(), Gone> {
        if let Some(here) = here {
            if attempt(here).is_ok() {
                self.moves_to(here, maker);
                return Ok(());
            }
        }
        if attempt(self.ring(maker)).is_ok() {
            return Ok(());
        }
        attempt(maker)?;
        self.moved = None;
        Ok(())
    }

    /// A ring that was left is let go of: under a lock, but nothing of a user's runs in its end.
    #[inline]
    fn moves_to(&mut self, here: &Arc<R>, maker: &Arc<R>) {
        // CLAIM: [carrier.kept] no count changes while a socket stays where it is.
        if !Arc::ptr_eq(self.ring(maker), here) {
            self.moved = (!Arc::ptr_eq(here, maker)).then(|| Arc::clone(here));
        }
    }
}

impl Carrier<Hub> {
    /// Begins an operation of `owner`'s, with a reference to it. `entry` makes it for the ring that
    /// is asked.
    ///
    /// # Safety
    ///
    /// What the entry points to stays valid until its last completion ([uring.memory]).
    #[inline]
    pub(crate) unsafe fn begin<T: Owner>(
        &mut self,
        maker: &Arc<Hub>,
        owner: &Arc<T>,
        kind: Kind,
        entry: impl Fn(&Hub) -> Entry,
    ) -> Result<(), Gone> {
        let number = cell::lend(owner, kind);
        // CLAIM: [carrier.here]
        let begun = driver::with_ring(|here| {
            self.begin_in(maker, here, |ring| {
                let entry = entry(ring).user_data(number);
                // SAFETY: [uring.memory] the caller's; the number was lent just now, and a ring
                // that refuses it has not taken it.
                unsafe { ring.begin(entry) }
            })
        });
        if begun.is_err() {
            // SAFETY: [cell.lent] nothing was begun: the reference is ours again, and not the last.
            drop(unsafe { cell::take_back::<T>(number) });
        }
        begun
    }

    /// Asks the kernel to stop the operation in flight. Under the lock of the direction.
    pub(crate) fn cancel<T: Owner>(&self, maker: &Arc<Hub>, owner: &Arc<T>, kind: Kind) {
        // CLAIM: [carrier.one]
        self.ring(maker).cancel(cell::name(owner, kind));
    }

    /// Whether the carrier is another thread's ring, and this thread has one of its own.
    #[inline]
    pub(crate) fn is_elsewhere(&self, maker: &Arc<Hub>) -> bool {
        let ring = self.ring(maker);
        !ring.is_owner() && Self::is_other_here(ring)
    }

    #[cold]
    fn is_other_here(ring: &Arc<Hub>) -> bool {
        driver::with_ring(|here| {
            here.is_some_and(|here| !Arc::ptr_eq(here, ring) && !here.is_closed())
        })
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

//! Permits that tasks take, hold and give back.
//!
//! # The word
//!
//! Free permits, CLOSED, and SLOW. While SLOW is clear, taking is one compare-exchange and giving
//! back is one addition. Under the wait list's lock a waiter sets SLOW *and reads the permits by
//! the same exchange*, so that whoever gives some back afterwards finds SLOW and comes to the lock:
//! there is no moment at which the giver sees no waiter and the waiter no permit. While SLOW is
//! set, permits only come to the word; they leave it under the lock alone.
//!
//! A waiter holds no part of what it waits for. What is granted to it leaves the word at once and
//! is *offered* to it (see [`WaitList`]); a dropped waiter gives all of an offer back.
//!
//! # Who may pass
//!
//! Requests that fit may pass the first waiter until permits worth the capacity were granted past
//! it; from then on nobody is served before it. The rule is in `semaphore/ledger.rs`, which knows
//! no lock, and holds for those that wait, for those that come, and for `try_acquire`.
//!
//! # Invariants
//!
//! - **semaphore.slow** — when the lock is free, SLOW is set if somebody is queued or permits are
//!   owed; while it is set, permits leave the word under the lock only.
//! - **semaphore.books** — the ledger is touched under the lock only.
//! - **semaphore.conserved** — a permit is free, offered, held or forgotten, whatever is dropped or
//!   cancelled when.
//! - **semaphore.sticky** — nothing clears CLOSED.
//! - **semaphore.pinned** — the waiter in a future is pinned with it.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `semaphore.permit` | `Permits::give` | `Permits::take`, `free_now` | what holders did |
//! | `semaphore.closed` | `Permits::close` | `Permits::take`, `is_closed` | what the closer did |
//!
//! # Rejected
//!
//! A waiter that collects permits as they come free (so that a large request is not overtaken at
//! all): what it has collected is idle while it waits, two such waiters can hold each other up, and
//! a dropped one has to give back a part. Best fit without a bound: starves the large. One permit
//! at a time past the head: says nothing about how long a large request waits.

mod acquire;
mod error;
mod ledger;
mod permit;
mod permits;

pub use self::acquire::{Acquire, AcquireOwned};
pub use self::error::{AcquireError, TooMany, TryAcquireError};
pub use self::permit::{OwnedPermit, Permit};

pub(crate) use self::acquire::{Asking, number};
pub(crate) use self::permits::Permits;

use crate::block;
use mainspring_core::WaitList;
use mainspring_core::wait_list::Diagnosis;
use std::fmt;
use std::panic::RefUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

const TOO_MANY: &str = "MS0016: a semaphore of more than `MAX_PERMITS` permits (docs/errors.md)";

/// A number of permits that tasks share.
///
/// Use it to bound how much is going on at once: connections, requests in flight, bytes in memory
/// (an `acquire` may ask for many permits). For a limit on *rate* it is the wrong tool, and for one
/// permit around one value there is [`Mutex`](crate::Mutex).
///
/// # Guarantees
///
/// - **Bounded overtaking.** Waiters are served in the order of arrival, except that requests that
///   fit may pass the first waiter until permits worth the capacity have been granted past it; then
///   everybody queues behind it until it is served. So a waiter with `k` others before it is passed
///   by at most `k + 1` times the capacity, beside what a task takes over from its own requests
///   (below). A semaphore made by [`strict`](Self::strict) lets nobody pass.
/// - **A waiting request holds nothing back**: dropping it gives nothing back because it has taken
///   nothing.
/// - Permits are conserved, whatever is dropped when. A permit that was offered to a waiter that is
///   dropped goes to the next one.
/// - What was done under a permit is seen by whoever holds it next.
/// - Closed is for good: adding and forgetting permits does not open it again.
///
/// # A future that nobody polls
///
/// A permit is *offered* to a waiter and taken when its task polls it. A task that holds such a
/// future without polling it, the loser of a `select` that is kept by reference, holds the offer
/// up. If the same task asks again, the new request takes the offer over. A
/// [`revocable`](Self::revocable) semaphore takes it back as well when an executor of this family
/// has polled the task and it was not taken; under other executors it does not. A future that is
/// forgotten (`mem::forget` of a box) keeps its offer for ever, unless that is taken back from the
/// task in the same way. [`diagnose`](Self::diagnose) names the offers that nobody took.
///
/// # Complexity and allocation
///
/// Taking and giving back is one atomic operation while nobody waits. Waiting allocates nothing,
/// but for one small box a waiter in a revocable semaphore. Giving back to a queue is O(1) per
/// waiter served; if some wait that could pass the first, it goes through the queue.
///
/// # Example
///
/// ```
/// use mainspring_sync::Semaphore;
///
/// let connections = Semaphore::new(2);
/// let first = connections.try_acquire(1).unwrap();
/// let second = connections.acquire_blocking(1).unwrap();
/// assert!(connections.try_acquire(1).unwrap_err().is_transient());
/// drop(first);
/// assert_eq!(connections.available(), 1);
/// # drop(second);
/// ```
pub struct Semaphore {
    list: WaitList<Permits>,
}

// A panic leaves nothing half changed in it.
impl RefUnwindSafe for Semaphore {}

impl Semaphore {
    /// The most permits that a semaphore can have.
    pub const MAX_PERMITS: usize = ledger::MAX_PERMITS;

    /// A semaphore with `permits` permits, which are its capacity.
    ///
    /// With none it has no size yet: a request of any size waits for what is
    /// [added](Self::add).
    ///
    /// # Panics
    ///
    /// With `MS0016` if there are more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn new(permits: usize) -> Self {
        assert!(permits <= Self::MAX_PERMITS, "{}", TOO_MANY);
        Self {
            list: WaitList::new(Permits::new(permits, false)),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[must_use]
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn new(permits: usize) -> Self {
        assert!(permits <= Self::MAX_PERMITS, "{}", TOO_MANY);
        Self {
            list: WaitList::new(Permits::new(permits, false)),
        }
    }

    /// A semaphore in which nobody passes anybody: first come, first served.
    ///
    /// A large request then holds up small ones that would fit.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new).
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn strict(permits: usize) -> Self {
        assert!(permits <= Self::MAX_PERMITS, "{}", TOO_MANY);
        Self {
            list: WaitList::new(Permits::new(permits, true)),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[must_use]
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn strict(permits: usize) -> Self {
        assert!(permits <= Self::MAX_PERMITS, "{}", TOO_MANY);
        Self {
            list: WaitList::new(Permits::new(permits, true)),
        }
    }

    /// The same semaphore, whose offers are taken back from tasks that are polled without taking
    /// them, under executors of this family. Costs one small box a waiter, and one for itself.
    #[must_use]
    pub fn revocable(self) -> Self {
        let permits = self.list.with(|queue| queue.kind().moved(queue));
        Self {
            list: WaitList::revocable(permits),
        }
    }

    /// Waits for `permits` permits.
    ///
    /// None at all (`acquire(0)`) is granted at once, in whatever queue there is, unless the
    /// semaphore is closed.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The future has taken nothing before it is ready.
    ///
    /// # Errors
    ///
    /// [`Closed`](AcquireError::Closed), and [`TooLarge`](AcquireError::TooLarge) for more permits
    /// than the semaphore ever had. More than it has *now*, after a [`resize`](Self::resize) or
    /// after some were forgotten, is waited for.
    #[inline]
    pub fn acquire(&self, permits: usize) -> Acquire<'_> {
        Acquire::new(self, permits)
    }

    /// As [`acquire`](Self::acquire), for a permit that owns a share of the semaphore.
    ///
    /// # Cancel safety
    ///
    /// *Loses place.* The future has taken nothing before it is ready.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    #[inline]
    pub fn acquire_owned(self: &Arc<Self>, permits: usize) -> AcquireOwned {
        AcquireOwned::new(Arc::clone(self), permits)
    }

    /// Takes `permits` permits if they are free and those that wait do not have to be served first.
    ///
    /// # Errors
    ///
    /// [`NoPermits`](TryAcquireError::NoPermits) if that is not so now, and the errors of
    /// [`acquire`](Self::acquire).
    #[inline]
    pub fn try_acquire(&self, permits: usize) -> Result<Permit<'_>, TryAcquireError> {
        Permits::try_take(&self.list, permits)?;
        Ok(Permit::new(self, permits))
    }

    /// As [`try_acquire`](Self::try_acquire), for a permit that owns a share of the semaphore.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_owned(
        self: &Arc<Self>,
        permits: usize,
    ) -> Result<OwnedPermit, TryAcquireError> {
        Permits::try_take(&self.list, permits)?;
        Ok(OwnedPermit::new(Arc::clone(self), permits))
    }

    /// Waits for `permits` permits on this thread.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn acquire_blocking(&self, permits: usize) -> Result<Permit<'_>, AcquireError> {
        block::wait(pin!(self.acquire(permits)))
    }

    /// As [`acquire_blocking`](Self::acquire_blocking), for a permit that owns a share of the
    /// semaphore.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire).
    ///
    /// # Panics
    ///
    /// As [`acquire_blocking`](Self::acquire_blocking).
    #[track_caller]
    pub fn acquire_owned_blocking(
        self: &Arc<Self>,
        permits: usize,
    ) -> Result<OwnedPermit, AcquireError> {
        block::wait(pin!(self.acquire_owned(permits)))
    }

    /// Waits for `permits` permits on this thread, for `limit` at most.
    ///
    /// # Errors
    ///
    /// [`NoPermits`](TryAcquireError::NoPermits) if there were none in time, and the errors of
    /// [`acquire`](Self::acquire).
    ///
    /// # Panics
    ///
    /// As [`acquire_blocking`](Self::acquire_blocking).
    #[track_caller]
    pub fn acquire_timeout(
        &self,
        permits: usize,
        limit: Duration,
    ) -> Result<Permit<'_>, TryAcquireError> {
        match block::wait_for(pin!(self.acquire(permits)), limit) {
            Some(result) => Ok(result?),
            None => Err(TryAcquireError::NoPermits),
        }
    }

    /// How many permits are free now. Others may be faster.
    #[must_use]
    pub fn available(&self) -> usize {
        self.list.kind().free()
    }

    /// How many permits there are when nobody holds one.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.list.with(|queue| queue.kind().capacity(queue))
    }

    /// Adds permits, for good: the capacity grows by as many.
    ///
    /// # Errors
    ///
    /// If that made more than [`MAX_PERMITS`](Self::MAX_PERMITS); then nothing changes.
    pub fn add(&self, permits: usize) -> Result<(), TooMany> {
        self.list.with(|queue| queue.kind().add(queue, permits))
    }

    /// Removes up to `permits` of the free permits for good, and returns how many: the capacity
    /// shrinks by as many. Those that are held stay; [`Permit::forget`] and
    /// [`resize`](Self::resize) are for them.
    pub fn forget(&self, permits: usize) -> usize {
        self.list
            .with(|queue| queue.kind().forget_free(queue, permits))
    }

    /// Sets the capacity.
    ///
    /// If it shrinks, free permits vanish at once and held ones when they are given back. Requests
    /// for more than the new capacity wait, until it grows or the semaphore is closed.
    ///
    /// # Errors
    ///
    /// For more than [`MAX_PERMITS`](Self::MAX_PERMITS); then nothing changes.
    pub fn resize(&self, capacity: usize) -> Result<(), TooMany> {
        self.list.with(|queue| queue.kind().resize(queue, capacity))
    }

    /// Closes the semaphore, for good: those that wait and those that come get
    /// [`Closed`](AcquireError::Closed). Permits that are held, or that were offered to a waiter
    /// already, stay good.
    pub fn close(&self) {
        self.list.with(|queue| queue.kind().close(queue));
    }

    /// Whether [`close`](Self::close) was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.list.kind().is_closed()
    }

    /// Who waits, and which offers nobody has taken: for a person to read.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        self.list.diagnose()
    }

    fn list(&self) -> &WaitList<Permits> {
        &self.list
    }

    #[inline]
    fn give(&self, permits: usize) {
        give(&self.list, permits);
    }

    fn forget_held(&self, permits: usize) {
        self.list
            .with(|queue| queue.kind().forget_held(queue, permits));
    }
}

/// Gives permits back and serves those that wait.
#[inline]
pub(crate) fn give(list: &WaitList<Permits>, permits: usize) {
    if permits > 0 && list.kind().give(permits) {
        serve(list);
    }
}

#[cold]
fn serve(list: &WaitList<Permits>) {
    list.with(|queue| queue.kind().settle(queue));
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("number", &format_args!("{:#x}", number(&self.list)))
            .field("available", &self.available())
            .field("closed", &self.is_closed())
            .field("list", &self.list)
            .finish()
    }
}

#[cfg(test)]
pub(crate) mod tests;

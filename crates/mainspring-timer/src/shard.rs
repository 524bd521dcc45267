//! The lock around one worker's timers.
//!
//! A [`Shard`] keeps the entries of the sleeps that were first polled on one worker: the wheel for
//! normal ones, a heap for those that are to be exact. The worker fires them in its turn; any
//! thread may register, reset or drop an entry, under the same short lock. There is no lock that
//! two shards share.
//!
//! Shards live for ever, so that an entry names its own without counting; a driver leases one from
//! a pool and gives it back empty.
//!
//! # States
//!
//! ```text
//!              lease                          close
//!   CLOSED ─────────────▶ AWAKE ⇄ ASLEEP ─────────────▶ CLOSED
//!   (refuses)             doze, rouse                   (every entry evicted)
//! ```
//!
//! # Invariants
//!
//! - **shard.next-wake** — while the driver sleeps until a moment, nothing in the shard is to be
//!   looked at before it: deciding how long to sleep and saying so is one critical section with
//!   everything that is armed, and whoever arms something earlier wakes the driver.
//! - **shard.quiet** — no waker is cloned, woken or dropped, and no driver unparked, under the
//!   lock.
//! - **shard.home** — an armed entry is in the wheel if its place names a list there, and in the
//!   heap, under the handle that it keeps, if not.
//! - **shard.closed** — a shard without an owner keeps no entry for longer than its closing takes,
//!   and accepts none.
//! - **shard.lease** — a handle of a driver that is gone does nothing to the shard, whoever has it
//!   now.
//!
//! # Rejected
//!
//! A queue for registrations from other threads, which spares the owner the lock: cancelling then
//! races with registering, and what was cancelled before it arrived leaks. One minimum over all
//! shards, computed shard by shard: an insertion into a shard already visited is lost. A shard in
//! an `Arc`: two contended counts a timer.

#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod pool;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
use self::pool as home;

#[cfg(all(mainspring_loom, feature = "loom"))]
mod fresh;
#[cfg(all(mainspring_loom, feature = "loom"))]
use self::fresh as home;

use crate::driver::Bell;
use crate::entries::Entries;
use crate::geometry::Tick;
use crate::store::{Place, Store};
use crate::wheel::{Progress, Wheel};
use mainspring_core::driver::Until;
use mainspring_core::heap::{Handle, Heap};
use mainspring_core::sync::{Mutex, MutexGuard};
use mainspring_core::time::{
    EntryRef, Nanos, OnDeregister, OnFire, OnRegister, OnReset, OnRewake, TimerClass, Timers,
    TimersRef,
};
use mainspring_core::{WakeBatch, time};
use std::sync::Arc;
use std::task::Waker;

/// How many entries are fired or moved under one lock.
pub(crate) const PIECE: usize = WakeBatch::CAPACITY;

/// One worker's timers.
pub(crate) struct Shard {
    state: Mutex<State>,
}

pub(crate) struct State {
    wheel: Wheel<Entries>,
    heap: Heap<EntryRef>,
    /// Until when the driver sleeps; `Now` while it is awake.
    sleeps: Until,
    /// Whom to unpark. `None`: closed.
    owner: Option<Arc<Bell>>,
    /// Counts leases: who may speak for the shard.
    lease: u64,
}

/// What somebody who armed an entry owes.
#[must_use = "a driver that sleeps too long has to be woken"]
enum Owes {
    Nothing,
    Unpark(Arc<Bell>),
}

impl Owes {
    /// Pays, with the lock free.
    fn settle(self, state: MutexGuard<'_, State>) {
        drop(state);
        if let Self::Unpark(driver) = self {
            driver.ring();
        }
    }
}

impl State {
    /// Links an entry, and says whether the driver would sleep past it.
    fn link(&mut self, entry: EntryRef, deadline: Nanos) -> Owes {
        // SAFETY: [shard.home] called under the lock, for an entry that is being registered or
        // reset.
        let is_precise = unsafe { entry.class() } != TimerClass::Normal;
        let is_exact = is_precise || self.owner.as_ref().is_some_and(|it| it.is_paused());
        let looked_at = if is_exact {
            self.link_exact(entry, deadline);
            deadline
        } else {
            Entries.set_place(entry, Place::NONE);
            self.wheel.insert(deadline, entry);
            Tick::due(deadline).comes()
        };
        if self.sleeps.cap(Some(looked_at)) == self.sleeps {
            return Owes::Nothing;
        }
        // Only the first to notice wakes it.
        self.sleeps = Until::Now;
        match &self.owner {
            Some(owner) => Owes::Unpark(Arc::clone(owner)),
            None => Owes::Nothing,
        }
    }

    fn link_exact(&mut self, entry: EntryRef, deadline: Nanos) {
        Entries.set_place(entry, Place::NONE);
        let handle = self.heap.insert(deadline, entry);
        // SAFETY: [shard.home] the lock is held and the entry registered, or being registered.
        unsafe { entry.keep(handle) };
    }

    fn unlink(&mut self, entry: EntryRef) {
        if self.wheel.remove(entry) {
            return;
        }
        // SAFETY: [shard.home] armed and not in the wheel: it keeps the handle of the heap.
        let handle = unsafe { entry.kept::<Handle>() };
        let unlinked = self.heap.remove(handle);
        debug_assert_eq!(unlinked, Some(entry), "shard.home: armed and not here");
    }

    /// Takes any entry out.
    fn pop(&mut self) -> Option<EntryRef> {
        self.wheel.pop().or_else(|| Some(self.heap.pop()?.1))
    }

    /// A lower bound of the moment at which something is to be looked at.
    fn next(&self) -> Option<Nanos> {
        let exact = self.heap.peek().map(|(deadline, _)| deadline);
        match (self.wheel.next(), exact) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// How many entries are armed.
    pub(crate) fn len(&self) -> usize {
        self.wheel.len() + self.heap.len()
    }

    /// Fires what is due at `now`: unlinks and takes the wakers out. At most `limit` entries are
    /// fired or moved; the batch has room for as many.
    pub(crate) fn fire(&mut self, now: Nanos, limit: usize, batch: &mut WakeBatch) -> Progress {
        let mut left = limit;
        while left > 0 {
            let Some((_, entry)) = self.heap.pop_due(now) else {
                break;
            };
            left -= 1;
            if let Some(deadline) = fire_one(entry, now, batch) {
                self.link_exact(entry, deadline);
            }
        }
        self.wheel.advance(now, left, |wheel, entry| {
            if let Some(deadline) = fire_one(entry, now, batch) {
                wheel.insert(deadline, entry);
            }
        })
    }
}

/// Fires an entry that was unlinked. The later deadline that its owner gave it, if it did.
fn fire_one(entry: EntryRef, now: Nanos, batch: &mut WakeBatch) -> Option<Nanos> {
    // SAFETY: [shard.home] it was linked, hence armed, is unlinked now, and is not touched again
    // once it has fired.
    match unsafe { entry.fire(now) } {
        OnFire::Fired(waker) => {
            let pushed = batch.push(waker);
            debug_assert!(
                pushed.is_ok(),
                "shard.quiet: a waker would be dropped under the lock"
            );
            None
        }
        OnFire::Later(deadline) => Some(deadline),
    }
}

impl Shard {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                wheel: Wheel::new(Entries, Nanos::ZERO),
                heap: Heap::new(),
                sleeps: Until::Now,
                owner: None,
                lease: 0,
            }),
        }
    }
}

/// The right to drive one shard, and the shard's name. Closing it gives the shard back.
pub(crate) struct Lease {
    shard: &'static Shard,
    timers: TimersRef,
    number: u64,
}

impl Lease {
    /// Leases a shard for the driver that `owner` unparks.
    pub(crate) fn take(owner: Arc<Bell>) -> Self {
        let (shard, timers) = home::take();
        let now = time::now();
        let mut state = shard.state.lock();
        debug_assert!(
            state.owner.is_none() && state.len() == 0,
            "shard.closed: leased twice"
        );
        state.wheel.restart(now);
        state.sleeps = Until::Now;
        state.owner = Some(owner);
        state.lease += 1;
        let number = state.lease;
        drop(state);
        Self {
            shard,
            timers,
            number,
        }
    }

    /// The same right for a handle, which does not give the shard back.
    pub(crate) fn share(&self) -> Share {
        Share {
            shard: self.shard,
            timers: self.timers,
            number: self.number,
        }
    }

    /// The driver goes to sleep for `until` at most: how long it may, now that this is known to
    /// whoever arms an entry.
    pub(crate) fn doze(&self, until: Until) -> Until {
        let mut state = self.shard.state.lock();
        // CLAIM: [shard.next-wake] computed and said under one hold of the lock.
        let until = until.cap(state.next());
        state.sleeps = until;
        until
    }

    /// The driver is awake: nobody needs to wake it until it dozes again.
    pub(crate) fn rouse(&self) -> MutexGuard<'static, State> {
        let mut state = self.shard.state.lock();
        debug_assert!(
            state.owner.is_some(),
            "shard.closed: driven without an owner"
        );
        state.sleeps = Until::Now;
        state
    }
}

impl Drop for Lease {
    /// Closes the shard: evicts every entry and wakes it, so that its sleep registers elsewhere.
    /// Takes one step an entry, however far its deadline is.
    fn drop(&mut self) {
        let owner = self.shard.state.lock().owner.take();
        loop {
            let mut batch = WakeBatch::new();
            let mut state = self.shard.state.lock();
            debug_assert!(
                state.owner.is_none(),
                "shard.closed: reopened while closing"
            );
            while batch.has_room() {
                let Some(entry) = state.pop() else { break };
                // SAFETY: [shard.home] it was linked, hence armed; it is unlinked now, and is not
                // touched again.
                if let OnDeregister::Removed(waker) = unsafe { entry.evict() } {
                    let pushed = batch.push(waker);
                    debug_assert!(pushed.is_ok(), "shard.quiet: dropped under the lock");
                }
            }
            let is_empty = state.len() == 0;
            drop(state);
            crate::turn::wake(batch);
            if is_empty {
                break;
            }
        }
        drop(owner);
        home::give_back(self.shard, self.timers);
    }
}

/// What a handle knows of the shard of its driver.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    shard: &'static Shard,
    timers: TimersRef,
    number: u64,
}

impl Share {
    /// The shard's name for entries, while the driver lives.
    pub(crate) fn timers(self) -> Option<TimersRef> {
        self.lock().map(|_| self.timers)
    }

    /// A lower bound of the next deadline.
    pub(crate) fn next(self) -> Option<Nanos> {
        self.lock()?.next()
    }

    fn lock(self) -> Option<MutexGuard<'static, State>> {
        let state = self.shard.state.lock();
        self.speaks_for(state)
    }

    /// Locks if that needs no waiting.
    pub(crate) fn try_lock(self) -> Option<MutexGuard<'static, State>> {
        let state = self.shard.state.try_lock()?;
        self.speaks_for(state)
    }

    fn speaks_for(self, state: MutexGuard<'static, State>) -> Option<MutexGuard<'static, State>> {
        debug_assert!(self.number <= state.lease, "shard.lease: from the future");
        (self.number == state.lease && state.owner.is_some()).then_some(state)
    }
}

// SAFETY: [shard.home] entries are reached only through the wheel and the heap, under the lock;
// each is taken out of them before `fire` or `evict`, and nothing is waited for or woken under the
// lock.
unsafe impl Timers for Shard {
    unsafe fn register(&self, entry: EntryRef, deadline: Nanos, waker: Waker) -> OnRegister {
        let mut state = self.state.lock();
        if state.owner.is_none() {
            drop(state);
            return OnRegister::Refused(waker);
        }
        let owes = state.link(entry, deadline);
        // SAFETY: [shard.home] the lock is held, this is `register`, and the entry has its place.
        unsafe { entry.arm(deadline, waker) };
        owes.settle(state);
        OnRegister::Armed
    }

    unsafe fn deregister(&self, entry: EntryRef) -> OnDeregister {
        let mut state = self.state.lock();
        // SAFETY: [shard.home] the lock is held and the owner calls.
        if !unsafe { entry.is_armed() } {
            return OnDeregister::Gone;
        }
        state.unlink(entry);
        // SAFETY: [shard.home] the lock is held, the owner calls, the entry is unlinked.
        unsafe { entry.evict() }
    }

    unsafe fn reset(&self, entry: EntryRef, deadline: Nanos) -> OnReset {
        let mut state = self.state.lock();
        // SAFETY: [shard.home] the lock is held and the owner calls.
        if unsafe { entry.set_deadline(deadline) } == OnReset::Gone {
            return OnReset::Gone;
        }
        state.unlink(entry);
        let owes = state.link(entry, deadline);
        owes.settle(state);
        OnReset::Armed
    }

    unsafe fn rewake(&self, entry: EntryRef, waker: Waker) -> OnRewake {
        let state = self.state.lock();
        // SAFETY: [shard.home] the lock is held and the owner calls.
        let verdict = unsafe { entry.replace_waker(waker) };
        drop(state);
        verdict
    }
}

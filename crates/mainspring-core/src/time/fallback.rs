//! The timers of those who have none: one thread for the whole process.
//!
//! Under tokio, smol or a loop of one's own no worker of ours drives a wheel, so sleeps register
//! here. The thread is started by the first that does, waits for the earliest deadline, wakes whose
//! moment has come, and stays: it has nothing to do but wait when nothing is armed. A program whose
//! sleeps all run on our workers never starts it.
//!
//! # Invariants
//!
//! - **fallback.earliest** — while the thread sleeps until a moment, or for ever, nothing that is
//!   armed is due earlier: whoever arms something earlier wakes it. Deciding how long to sleep and
//!   falling asleep are one critical section with what is armed.
//! - **fallback.served** — an entry is accepted only while there is a thread: if it cannot be
//!   started, registration is refused, and the next one tries again.
//! - **fallback.bounded** — the lock is held for at most one batch of fired entries
//!   at a time.
//!
//! Wakers are called and dropped with the lock free.
//!
//! # Rejected
//!
//! A thread that retires when nothing is armed: start and retirement would race, for the sake of
//! a thread that costs some pages of stack. A wheel: this crate has none, and foreign executors are
//! not where a million timers live.

#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
mod process;
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
pub(super) use self::process::timers;

// What its thread does; without a process only the models do it.
#[cfg(any(
    test,
    not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))
))]
mod turn;

#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
mod none;
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
pub(super) use self::none::timers;

use super::{EntryRef, Nanos, OnDeregister, OnRegister, OnReset, OnRewake, Timers};
use crate::driver::Until;
use crate::heap::{Handle, Heap};
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::io;
use std::task::Waker;

/// One thread's timers; in the process there is one of it.
pub(super) struct Fallback {
    state: Mutex<State>,
    earlier: Condvar,
    /// Starts a thread that calls [`Fallback::turn`] for ever.
    start: fn() -> io::Result<()>,
}

struct State {
    armed: Heap<EntryRef>,
    has_thread: bool,
    /// Until when the thread sleeps; `Now` while it is awake.
    sleeps: Until,
}

/// What somebody who armed an entry owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a thread that sleeps too long has to be woken"]
enum Owes {
    Nothing,
    Wake,
}

impl State {
    /// Links an entry, and says whether the thread would sleep past it.
    fn link(&mut self, entry: EntryRef, deadline: Nanos) -> Owes {
        let handle = self.armed.insert(deadline, entry);
        // SAFETY: [entry.linked] called under the lock, for an entry that is about to be armed or
        // is armed.
        unsafe { entry.keep(handle) };
        self.owes_for(deadline)
    }

    fn owes_for(&mut self, deadline: Nanos) -> Owes {
        if self.sleeps.cap(Some(deadline)) == self.sleeps {
            return Owes::Nothing;
        }
        // Only the first to notice wakes it.
        self.sleeps = Until::Now;
        Owes::Wake
    }

    /// Where an armed entry is in the heap.
    fn handle(entry: EntryRef) -> Handle {
        // SAFETY: [entry.linked] called under the lock for an armed entry, in which `link` kept it.
        unsafe { entry.kept() }
    }
}

impl Fallback {
    pub(super) fn new(start: fn() -> io::Result<()>) -> Self {
        Self {
            state: Mutex::new(State {
                armed: Heap::new(),
                has_thread: false,
                sleeps: Until::Now,
            }),
            earlier: Condvar::new(),
            start,
        }
    }

    /// Releases the lock and pays what is owed.
    fn settle(&self, state: MutexGuard<'_, State>, owes: Owes) {
        drop(state);
        if owes == Owes::Wake {
            self.earlier.notify_one();
        }
    }
}

// SAFETY: [entry.linked] entries are reached only through `armed`, under the lock; each is removed
// from it before `fire` or `evict`, and nothing is waited for or woken under the lock.
unsafe impl Timers for Fallback {
    unsafe fn register(&self, entry: EntryRef, deadline: Nanos, waker: Waker) -> OnRegister {
        let mut state = self.state.lock();
        if !state.has_thread {
            // Once in the life of the process, so under the lock; the new thread waits for it.
            if (self.start)().is_err() {
                drop(state);
                return OnRegister::Refused(waker);
            }
            state.has_thread = true;
        }
        debug_assert!(state.has_thread, "fallback.served: armed and not served");
        let owes = state.link(entry, deadline);
        // SAFETY: [entry.linked] the lock is held, and this is `register`.
        unsafe { entry.arm(deadline, waker) };
        self.settle(state, owes);
        OnRegister::Armed
    }

    unsafe fn deregister(&self, entry: EntryRef) -> OnDeregister {
        let mut state = self.state.lock();
        // SAFETY: [entry.linked] the lock is held and the owner calls.
        if !unsafe { entry.is_armed() } {
            return OnDeregister::Gone;
        }
        let unlinked = state.armed.remove(State::handle(entry));
        debug_assert_eq!(unlinked, Some(entry), "entry.linked: armed and not here");
        // SAFETY: [entry.linked] the lock is held, the owner calls, the entry is unlinked.
        unsafe { entry.evict() }
    }

    unsafe fn reset(&self, entry: EntryRef, deadline: Nanos) -> OnReset {
        let mut state = self.state.lock();
        // SAFETY: [entry.linked] the lock is held and the owner calls.
        if unsafe { entry.set_deadline(deadline) } == OnReset::Gone {
            return OnReset::Gone;
        }
        let moved = state.armed.update(State::handle(entry), deadline);
        debug_assert!(moved, "entry.linked: armed and not here");
        let owes = state.owes_for(deadline);
        self.settle(state, owes);
        OnReset::Armed
    }

    unsafe fn rewake(&self, entry: EntryRef, waker: Waker) -> OnRewake {
        let state = self.state.lock();
        // SAFETY: [entry.linked] the lock is held and the owner calls.
        let verdict = unsafe { entry.replace_waker(waker) };
        drop(state);
        verdict
    }
}

#[cfg(test)]
pub(in crate::time) mod tests;

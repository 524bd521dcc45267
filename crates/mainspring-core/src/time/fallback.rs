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
//! - **fallback.quiet** — wakers are called and dropped with the lock free.
//! - **fallback.served** — an entry is accepted only while there is a thread: if it cannot be started,
//!   registration is refused, and the next one tries again.
//! - **fallback.bounded** — the lock is held for at most [`BATCH`] fired entries at a time.
//!
//! # Rejected
//!
//! A thread that retires when nothing is armed: start and retirement would race, for the sake of
//! a thread that costs some pages of stack. A wheel: this crate has none, and foreign executors are
//! not where a million timers live.

#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod process;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
pub(super) use self::process::timers;

#[cfg(all(mainspring_loom, feature = "loom"))]
mod none;
#[cfg(all(mainspring_loom, feature = "loom"))]
pub(super) use self::none::timers;

use super::{EntryRef, Nanos, OnDeregister, OnFire, OnRegister, OnReset, OnRewake, Timers};
use crate::driver::Until;
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// How many entries are fired under one lock.
const BATCH: usize = 32;

/// When an entry is due, and its place among those due at the same moment.
type Key = (Nanos, u64);

/// One thread's timers; in the process there is one of it.
pub(super) struct Fallback {
    state: Mutex<State>,
    earlier: Condvar,
    /// Starts a thread that calls [`Fallback::turn`] for ever.
    start: fn() -> io::Result<()>,
}

struct State {
    armed: BTreeMap<Key, EntryRef>,
    sequence: u64,
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
        let key = (deadline, self.sequence);
        self.sequence += 1;
        // SAFETY: [entry.linked] called under the lock, for an entry that is about to be armed, is
        // armed, or is being moved by its owner.
        unsafe { entry.keep(key) };
        self.armed.insert(key, entry);
        if self.sleeps.cap(Some(deadline)) == self.sleeps {
            return Owes::Nothing;
        }
        // Only the first to notice wakes it.
        self.sleeps = Until::Now;
        Owes::Wake
    }

    fn unlink(&mut self, entry: EntryRef) {
        // SAFETY: [entry.linked] called under the lock for an armed entry, which `link` keyed.
        let key = unsafe { entry.kept::<Key>() };
        let unlinked = self.armed.remove(&key);
        debug_assert_eq!(unlinked, Some(entry), "entry.linked: armed and not here");
    }

    /// Takes the wakers of at most [`BATCH`] entries that are due.
    fn fire_due(&mut self, now: Nanos, due: &mut Vec<Waker>) {
        while due.len() < BATCH {
            let Some(first) = self
                .armed
                .first_entry()
                .filter(|first| first.key().0 <= now)
            else {
                break;
            };
            let entry = first.remove();
            // SAFETY: [entry.linked] it was linked, hence armed; it is unlinked now, and not touched
            // again once it has fired.
            match unsafe { entry.fire(now) } {
                OnFire::Fired(waker) => due.push(waker),
                OnFire::Later(deadline) => {
                    let owes = self.link(entry, deadline);
                    debug_assert_eq!(owes, Owes::Nothing, "fallback.earliest: fires asleep");
                }
            }
        }
        debug_assert!(
            due.len() <= BATCH,
            "fallback.bounded: fired too many at once"
        );
    }
}

impl Fallback {
    pub(super) fn new(start: fn() -> io::Result<()>) -> Self {
        Self {
            state: Mutex::new(State {
                armed: BTreeMap::new(),
                sequence: 0,
                has_thread: false,
                sleeps: Until::Now,
            }),
            earlier: Condvar::new(),
            start,
        }
    }

    /// One turn of the thread: wakes some of those that are due, or sleeps once. Returns how many it
    /// woke.
    fn turn(&self, now: impl Fn() -> Nanos, due: &mut Vec<Waker>) -> usize {
        let mut state = self.state.lock();
        state.fire_due(now(), due);
        if due.is_empty() {
            self.sleep(state, now);
            return 0;
        }
        drop(state);
        wake(due)
    }

    fn sleep<'a>(&'a self, mut state: MutexGuard<'a, State>, now: impl Fn() -> Nanos) {
        let until = match state.armed.first_key_value() {
            Some((key, _)) => Until::At(key.0),
            None => Until::Forever,
        };
        state.sleeps = until;
        let mut state = match until.limit(now) {
            None => self.earlier.wait(state),
            Some(limit) => self.earlier.wait_timeout(state, limit).0,
        };
        state.sleeps = Until::Now;
    }

    /// Releases the lock and pays what is owed.
    fn settle(&self, state: MutexGuard<'_, State>, owes: Owes) {
        drop(state);
        if owes == Owes::Wake {
            self.earlier.notify_one();
        }
    }
}

/// Wakes all, whatever one of them does.
fn wake(due: &mut Vec<Waker>) -> usize {
    let woken = due.len();
    for waker in due.drain(..) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            // The panic has been reported by its hook. Its payload may panic in its own drop, and
            // this thread serves others.
            std::mem::forget(payload);
        }
    }
    woken
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
        state.unlink(entry);
        // SAFETY: [entry.linked] the lock is held, the owner calls, the entry is unlinked.
        unsafe { entry.evict() }
    }

    unsafe fn reset(&self, entry: EntryRef, deadline: Nanos) -> OnReset {
        let mut state = self.state.lock();
        // SAFETY: [entry.linked] the lock is held and the owner calls.
        if unsafe { entry.set_deadline(deadline) } == OnReset::Gone {
            return OnReset::Gone;
        }
        state.unlink(entry);
        let owes = state.link(entry, deadline);
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

//! One turn of the fallback's thread: fire what is due, wake its owners with the lock free, or
//! sleep until something is.

use super::{Fallback, Owes, State};
use crate::driver::Until;
use crate::payload::absorb;
use crate::sync::MutexGuard;
use crate::time::{Nanos, OnFire};
use crate::wake_batch::WakeBatch;

impl Fallback {
    /// One turn of the thread: wakes some of those that are due, or sleeps once. Returns how many
    /// it woke.
    pub(in crate::time) fn turn(&self, now: impl Fn() -> Nanos, due: &mut WakeBatch) -> usize {
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
        let until = Until::Forever.cap(state.armed.peek().map(|(deadline, _)| deadline));
        state.sleeps = until;
        let mut state = match until.limit(now) {
            None => self.earlier.wait(state),
            Some(limit) => self.earlier.wait_timeout(state, limit).0,
        };
        state.sleeps = Until::Now;
    }
}

impl State {
    /// Takes the wakers of at most a batch of entries that are due.
    pub(in crate::time) fn fire_due(&mut self, now: Nanos, due: &mut WakeBatch) {
        while due.has_room() {
            let Some((_, entry)) = self.armed.pop_due(now) else {
                return;
            };
            // SAFETY: [entry.linked] it was linked, hence armed; it is unlinked now, and not
            // touched again once it has fired.
            match unsafe { entry.fire(now) } {
                OnFire::Fired(waker) => {
                    let pushed = due.push(waker);
                    debug_assert!(pushed.is_ok(), "fallback.bounded: no room");
                }
                OnFire::Later(deadline) => {
                    let owes = self.link(entry, deadline);
                    debug_assert_eq!(owes, Owes::Nothing, "fallback.earliest: fires asleep");
                }
            }
        }
    }
}

/// Wakes all, whatever one of them does.
pub(in crate::time) fn wake(due: &mut WakeBatch) -> usize {
    let woken = due.len();
    absorb(|| due.wake_all());
    woken
}

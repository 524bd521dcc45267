//! Wakers collected while a lock is held, to be woken after it was released.
//!
//! # Invariants
//!
//! - **wake-batch.init** — `wakers[next..end]` are live, the others are not.
//! - **wake-batch.all** — every waker that was pushed is woken exactly once, in the order of the
//!   pushes, whatever the others do.
//!
//! # Rejected
//!
//! A `Vec`: it allocates under the caller's lock. A thousand waiters are woken in rounds instead,
//! with the lock released in between.

use crate::payload::Steps;
use std::fmt;
use std::mem::MaybeUninit;
use std::panic;
use std::task::Waker;
use std::thread;

/// Up to 32 wakers, without allocating.
///
/// Use it wherever waiters are picked under a lock: push there, release the lock, then
/// [`wake_all`](Self::wake_all). Waking runs foreign code, which may come back for the same lock.
///
/// **Declare the batch before the lock's guard**: what is dropped unwoken, on an early return or a
/// panic, is woken by the drop, and a batch declared later would be dropped under the lock.
///
/// One waker that panics does not keep the others from being woken: the first panic is resumed when
/// all of them were called, later ones are swallowed.
///
/// ```
/// use mainspring_core::WakeBatch;
/// use std::sync::Mutex;
/// use std::task::Waker;
///
/// let waiters = Mutex::new(vec![Waker::noop().clone(); 40]);
/// loop {
///     let mut batch = WakeBatch::new();
///     let mut waiters = waiters.lock().unwrap();
///     while batch.has_room() {
///         let Some(waker) = waiters.pop() else { break };
///         let pushed = batch.push(waker);
///         assert!(pushed.is_ok());
///     }
///     let done = waiters.is_empty();
///     drop(waiters);
///     batch.wake_all();
///     if done {
///         break;
///     }
/// }
/// ```
pub struct WakeBatch {
    next: u8,
    end: u8,
    wakers: [MaybeUninit<Waker>; WakeBatch::CAPACITY],
}

impl WakeBatch {
    /// How many wakers one batch holds.
    pub const CAPACITY: usize = 32;

    /// An empty batch.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self {
            next: 0,
            end: 0,
            wakers: [const { MaybeUninit::uninit() }; Self::CAPACITY],
        }
    }

    /// Whether another waker fits.
    #[inline]
    #[must_use]
    pub const fn has_room(&self) -> bool {
        (self.end as usize) < Self::CAPACITY
    }

    /// How many wakers wait to be woken.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        (self.end - self.next) as usize
    }

    /// Whether nothing waits to be woken.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.next == self.end
    }

    /// Adds a waker.
    ///
    /// # Errors
    ///
    /// A full batch gives it back.
    #[inline]
    pub fn push(&mut self, waker: Waker) -> Result<(), Waker> {
        match self.wakers.get_mut(self.end as usize) {
            Some(place) => {
                place.write(waker);
                self.end += 1;
                Ok(())
            }
            None => Err(waker),
        }
    }

    /// Wakes all of them, first in, first woken, and leaves the batch empty. Call it with no lock
    /// held.
    ///
    /// # Panics
    ///
    /// With the first panic of a waker, after every waker was called.
    pub fn wake_all(&mut self) {
        if let Some(payload) = self.wake_all_caught().into_first() {
            panic::resume_unwind(payload);
        }
    }

    /// Wakes all of them and keeps the first panic.
    fn wake_all_caught(&mut self) -> Steps {
        let mut steps = Steps::default();
        while !self.is_empty() {
            // One landing pad for the whole row: a second one is needed only after a panic.
            steps.run(|| {
                while let Some(waker) = self.pop() {
                    waker.wake();
                }
            });
        }
        self.next = 0;
        self.end = 0;
        steps
    }

    #[inline]
    fn pop(&mut self) -> Option<Waker> {
        if self.is_empty() {
            return None;
        }
        let place = &self.wakers[self.next as usize];
        // Before the waker runs: were it to panic, it would not be found here again.
        self.next += 1;
        // SAFETY: [wake-batch.init] [wake-batch.all] the place was within `next..end`, and no
        // longer is: nobody wakes or drops it again.
        Some(unsafe { place.assume_init_read() })
    }
}

impl Default for WakeBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for WakeBatch {
    /// Wakes what is left: those waiters were unlinked and nobody else would.
    #[inline]
    fn drop(&mut self) {
        match self.len() {
            0 => {}
            // What it panics with goes on by itself, where it may.
            1 if !thread::panicking() => {
                if let Some(waker) = self.pop() {
                    waker.wake();
                }
            }
            _ => self.wake_all_caught().finish(),
        }
    }
}

impl fmt::Debug for WakeBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WakeBatch")
            .field("len", &self.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;

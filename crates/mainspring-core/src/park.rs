//! Putting one thread to sleep and waking it from any other, with nothing lost in between.
//!
//! A [`Parker`] belongs to the thread that sleeps; its [`Unparker`]s go to everybody else. A
//! wake-up that comes first is kept, once, and makes the next [`Parker::park`] return at once.
//!
//! ```
//! use mainspring_core::park::Parker;
//!
//! let parker = Parker::new();
//! let unparker = parker.unparker();
//! let other = std::thread::spawn(move || unparker.unpark());
//! parker.park(); // returns, whether `unpark` came before or comes after
//! # other.join().unwrap();
//! ```
//!
//! # States
//!
//! ```text
//!            park                    unpark
//!   EMPTY ─────────▶ PARKED ─────────────────────▶ NOTIFIED
//!     ▲  ╲              │ limit passed               ▲  │
//!     │   ╲  unpark     ▼                            │  │ park takes the token
//!     │    ╲────────────┼────────────────────────────╯  │
//!     ╰─────────────────┴───────────────────────────────╯
//! ```
//!
//! # Invariants
//!
//! - **park.token** — an unpark that finds no one parked leaves NOTIFIED behind, and only a park
//!   takes it away, by a read-modify-write: neither going to sleep nor waking up overwrites one.
//! - **park.asleep** — the word says PARKED only from a moment at which the parker holds the lock
//!   until it has left the condition variable: whoever sees PARKED and passes through the lock
//!   finds the parker waiting.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `park.wake` | [`Unparker::unpark`] | [`Parker::park_until`] | what was written before |
//!
//! # Rejected
//!
//! `std::thread::park`: the same latency (measured: round trip p50 4.5 µs for a bare futex, for
//! this form and for that one), but it needs the thread's handle, which is gone while
//! thread-locals are destroyed, shares one token with the user's own use of it, and loom's
//! model of it hides a missing `Acquire`. A bare futex: unsafe code for one platform, and nothing
//! gained.

use crate::driver::Until;
use crate::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::sync::{Arc, Condvar, Mutex};
use crate::time;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::task::Wake;

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// Why a park returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a park that timed out has consumed no wake-up"]
pub enum Woken {
    /// Somebody called [`Unparker::unpark`]; that call is used up.
    Notified,
    /// The limit passed. An unpark that comes now is kept for the next park.
    TimedOut,
}

#[derive(Debug)]
struct Shared {
    word: AtomicU32,
    lock: Mutex<()>,
    woken: Condvar,
}

/// The end that sleeps: one thread at a time.
///
/// # Trade-offs
///
/// One allocation when made. A park that finds its token costs one read-modify-write, an unpark
/// that finds nobody asleep another; the kernel is entered only to sleep and to wake a sleeper.
pub struct Parker {
    shared: Arc<Shared>,
    one_at_a_time: PhantomData<Cell<()>>,
}

/// The end that wakes. Clone it and send it wherever it is needed.
#[derive(Clone)]
pub struct Unparker {
    shared: Arc<Shared>,
}

impl Parker {
    /// A parker that nobody has unparked yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                word: AtomicU32::new(EMPTY),
                lock: Mutex::new(()),
                woken: Condvar::new(),
            }),
            one_at_a_time: PhantomData,
        }
    }

    /// A handle that wakes this parker.
    #[must_use]
    pub fn unparker(&self) -> Unparker {
        Unparker {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Sleeps until [`Unparker::unpark`] is called, or returns at once if it was called since the
    /// last park returned. Never returns for another reason.
    pub fn park(&self) {
        let woken = self.park_until(Until::Forever);
        debug_assert_eq!(woken, Woken::Notified, "park.token: woke without a token");
    }

    /// Sleeps as [`park`](Self::park) does, until `until` at the latest, by [`time::now`].
    ///
    /// With [`Until::Now`], or with a moment that has passed, it only takes the token.
    pub fn park_until(&self, until: Until) -> Woken {
        let shared = &*self.shared;
        if until == Until::Now || shared.word.load(Relaxed) == NOTIFIED {
            return shared.take_token();
        }
        let mut guard = shared.lock.lock();
        if shared.fall_asleep() == Sleep::TokenWaits {
            return shared.take_token();
        }
        loop {
            guard = match until.limit(time::now) {
                None => shared.woken.wait(guard),
                Some(limit) if limit.is_zero() => return shared.give_up(),
                Some(limit) => shared.woken.wait_timeout(guard, limit).0,
            };
            if shared.take_token() == Woken::Notified {
                return Woken::Notified;
            }
        }
    }
}

/// What [`Shared::fall_asleep`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a token that waits has to be taken instead of sleeping"]
enum Sleep {
    /// The word says PARKED: wait on the condition variable.
    Asleep,
    /// An unpark came first.
    TokenWaits,
}

impl Shared {
    /// EMPTY → PARKED, with the lock held.
    fn fall_asleep(&self) -> Sleep {
        match self.word.compare_exchange(EMPTY, PARKED, Relaxed, Relaxed) {
            Ok(_) => Sleep::Asleep,
            Err(found) => {
                debug_assert_eq!(found, NOTIFIED, "park.asleep: two threads park");
                Sleep::TokenWaits
            }
        }
    }

    /// NOTIFIED → EMPTY, or nothing.
    fn take_token(&self) -> Woken {
        // ORDERING: [park.wake] Acquire, pairs with the swap in `unpark`: what the unparker wrote
        // before is seen by whoever returns from a park. Relaxed would let the parker look for
        // its work, miss it, and sleep for good: the token is gone.
        let taken = self
            .word
            .compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed);
        match taken {
            Ok(_) => Woken::Notified,
            Err(_) => Woken::TimedOut,
        }
    }

    /// PARKED → EMPTY because the limit passed, unless an unpark came first.
    fn give_up(&self) -> Woken {
        // ORDERING: [park.wake] Acquire, as in `take_token`: the swap may find NOTIFIED.
        match self.word.swap(EMPTY, Acquire) {
            NOTIFIED => Woken::Notified,
            found => {
                debug_assert_eq!(found, PARKED, "park.asleep: woke without having slept");
                Woken::TimedOut
            }
        }
    }
}

impl Unparker {
    /// Wakes the parker, or makes its next park return at once. Calls that come before it does
    /// count as one.
    ///
    /// Enters the kernel only if the parker sleeps, and then takes a lock that the parker holds
    /// only on its way into and out of the kernel.
    pub fn unpark(&self) {
        let shared = &*self.shared;
        // ORDERING: [park.wake] Release, pairs with the read-modify-writes in `take_token` and
        // `give_up`. An unpark that finds NOTIFIED has to release too: its caller's writes are
        // not those of the first.
        if shared.word.swap(NOTIFIED, Release) == PARKED {
            // [park.asleep]: the parker set PARKED under the lock and gives the lock up only by
            // waiting, so after this line it waits and hears the notification.
            drop(shared.lock.lock());
            shared.woken.notify_one();
        }
    }
}

/// So that an unparker is a waker: `Waker::from(Arc::new(parker.unparker()))`.
impl Wake for Unparker {
    fn wake(self: std::sync::Arc<Self>) {
        self.unpark();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        self.unpark();
    }
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parker").finish_non_exhaustive()
    }
}

impl fmt::Debug for Unparker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unparker").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

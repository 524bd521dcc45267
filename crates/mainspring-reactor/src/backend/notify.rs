//! The owner sleeps in the kernel, anybody may call it back: one token, and a system call only if
//! it sleeps.
//!
//! # States
//!
//! ```text
//!            fall_asleep            notify
//!  EMPTY ─────────────────▶ ASLEEP ─────────▶ NOTIFIED
//!    ▲ │       notify                          ▲   │
//!    │ └───────────────────────────────────────┘   │
//!    └──────────── wake_up, fall_asleep ───────────┘
//! ```
//!
//! # Invariants
//!
//! - **notify.token** — a notification that came after the owner last took one keeps it from
//!   sleeping, or calls it back.
//! - **notify.kick** — the kernel is told exactly by who found the owner ASLEEP, so at most once a
//!   sleep.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `notify.pass` | `Notify::notify` | `fall_asleep`, `wake_up` | what the notifier did before |

use mainspring_core::sync::atomic::{
    AtomicU8,
    Ordering::{Acquire, Relaxed, Release},
};

const EMPTY: u8 = 0;
const ASLEEP: u8 = 1;
const NOTIFIED: u8 = 2;

/// The word.
#[derive(Debug)]
pub(crate) struct Notify(AtomicU8);

/// What the owner does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an owner that is ASLEEP owes a `wake_up`"]
pub(crate) enum OnSleep {
    /// The word is ASLEEP: wait in the kernel, then `wake_up`.
    Wait,
    /// There was a token, which is taken: only look.
    Look,
}

/// What the notifier does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an owner that sleeps has to be called"]
pub(crate) enum OnNotify {
    /// The owner waits in the kernel: call it back.
    Kick,
    /// It is awake, or has been called.
    Nothing,
}

impl Notify {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(EMPTY))
    }

    /// By the owner, before it waits.
    pub(crate) fn fall_asleep(&self) -> OnSleep {
        match self.0.compare_exchange(EMPTY, ASLEEP, Relaxed, Relaxed) {
            Ok(_) => OnSleep::Wait,
            Err(found) => {
                debug_assert_eq!(found, NOTIFIED, "notify.kick: two owners");
                self.wake_up();
                OnSleep::Look
            }
        }
    }

    /// By the owner, after it waited or instead of waiting: takes the token, if there is one.
    pub(crate) fn wake_up(&self) {
        // CLAIM: [notify.token] by a read-modify-write: a token that comes at this moment is taken
        // with what its notifier did, or is there afterwards.
        // ORDERING: [notify.pass] Acquire, pairs with `notify`: the owner sees what it is called
        // for. Relaxed would let it look, find nothing, and sleep, the token gone.
        self.0.swap(EMPTY, Acquire);
    }

    /// By anybody: whether a notification is there that the owner has not taken.
    pub(crate) fn is_notified(&self) -> bool {
        self.0.load(Relaxed) == NOTIFIED
    }

    /// By anybody, after what the owner is to see.
    pub(crate) fn notify(&self) -> OnNotify {
        // ORDERING: [notify.pass] Release, pairs with `wake_up`. Relaxed would let the owner miss
        // what came before.
        match self.0.swap(NOTIFIED, Release) {
            ASLEEP => OnNotify::Kick,
            _ => OnNotify::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;

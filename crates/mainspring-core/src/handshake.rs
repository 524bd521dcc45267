//! One value, once, from one producer to one consumer: the bare four-state cell.
//!
//! A [`Handshake`] does not allocate. It is embedded in whatever both sides share — the allocation
//! of a [`completion`], a blocking job, a file operation — and says by its verdicts who frees that
//! memory and when. The safe pair of handles built on it is in [`mod@completion`].
//!
//! # States
//!
//! ```text
//!            park                complete
//!  PENDING ────────▶ WAITING ───────────────▶ READY
//!   │   ▲              │ │                     ▲
//!   │   └──────────────┘ │                     │
//!   │    another waker   │                     │
//!   │  complete          │                     │
//!   ├────────────────────┼─────────────────────┘
//!   │  cancel            │ cancel
//!   ▼                    ▼
//! CANCELLED ◀────────────┘     READY and CANCELLED are terminal
//! ```
//!
//! The word holds the state in its low two bits and above them the *round*, which counts the
//! parkings. A completer copies the parked waker's two words before its compare-exchange and owns
//! them if that succeeds: the round proves that the words it copied are those still parked. So a
//! completion is one read-modify-write, a parking one, taking and freeing none.
//!
//! # Invariants
//!
//! - **handshake.value** — `value` holds a live `T` exactly from the moment READY is published to
//!   the moment the consumer takes it; before READY it belongs to the producer alone.
//! - **handshake.waker** — the waker words belong to the consumer while the state is PENDING; they
//!   hold a live waker exactly while it is WAITING, and whoever leaves WAITING owns that waker.
//! - **handshake.one-terminal** — the state enters READY or CANCELLED once and stays there.
//! - **handshake.second-frees** — the side whose move was the terminal one never touches the cell
//!   again; the other side, when it finds the terminal state, owns the cell and frees it.
//! - **handshake.whole** — no waker is cloned, dropped or woken, and no `T` dropped, at a point
//!   where an unwind would leave the words claimed or a value taken that the word calls READY.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `handshake.publish` | `complete` | `poll`, `try_take`, `cancel` | the value, the last use |
//! | `handshake.park` | `poll` | `complete` | the waker's words and what is behind them |
//! | `handshake.leave` | `cancel` | `complete` | the consumer's last use of the cell |
//!
//! # Rejected
//!
//! - *Swap to READY, then read the waker out of the cell*: the consumer may be polled for another
//!   reason, find READY and free the cell under that read (the flaw behind RUSTSEC-2026-0005). It
//!   takes a further state and one more read-modify-write on each side to mend.
//! - *A claimed state between WAITING and READY*, in which the completer moves the waker out: one
//!   more read-modify-write, and a consumer that is polled meanwhile has to spin or wake itself.
//! - *The round in a word of its own*: two values that must agree are one word.

pub mod cleanup;
pub mod completion;
pub(crate) mod waker_words;

use crate::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::sync::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::task::Waker;
use waker_words::WakerWords;

const STATE: u64 = 0b11;
const PENDING: u64 = 0;
const WAITING: u64 = 1;
const READY: u64 = 2;
const CANCELLED: u64 = 3;
/// One parking. 62 bits never wrap.
const ROUND: u64 = 4;

/// What the caller of [`Handshake::complete`] owes.
#[derive(Debug)]
#[must_use = "a dropped verdict loses a wake or leaks the cell"]
pub enum OnComplete<T> {
    /// The consumer is not parked and will find the value. Do not touch the cell again.
    Published,
    /// Wake the consumer, which was parked. Do not touch the cell again.
    Wake(Waker),
    /// The consumer had left. Here is the value; free the cell.
    Free(T),
}

/// What [`Handshake::poll`] or [`Handshake::try_take`] found.
#[derive(Debug)]
#[must_use = "a dropped verdict loses the value and leaks the cell"]
pub enum OnPoll<T> {
    /// Nothing yet. After `poll`, the waker is parked.
    Pending,
    /// The value; the producer has left. Free the cell.
    Ready(T),
}

/// What the caller of [`Handshake::cancel`] owes.
#[derive(Debug)]
#[must_use = "a dropped verdict leaks the cell"]
pub enum OnCancel<T> {
    /// The producer frees the cell: do not touch it again. The waker that was parked is handed
    /// back to be dropped, which may run foreign code.
    Left(Option<Waker>),
    /// The value had arrived and nobody has taken it. Free the cell.
    Free(T),
}

/// A cell through which one producer hands one value to one consumer.
///
/// Use it to build a completion into memory of your own; [`completion`](completion::completion)
/// is the ready-made pair. It neither allocates nor frees, and dropping it drops neither value nor
/// waker: by then the verdicts have handed out both.
///
/// Every operation is one load or one load and one compare-exchange; a completion repeats it when
/// the consumer changed its waker meanwhile, a parking when it lost to the completion.
///
/// ```
/// use mainspring_core::handshake::{Handshake, OnComplete, OnPoll};
/// use std::task::Waker;
///
/// let cell = Handshake::new();
/// // SAFETY: one producer, one consumer, and the cell outlives both calls.
/// let verdict = unsafe { cell.complete(7) };
/// assert!(matches!(verdict, OnComplete::Published));
/// // SAFETY: as above; the consumer has neither taken nor cancelled.
/// let verdict = unsafe { cell.poll(Waker::noop()) };
/// assert!(matches!(verdict, OnPoll::Ready(7)));
/// ```
pub struct Handshake<T> {
    state: AtomicU64,
    waker: WakerWords,
    value: UnsafeCell<MaybeUninit<T>>,
    /// No memory and no code. In a model each side's use of the cell is a read of this and the
    /// freeing a write, so that a free that no edge orders after the other side's last use shows.
    body: UnsafeCell<()>,
}

// SAFETY: [handshake.value] the cell moves a `T` from one thread to another and never shares it;
// wakers are `Send` and `Sync`.
unsafe impl<T: Send> Send for Handshake<T> {}
// SAFETY: [handshake.value] as above: `&Handshake` on two threads is what the protocol is for.
unsafe impl<T: Send> Sync for Handshake<T> {}

impl<T> Handshake<T> {
    /// A cell in PENDING.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: AtomicU64::new(PENDING),
            waker: WakerWords::new(),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            body: UnsafeCell::new(()),
        }
    }

    /// Producer: publishes `value`.
    ///
    /// # Safety
    ///
    /// The caller is the one producer and completes for the first time; the cell is alive, and
    /// once the verdict is not [`OnComplete::Free`] the producer does not use it again.
    #[inline]
    pub unsafe fn complete(&self, value: T) -> OnComplete<T> {
        self.body.with(|_| ());
        // ORDERING: [handshake.park] Acquire, pairs with the parking in `park`: whoever sees
        // WAITING sees that round's words. Relaxed would copy stale ones.
        // ORDERING: [handshake.leave] Acquire, pairs with `cancel`: the free that follows comes
        // after the consumer's last use. Relaxed would free under it.
        let mut state = self.state.load(Acquire);
        debug_assert_ne!(
            state & STATE,
            READY,
            "handshake.one-terminal: second completion"
        );
        if state & STATE == CANCELLED {
            self.body.with_mut(|_| ());
            return OnComplete::Free(value);
        }
        self.value.with_mut(|cell| {
            // SAFETY: [handshake.value] not READY, and only this call leads there (caller's
            // contract): the value cell is the producer's.
            unsafe { &mut *cell }.write(value);
        });
        loop {
            let copied = self.waker.copy();
            // ORDERING: [handshake.publish] Release, pairs with the consumer's loads: whoever
            // sees READY sees the value. Relaxed would let it read an uninitialised one.
            // ORDERING: [handshake.park] [handshake.leave] Acquire on failure, as above.
            match self.state.compare_exchange(state, READY, Release, Acquire) {
                Ok(_) if state & STATE == WAITING => {
                    // SAFETY: [handshake.waker] the round was still the one whose words were
                    // copied, and leaving WAITING made the waker ours.
                    return OnComplete::Wake(unsafe { copied.into_waker() });
                }
                Ok(_) => return OnComplete::Published,
                Err(seen) if seen & STATE == CANCELLED => {
                    // SAFETY: [handshake.value] written above and never published.
                    return OnComplete::Free(unsafe { self.take() });
                }
                Err(seen) => state = seen,
            }
        }
    }

    /// Consumer: takes the value, or parks `waker`.
    ///
    /// Only the latest waker counts. If it wakes the same task as the one parked, this is one load.
    ///
    /// # Safety
    ///
    /// The caller is the one consumer, which has neither taken the value nor cancelled; the cell
    /// is alive, and after [`OnPoll::Ready`] the consumer only frees it.
    ///
    /// # Panics
    ///
    /// When the waker's `clone`, or the `drop` of the one it replaces, panics. The cell is whole
    /// then and may be polled again.
    #[inline]
    pub unsafe fn poll(&self, waker: &Waker) -> OnPoll<T> {
        // ORDERING: [handshake.publish] Acquire, pairs with `complete`. Relaxed would take an
        // uninitialised value.
        let state = self.state.load(Acquire);
        match state & STATE {
            READY => {
                // SAFETY: [handshake.value] READY was seen with acquire; the caller has not taken.
                OnPoll::Ready(unsafe { self.take() })
            }
            WAITING if self.waker.will_wake(waker) => OnPoll::Pending,
            WAITING => self.park_again(state, waker),
            _ => self.park(state, waker),
        }
    }

    /// Consumer: takes the value if it is there. Leaves a parked waker parked.
    ///
    /// # Safety
    ///
    /// As for [`poll`](Self::poll).
    #[inline]
    pub unsafe fn try_take(&self) -> OnPoll<T> {
        // ORDERING: [handshake.publish] Acquire, as in `poll`.
        match self.state.load(Acquire) & STATE {
            READY => {
                // SAFETY: [handshake.value] READY was seen with acquire; the caller has not taken.
                OnPoll::Ready(unsafe { self.take() })
            }
            _ => OnPoll::Pending,
        }
    }

    /// Consumer: gives up.
    ///
    /// # Safety
    ///
    /// As for [`poll`](Self::poll); unless the verdict is [`OnCancel::Free`] the consumer does not
    /// use the cell again.
    #[inline]
    pub unsafe fn cancel(&self) -> OnCancel<T> {
        self.body.with(|_| ());
        // ORDERING: [handshake.publish] Acquire, pairs with `complete`: the value that came first.
        let state = self.state.load(Acquire);
        if state & STATE != READY {
            let copied = self.waker.copy();
            // ORDERING: [handshake.leave] Release, pairs with `complete`'s load: the producer
            // frees after our last use of the cell. Relaxed would let it free under us.
            // ORDERING: [handshake.publish] Acquire on failure: the value that overtook us.
            match self
                .state
                .compare_exchange(state, CANCELLED, Release, Acquire)
            {
                Ok(_) if state & STATE == WAITING => {
                    // SAFETY: [handshake.waker] this consumer stored the words and has just left
                    // WAITING, so that no completer took them.
                    return OnCancel::Left(Some(unsafe { copied.into_waker() }));
                }
                Ok(_) => return OnCancel::Left(None),
                Err(seen) => debug_assert_eq!(seen & STATE, READY, "handshake.one-terminal"),
            }
        }
        // SAFETY: [handshake.value] READY was seen with acquire, and the caller has not taken.
        OnCancel::Free(unsafe { self.take() })
    }

    /// Whether the consumer has given up.
    ///
    /// A hint that orders nothing. Valid for the producer until it completes.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state.load(Relaxed) & STATE == CANCELLED
    }

    /// Parks the first waker.
    #[inline(never)]
    fn park(&self, state: u64, waker: &Waker) -> OnPoll<T> {
        // Before anything is claimed: this is foreign code.
        let fresh = waker.clone();
        let Some(unused) = self.store_and_park(state, fresh) else {
            return OnPoll::Pending;
        };
        // The waker first: were its drop to unwind, the value would still be in its place.
        drop(unused);
        // SAFETY: [handshake.value] [handshake.whole] READY was seen with acquire, the caller has
        // not taken, and nothing that could unwind is left to do.
        OnPoll::Ready(unsafe { self.take() })
    }

    /// Parks another waker instead of the one that is parked.
    #[cold]
    #[inline(never)]
    fn park_again(&self, state: u64, waker: &Waker) -> OnPoll<T> {
        // Before anything is claimed, as in `park`.
        let fresh = waker.clone();
        let copied = self.waker.copy();
        let claimed = state & !STATE;
        // Relaxed: what the words hold next is published by the parking below, and a completer
        // that sees this PENDING reads no words.
        // ORDERING: [handshake.publish] Acquire on failure, as in `poll`.
        match self
            .state
            .compare_exchange(state, claimed, Relaxed, Acquire)
        {
            Ok(_) => {
                // SAFETY: [handshake.waker] our move out of WAITING, our waker again.
                let old = unsafe { copied.into_waker() };
                let Some(unused) = self.store_and_park(claimed, fresh) else {
                    return OnPoll::Pending; // `old` is dropped here, after the cell is whole.
                };
                // Both wakers first, as in `park`; the one also if the other's drop unwinds.
                drop((unused, old));
            }
            Err(seen) => {
                debug_assert_eq!(seen & STATE, READY, "handshake.one-terminal");
                drop(fresh);
            }
        }
        // SAFETY: [handshake.value] [handshake.whole] as in `park`.
        OnPoll::Ready(unsafe { self.take() })
    }

    /// Stores `fresh` and leaves PENDING for WAITING. Gives it back if the value came first.
    #[inline(always)]
    fn store_and_park(&self, state: u64, fresh: Waker) -> Option<Waker> {
        debug_assert_eq!(state & STATE, PENDING, "handshake.waker: not ours to write");
        self.waker.store(fresh);
        let parked = (state + ROUND) | WAITING;
        // ORDERING: [handshake.park] Release, pairs with `complete`'s load: whoever sees WAITING
        // sees the words. Relaxed would let it revive stale ones.
        // ORDERING: [handshake.publish] Acquire on failure, as in `poll`.
        match self.state.compare_exchange(state, parked, Release, Acquire) {
            Ok(_) => None,
            Err(seen) => {
                debug_assert_eq!(seen & STATE, READY, "handshake.one-terminal");
                // SAFETY: [waker-words.owned] the words were stored above and never published.
                Some(unsafe { self.waker.copy().into_waker() })
            }
        }
    }

    /// Moves the value out; the cell is the caller's to free.
    ///
    /// # Safety
    ///
    /// The value is written, its write happened before, and nobody takes it again.
    #[inline]
    unsafe fn take(&self) -> T {
        self.body.with_mut(|_| ());
        self.value.with_mut(|cell| {
            // SAFETY: [handshake.value] the other side has left or never saw the value.
            let cell = unsafe { &*cell };
            // SAFETY: [handshake.value] a live `T` is here, and after this nobody looks.
            unsafe { cell.assume_init_read() }
        })
    }
}

impl<T> Default for Handshake<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Handshake<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state.load(Relaxed) & STATE {
            PENDING => "PENDING",
            WAITING => "WAITING",
            READY => "READY",
            _ => "CANCELLED",
        };
        f.debug_struct("Handshake").field("state", &state).finish()
    }
}

#[cfg(test)]
mod tests;

//! Many values, one after the other, from one producer to one consumer: the handshake, re-armable.
//!
//! A [`Relay`] does not allocate and frees nothing. It sits inside an allocation that both sides
//! hold a reference to — the core of a socket, of a listener, of a multishot operation — and is
//! the place where completions wait until somebody polls.
//!
//! # States
//!
//! ```text
//!                        complete (queue was empty)
//!          ┌───────────────────────────────────────────────┐
//!          │   park                complete                ▼
//!       PENDING ────────▶ WAITING ─────────────────────▶ READY ⟲ complete, while there is room
//!        ▲ ▲ │               │                             │
//!        │ └─┼───────────────┘ disarm, or another waker    │
//!        │   │                                             │ take the last one
//!        └───┼─────────────────────────────────────────────┘
//!            │ end: no more values; the consumer takes what is queued, then finds END
//!            │ close: no more values wanted; the producer gets every further one back
//!            ▼
//!       END, CLOSED
//! ```
//!
//! One word holds the flags WAITING, END and CLOSED, the producer's count of values and the round
//! of the parking. READY is "the counts differ". So a completion is one read-modify-write that
//! publishes the value, learns whether the consumer waits and takes its waker; taking a value is a
//! load and a store.
//!
//! # Invariants
//!
//! - **relay.slots** — the places from the consumer's count up to the producer's hold live values
//!   that belong to the consumer; the others are free and belong to the producer.
//! - **relay.once** — every value is taken once, or dropped once with the relay, or given back to
//!   the producer; never two of these.
//! - **relay.waker** — the waker words hold a live waker exactly while WAITING is set; whoever
//!   clears it owns that waker.
//! - **relay.no-lost-wake** — a consumer that parked is woken by the next completion and by the
//!   end; it does not park over a value.
//! - **relay.order** — values are taken in the order in which they were completed, and END is found
//!   after the last of them.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `relay.publish` | `complete`, `end` | `try_take` | the value; what came before the end |
//! | `relay.room` | `try_take` | `complete` | the place, empty again |
//! | `relay.park` | `poll_take` | `complete`, `end` | the waker's words and what is behind them |
//!
//! # Rejected
//!
//! - *A flag "somebody waits" beside the queue*: push, then look at the flag, against set the flag,
//!   then look at the queue. Without a sequentially consistent fence on both sides both look too
//!   early, and the value and the sleeper stay. In one word there is nothing to miss.
//! - *An [`AtomicWaker`](crate::AtomicWaker) beside the queue*: two read-modify-writes more for a
//!   completion that wakes.
//! - *Overwriting the oldest value*: a completion carries a buffer or a descriptor.

mod pair;
mod verdict;

pub use pair::{Consumer, Producer, Rejected, Take, pair};
pub use verdict::{OnComplete, OnEnd, OnRearm, OnTake};

use crate::handshake::waker_words::WakerWords;
use crate::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::sync::cell::UnsafeCell;
use std::array;
use std::fmt;
use std::mem::MaybeUninit;
use std::task::{Context, Poll, Waker};

const WAITING: u64 = 1;
const END: u64 = 1 << 1;
const CLOSED: u64 = 1 << 2;
/// The producer's count of values, 16 bits that wrap.
const COUNT_SHIFT: u32 = 3;
const COUNT: u64 = 0xFFFF << COUNT_SHIFT;
/// One parking. With 45 bits, a producer would have to stall for days inside one completion while
/// the consumer does nothing but change its waker.
const ROUND: u64 = 1 << 19;

/// A bounded queue of completions with one waiting consumer, inside memory of the caller's.
///
/// Use it where something completes again and again: a direction of a socket, an accepting
/// listener, a multishot operation. For a single value a [`Handshake`](crate::Handshake) is
/// smaller; for messages between tasks use a channel. [`pair()`] is the safe form.
///
/// Holds up to `N` values, a power of two up to 32768, in place. Nothing is allocated. Completing
/// is one read-modify-write, repeated when the consumer parked or changed its waker meanwhile;
/// taking is a load and a store.
///
/// # Contract
///
/// At most one producer and one consumer use the relay at a time, each from any thread. When the
/// role passes to another thread, something orders the uses: a lock, a baton, a task's own polls.
/// Dropping the relay drops the values that nobody took, each once, and a parked waker unwoken.
///
/// ```
/// use mainspring_core::relay::{OnComplete, OnTake, Relay};
///
/// let relay = Relay::<u32, 2>::new();
/// // SAFETY: this thread is the one producer and the one consumer.
/// unsafe {
///     assert!(matches!(relay.complete(1), OnComplete::Queued));
///     assert!(matches!(relay.complete(2), OnComplete::Queued));
///     assert!(matches!(relay.complete(3), OnComplete::Full(3)));
///     assert_eq!(relay.try_take(), OnTake::Value(1));
/// }
/// ```
pub struct Relay<T, const N: usize = 1> {
    state: AtomicU64,
    /// The consumer's count of values. Only the consumer stores it, and nobody swaps it.
    head: AtomicU32,
    waker: WakerWords,
    slots: [UnsafeCell<MaybeUninit<T>>; N],
}

// SAFETY: [relay.slots] a value moves from one thread to another and is never shared.
unsafe impl<T: Send, const N: usize> Send for Relay<T, N> {}
// SAFETY: [relay.slots] as above: two threads with a `&Relay` are what the protocol is for.
unsafe impl<T: Send, const N: usize> Sync for Relay<T, N> {}

/// The producer's count in a state word.
#[inline]
fn count(state: u64) -> u16 {
    // The mask makes the narrowing exact.
    ((state & COUNT) >> COUNT_SHIFT) as u16
}

/// The state word with one value more and nobody waiting.
#[inline]
fn counted(state: u64) -> u64 {
    let next = u64::from(count(state).wrapping_add(1)) << COUNT_SHIFT;
    (state & !(COUNT | WAITING)) | next
}

impl<T, const N: usize> Relay<T, N> {
    const CAPACITY: u16 = {
        assert!(
            N.is_power_of_two() && N <= 1 << 15,
            "a relay's capacity is a power of two up to 32768"
        );
        N as u16
    };

    /// An empty relay with a live producer.
    #[must_use]
    pub fn new() -> Self {
        let _: u16 = Self::CAPACITY;
        Self {
            state: AtomicU64::new(0),
            head: AtomicU32::new(0),
            waker: WakerWords::new(),
            slots: array::from_fn(|_| UnsafeCell::new(MaybeUninit::uninit())),
        }
    }

    /// Producer: queues `value`.
    ///
    /// # Safety
    ///
    /// The caller is the one producer, and has not ended since the relay was armed.
    #[inline]
    pub unsafe fn complete(&self, value: T) -> OnComplete<T> {
        // ORDERING: [relay.park] Acquire, pairs with the parking: whoever sees WAITING sees that
        // round's words. Relaxed would copy stale ones.
        let mut state = self.state.load(Acquire);
        debug_assert_eq!(state & END, 0, "relay.order: completed after the end");
        if state & CLOSED != 0 {
            return OnComplete::Closed(value);
        }
        let tail = count(state);
        // ORDERING: [relay.room] Acquire, pairs with the store in `try_take`: the place is empty
        // again. Relaxed would write over a value that is being read.
        let head = self.head.load(Acquire) as u16;
        if tail.wrapping_sub(head) == Self::CAPACITY {
            return OnComplete::Full(value);
        }
        self.slot(tail).with_mut(|slot| {
            // SAFETY: [relay.slots] the place is not among the queued ones, so it is ours.
            unsafe { &mut *slot }.write(value);
        });
        loop {
            let copied = self.waker.copy();
            // ORDERING: [relay.publish] Release, pairs with the consumer's load: whoever sees the
            // count sees the value. Relaxed would let it take an uninitialised one.
            // ORDERING: [relay.park] Acquire on failure, as above.
            match self
                .state
                .compare_exchange(state, counted(state), Release, Acquire)
            {
                Ok(_) if state & WAITING != 0 => {
                    // SAFETY: [relay.waker] the round was still the one whose words were copied,
                    // and clearing WAITING made the waker ours.
                    return OnComplete::Wake(unsafe { copied.into_waker() });
                }
                Ok(_) => return OnComplete::Queued,
                Err(seen) if seen & CLOSED != 0 => {
                    // SAFETY: [relay.once] written above and never counted.
                    return OnComplete::Closed(unsafe { self.read(tail) });
                }
                Err(seen) => state = seen,
            }
        }
    }

    /// Producer: no more values will come.
    ///
    /// # Safety
    ///
    /// The caller is the one producer, and does not complete again unless the consumer rearmed.
    pub unsafe fn end(&self) -> OnEnd {
        // ORDERING: [relay.park] Acquire, pairs with the parking, as in `complete`.
        let mut state = self.state.load(Acquire);
        loop {
            let copied = self.waker.copy();
            let next = (state & !WAITING) | END;
            // ORDERING: [relay.publish] Release, pairs with the consumer's load: whoever finds the
            // end sees what the producer did before. [relay.park] Acquire on failure.
            match self.state.compare_exchange(state, next, Release, Acquire) {
                Ok(_) if state & WAITING != 0 => {
                    // SAFETY: [relay.waker] the round was the one copied, and WAITING is cleared.
                    let waker = unsafe { copied.into_waker() };
                    return OnEnd::Wake(waker);
                }
                Ok(_) => return OnEnd::Ended,
                Err(seen) => state = seen,
            }
        }
    }

    /// Consumer: takes the oldest value. Leaves a parked waker parked.
    ///
    /// After [`close`](Self::close) the values that were queued before can still be taken.
    ///
    /// # Safety
    ///
    /// The caller is the one consumer.
    #[inline]
    pub unsafe fn try_take(&self) -> OnTake<T> {
        // ORDERING: [relay.publish] Acquire, pairs with `complete` and `end`. Relaxed would take
        // an uninitialised value.
        let state = self.state.load(Acquire);
        let head = self.head.load(Relaxed) as u16;
        if count(state) == head {
            return match state & (END | CLOSED) {
                0 => OnTake::Empty,
                _ => OnTake::Ended,
            };
        }
        // SAFETY: [relay.slots] the oldest of the queued places, which are the consumer's.
        let value = unsafe { self.read(head) };
        // ORDERING: [relay.room] Release, pairs with the load in `complete`: the producer writes
        // the place after this read of it. Relaxed would let it write under the read.
        self.head.store(u32::from(head.wrapping_add(1)), Release);
        OnTake::Value(value)
    }

    /// Consumer: takes the oldest value, or parks the current task, which the next completion or
    /// the end wakes. `None` when the producer has ended or the consumer has closed, and nothing
    /// is left.
    ///
    /// Only the latest waker counts; one for the same task costs no clone.
    ///
    /// # Safety
    ///
    /// The caller is the one consumer.
    ///
    /// # Panics
    ///
    /// When the waker's `clone`, or the `drop` of the one it replaces, panics. No value is lost.
    #[inline]
    pub unsafe fn poll_take(&self, cx: &Context<'_>) -> Poll<Option<T>> {
        loop {
            // SAFETY: [relay.slots] the caller is the one consumer.
            match unsafe { self.try_take() } {
                OnTake::Value(value) => return Poll::Ready(Some(value)),
                OnTake::Ended => return Poll::Ready(None),
                OnTake::Empty => match self.park(cx.waker()) {
                    Park::Parked => return Poll::Pending,
                    Park::LookAgain => {}
                },
            }
        }
    }

    /// Consumer: takes the parked waker back, to be dropped, when the future that parked it goes
    /// away while the relay stays. Values keep queueing.
    ///
    /// # Safety
    ///
    /// The caller is the one consumer.
    pub unsafe fn disarm(&self) -> Option<Waker> {
        let state = self.state.load(Relaxed);
        if state & WAITING == 0 {
            return None;
        }
        // A failed move means that the producer has taken the waker, and wakes it.
        self.unpark(state, state & !WAITING).ok().flatten()
    }

    /// Consumer: wants no more values. The producer gets every further one back; those that are
    /// queued can still be taken. The waker that was parked is returned to be dropped.
    ///
    /// # Safety
    ///
    /// The caller is the one consumer.
    pub unsafe fn close(&self) -> Option<Waker> {
        let mut state = self.state.load(Relaxed);
        loop {
            match self.unpark(state, (state & !WAITING) | CLOSED) {
                Ok(waker) => return waker,
                Err(seen) => state = seen,
            }
        }
    }

    /// Consumer: takes the end back, for a new producer. Values of the old one stay in front.
    ///
    /// # Safety
    ///
    /// The caller is the one consumer, and the new producer begins after this.
    pub unsafe fn rearm(&self) -> OnRearm {
        let mut state = self.state.load(Relaxed);
        loop {
            match state & (END | CLOSED) {
                END => {}
                0 => return OnRearm::Live,
                _ => return OnRearm::Closed,
            }
            match self
                .state
                .compare_exchange(state, state & !END, Relaxed, Relaxed)
            {
                Ok(_) => return OnRearm::Armed,
                Err(seen) => state = seen,
            }
        }
    }

    /// Whether the consumer has closed. A hint for the producer, which orders nothing.
    #[inline]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state.load(Relaxed) & CLOSED != 0
    }

    /// Moves from `state` to `next`, which is not WAITING, by the consumer; the waker is ours then.
    fn unpark(&self, state: u64, next: u64) -> Result<Option<Waker>, u64> {
        let copied = self.waker.copy();
        // Relaxed: the words are the consumer's own, and a producer that sees the result reads
        // nothing of them.
        self.state.compare_exchange(state, next, Relaxed, Relaxed)?;
        if state & WAITING == 0 {
            return Ok(None);
        }
        // SAFETY: [relay.waker] we stored the words, and cleared WAITING.
        Ok(Some(unsafe { copied.into_waker() }))
    }

    /// Parks `waker` unless there is something to take.
    fn park(&self, waker: &Waker) -> Park {
        let mut state = self.state.load(Relaxed);
        let mut old = None;
        if count(state) != self.head.load(Relaxed) as u16 || state & (END | CLOSED) != 0 {
            return Park::LookAgain;
        }
        if state & WAITING != 0 && self.waker.will_wake(waker) {
            return Park::Parked;
        }
        // Before anything is claimed: this is foreign code.
        let fresh = waker.clone();
        if state & WAITING != 0 {
            match self.unpark(state, state & !WAITING) {
                Ok(parked) => old = parked,
                Err(_) => return Park::LookAgain,
            }
            state &= !WAITING;
        }
        self.waker.store(fresh);
        let parked = state.wrapping_add(ROUND) | WAITING;
        // ORDERING: [relay.park] [relay.no-lost-wake] Release, pairs with the loads in `complete`
        // and `end`: whoever sees WAITING sees the words. Relaxed would let it revive stale ones.
        match self.state.compare_exchange(state, parked, Release, Relaxed) {
            Ok(_) => {
                drop(old); // After the word is whole: this is foreign code.
                Park::Parked
            }
            Err(_) => {
                // SAFETY: [waker-words.owned] the words were stored above and never published.
                drop(unsafe { self.waker.copy().into_waker() });
                drop(old);
                Park::LookAgain
            }
        }
    }

    #[inline]
    fn slot(&self, position: u16) -> &UnsafeCell<MaybeUninit<T>> {
        // A power of two divides the wrapping count's range, so positions stay in order.
        &self.slots[usize::from(position) & (N - 1)]
    }

    /// Moves the value at `position` out.
    ///
    /// # Safety
    ///
    /// A live value is there, its write happened before, and nobody reads it again.
    #[inline]
    unsafe fn read(&self, position: u16) -> T {
        self.slot(position).with_mut(|slot| {
            // SAFETY: [relay.slots] the place belongs to the caller's side.
            let slot = unsafe { &*slot };
            // SAFETY: [relay.once] live, and counted out right after this.
            unsafe { slot.assume_init_read() }
        })
    }
}

/// What came of [`Relay::park`].
enum Park {
    Parked,
    LookAgain,
}

impl<T, const N: usize> Default for Relay<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> Drop for Relay<T, N> {
    fn drop(&mut self) {
        /// Goes on with the rest when one value's drop panics.
        struct Rest<'a, T, const N: usize>(&'a Relay<T, N>);

        impl<T, const N: usize> Rest<'_, T, N> {
            fn drop_all(&self) {
                // SAFETY: [relay.once] the relay is being dropped: nobody else takes.
                while let OnTake::Value(value) = unsafe { self.0.try_take() } {
                    drop(value);
                }
            }
        }

        impl<T, const N: usize> Drop for Rest<'_, T, N> {
            fn drop(&mut self) {
                self.drop_all();
            }
        }

        // SAFETY: [relay.once] the relay is being dropped: nobody else takes.
        let parked = unsafe { self.disarm() };
        Rest(self).drop_all();
        drop(parked);
    }
}

impl<T, const N: usize> fmt::Debug for Relay<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.load(Relaxed);
        let head = self.head.load(Relaxed) as u16;
        f.debug_struct("Relay")
            .field("queued", &count(state).wrapping_sub(head))
            .field("capacity", &N)
            .field("is_waiting", &(state & WAITING != 0))
            .field("is_ended", &(state & END != 0))
            .field("is_closed", &(state & CLOSED != 0))
            .finish()
    }
}

#[cfg(test)]
mod tests;

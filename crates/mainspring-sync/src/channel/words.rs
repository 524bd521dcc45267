//! The two index words of a channel, and every transition of them; nothing about slots.
//!
//! ```text
//!   tail = position | held permits | senders wait | receivers wait | GONE | CLOSED
//!   head = position | senders wait
//! ```
//!
//! Whoever changes a word learns from the value it replaced whether the channel is closed and
//! whether somebody waits: there is no second word to look at, and no fence. `tail` is where the
//! next message goes, `head` where the oldest one lies; a *held* permit is a credit, a promise
//! of room somewhere ahead, and no place in the row: it cannot block the messages behind it.
//!
//! "Senders wait" stands in both words: a pop has to see it, which changes `head`, and so have
//! a newcomer, which must not overtake, and a permit that is given back, which both change `tail`.
//!
//! # Invariants
//!
//! - **words.capacity** — messages and held permits together never exceed the capacity, except by
//!   one while a sender that has shut out all others replaces the oldest message.
//! - **words.claim** — a position is claimed by one push and taken by one pop.
//! - **words.closed** — once CLOSED is in `tail` no push and no permit begins; permits that are out
//!   may still be redeemed until GONE is there too. Neither flag is ever cleared.
//! - **words.end** — a receiver is told Closed only when CLOSED is there, the row is empty and no
//!   permit is held, after which it stays so.
//! - **words.receiver-parks** — a receiver waits only if the row was empty in a `tail` that was
//!   read when the note that it waits was set, or after: every later claim has seen the note.
//! - **words.sender-parks** — a sender waits only if, after it had noted in both words that it
//!   does, there was no room: whatever makes room later has seen a note.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `words.window` | hold, claim | claim, redeem | that permits' slots were read out |
//! | `words.ended` | close, release, redeem | vacancy | what came before the end |
//!
//! # Rejected
//!
//! A permit as a claimed slot: one that is held for long holds up all messages behind it. A count
//! of messages beside the words: one more contended write for each of them. `fetch_add` tickets: a
//! ticket cannot be given back, so neither a full channel nor a cancelled send can be expressed.

use super::shape::{Shape, Wide, Widths};
use mainspring_core::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::fmt;

mod value;
mod verdict;

use self::value::{CLOSED, GONE, HELD_ONE, HELD_SHIFT, RECEIVERS_WAIT, SENDERS_WAIT};
pub(crate) use self::value::{Head, Tail};

pub(crate) use self::verdict::{
    Claimed, Closing, Freed, OnPark, Redeem, Refusal, Reserve, Room, Taken, Told, Turn, Vacancy,
};

/// Keeps a word away from its neighbours: processors fetch pairs of 64-byte lines.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

/// The two words.
pub(crate) struct Words<W: Widths = Wide> {
    shape: Shape<W>,
    /// `u64::MAX`: no bound.
    capacity: u64,
    tail: Apart<AtomicU64>,
    head: Apart<AtomicU64>,
}

impl<W: Widths> Words<W> {
    /// The words of an empty, open channel whose positions have this shape.
    pub(crate) fn new(shape: Shape<W>, capacity: Option<usize>) -> Self {
        const {
            assert!(
                HELD_SHIFT + W::HELD + W::POSITION <= u64::BITS,
                "a word holds its fields"
            );
        }
        Self {
            shape,
            capacity: capacity.map_or(u64::MAX, |capacity| capacity as u64),
            tail: Apart(AtomicU64::new(0)),
            head: Apart(AtomicU64::new(0)),
        }
    }

    pub(crate) fn shape(&self) -> Shape<W> {
        self.shape
    }

    /// `None`: no bound.
    pub(crate) fn capacity(&self) -> Option<usize> {
        (self.capacity != u64::MAX).then_some(self.capacity as usize)
    }

    #[inline(always)]
    pub(crate) fn tail(&self) -> Tail<W> {
        Tail::of(self.tail.0.load(Relaxed))
    }

    #[inline(always)]
    pub(crate) fn head(&self) -> Head<W> {
        Head::of(self.head.0.load(Relaxed))
    }

    /// Whether one more message or permit fits, and if not, why. For a storage that knows from its
    /// slots, only when these have said no.
    pub(crate) fn room(&self, seen: Tail<W>) -> Room<W> {
        if self.is_full(seen, self.head()) {
            return Room::Full;
        }
        let now = self.tail();
        if now == seen {
            Room::Free
        } else {
            Room::Changed(now)
        }
    }

    fn is_full(&self, tail: Tail<W>, head: Head<W>) -> bool {
        let messages = self.shape.distance(head.position(), tail.position());
        // A head that is newer than the tail it is compared with: the row was emptied in between.
        messages.max(0) as u64 + tail.held() >= self.capacity
    }

    /// Claims the next position. The caller has found that it is free, and beyond it room for all
    /// permits that `seen` says are out.
    #[inline(always)]
    pub(crate) fn claim(&self, seen: Tail<W>) -> Result<Claimed, Tail<W>> {
        debug_assert!(!seen.is_closed(), "words.closed: a claim after the end");
        let position = seen.position();
        let bits = seen.stepped(self.shape);
        // ORDERING: [words.window] AcqRel. Beside permits a claim gets a slot that whoever counted
        // one of them found read out, perhaps another thread, and leaves them one that it found so
        // itself. One step weaker, the write would race with the reading of the message before.
        let swapped = self
            .tail
            .0
            .compare_exchange_weak(seen.bits, bits, AcqRel, Relaxed);
        // CLAIM: [words.claim] one of those that saw this word.
        match swapped {
            Ok(_) => Ok(Claimed {
                position,
                told: seen.told(seen.held()),
            }),
            Err(now) => Err(Tail::of(now)),
        }
    }

    /// Counts one more permit. The caller has found room for it, behind all that are out.
    #[inline]
    pub(crate) fn hold(&self, seen: Tail<W>) -> Result<(), Tail<W>> {
        debug_assert!(
            seen.held() < Tail::<W>::HELD_MAX,
            "words.capacity: too many permits"
        );
        // ORDERING: [words.window] Release, pairs with `claim` and `redeem`: whoever gets the slot
        // that we found read out need not look. Relaxed would let its write race with that reading.
        let swapped =
            self.tail
                .0
                .compare_exchange_weak(seen.bits, seen.bits + HELD_ONE, Release, Relaxed);
        swapped.map(|_| ()).map_err(Tail::of)
    }

    /// Holds room beyond the capacity, for one who then takes the oldest message. Under the
    /// senders' lock, with newcomers shut out.
    pub(crate) fn overdraw(&self) -> Reserve {
        let mut tail = self.tail();
        loop {
            if tail.is_closed() {
                return Reserve::Closed;
            }
            if Self::holds_all(tail) {
                return Reserve::Full;
            }
            match self.hold(tail) {
                Ok(()) => return Reserve::Held,
                Err(now) => tail = now,
            }
        }
    }

    /// Whether so many permits are out that no more can be counted.
    #[inline]
    pub(crate) fn holds_all(seen: Tail<W>) -> bool {
        seen.held() == Tail::<W>::HELD_MAX
    }

    /// Turns a held permit into a claim, or gives it up if no receiver is left.
    pub(crate) fn redeem(&self) -> Redeem {
        let mut seen = self.tail();
        loop {
            match self.redeem_at(seen) {
                Ok(redeemed) => return redeemed,
                Err(now) => seen = now,
            }
        }
    }

    /// As [`redeem`](Self::redeem), if the word is still this one.
    #[inline]
    pub(crate) fn redeem_at(&self, seen: Tail<W>) -> Result<Redeem, Tail<W>> {
        debug_assert!(seen.held() > 0, "words.capacity: a permit out of nothing");
        let position = seen.position();
        let is_gone = seen.bits & GONE != 0;
        let bits = if is_gone {
            seen.bits
        } else {
            seen.stepped(self.shape)
        };
        // ORDERING: [words.window] Acquire, pairs with `hold` and `claim`: the slot was read out,
        // as one of those who counted permits has seen.
        // ORDERING: [words.ended] Release, pairs with the load in `vacancy`: of the last permit.
        // One step weaker, the write would race, or the end would come without a past.
        let swapped =
            self.tail
                .0
                .compare_exchange_weak(seen.bits, bits - HELD_ONE, AcqRel, Relaxed);
        match swapped {
            Ok(_) if is_gone => Ok(Redeem::Gone),
            Ok(_) => Ok(Redeem::Claimed(Claimed {
                position,
                told: seen.told(seen.held() - 1),
            })),
            Err(now) => Err(Tail::of(now)),
        }
    }

    /// Gives a held permit back.
    pub(crate) fn release(&self) -> Freed {
        // ORDERING: [words.ended] Release, pairs with the load in `vacancy`: who is told Closed
        // sees what the holder did. Relaxed would show it an end without a past.
        let before = Tail::<W>::of(self.tail.0.fetch_sub(HELD_ONE, Release));
        debug_assert!(before.held() > 0, "words.capacity: a permit out of nothing");
        Freed {
            senders_wait: before.bits & SENDERS_WAIT != 0,
            told: match before.told(before.held() - 1) {
                Told::Receivers => Told::Receivers,
                _ => Told::Nobody,
            },
        }
    }

    /// Takes the oldest message. The caller has found it written.
    #[inline(always)]
    pub(crate) fn take(&self, seen: Head<W>) -> Result<Taken, Head<W>> {
        let position = seen.position();
        let bits = self.shape.stepped(seen.bits, Tail::<W>::POSITION_SHIFT);
        // Relaxed is enough: the slot's own stamp carries the message, and the note is in the word.
        let swapped = self
            .head
            .0
            .compare_exchange_weak(seen.bits, bits, Relaxed, Relaxed);
        match swapped {
            Ok(_) => Ok(Taken {
                position,
                senders_wait: seen.bits & SENDERS_WAIT != 0,
            }),
            Err(now) => Err(Head::of(now)),
        }
    }

    /// What it means that nothing lies written at `seen`.
    pub(crate) fn vacancy(&self, seen: Head<W>) -> Vacancy<W> {
        // ORDERING: [words.ended] Acquire, pairs with `close` and `release`: after Closed, what
        // they came after is visible. Relaxed would end the channel before the last permit's past.
        let tail = Tail::<W>::of(self.tail.0.load(Acquire));
        if tail.position() == seen.position() {
            // CLAIM: [words.end] nothing can be claimed any more, so the head is at the end too.
            return if tail.is_closed() && tail.held() == 0 {
                Vacancy::Closed
            } else {
                Vacancy::Empty
            };
        }
        let now = self.head();
        if now.bits == seen.bits {
            Vacancy::Busy
        } else {
            Vacancy::Changed(now)
        }
    }

    /// Closes the channel: what was claimed before is delivered.
    pub(crate) fn close(&self) -> Closing {
        self.shut(CLOSED)
    }

    /// Closes the channel and says that nobody receives any more.
    pub(crate) fn leave(&self) -> Closing {
        self.shut(CLOSED | GONE)
    }

    fn shut(&self, flags: u64) -> Closing {
        // ORDERING: [words.ended] Release, pairs with the load in `vacancy`: who is told Closed
        // sees what the closer did. Relaxed would show it an end without a past.
        let before = Tail::<W>::of(self.tail.0.fetch_or(flags, Release));
        if before.is_closed() {
            Closing::Again
        } else {
            Closing::First
        }
    }

    /// Notes that a receiver is about to wait. Under the receivers' lock.
    pub(crate) fn receiver_parks(&self) -> OnPark {
        // CLAIM: [words.receiver-parks] the value that the note replaced is the one that counts;
        // of a note that stands already, any: a claim that is later has seen the note, and whoever
        // made it comes for the lock after us.
        let tail = self.noted(&self.tail, RECEIVERS_WAIT);
        let is_empty = tail.position() == self.head().position();
        let is_ended = tail.is_closed() && tail.held() == 0;
        if is_empty && !is_ended {
            OnPark::Wait
        } else {
            OnPark::Look
        }
    }

    /// Sets a note, unless it stands already, and returns the word. Under the lock under which
    /// alone the note is taken back.
    #[inline]
    fn noted(&self, word: &Apart<AtomicU64>, note: u64) -> Tail<W> {
        let seen = word.0.load(Relaxed);
        if seen & note != 0 {
            return Tail::of(seen);
        }
        Tail::of(word.0.fetch_or(note, Relaxed))
    }

    /// Takes the note back: no receiver waits. Under the receivers' lock.
    pub(crate) fn no_receiver_waits(&self) {
        self.tail.0.fetch_and(!RECEIVERS_WAIT, Relaxed);
    }

    /// Notes that a sender is about to wait. Under the senders' lock.
    pub(crate) fn sender_parks(&self) -> OnPark {
        // CLAIM: [words.sender-parks] a pop that `head` does not count has seen the note there, and
        // a permit given back that `tail` does not count the other; nobody else makes room.
        let tail = self.noted(&self.tail, SENDERS_WAIT);
        let head = Head::<W>::of(self.noted(&self.head, SENDERS_WAIT).bits);
        let has_room = !self.is_full(tail, head) && !Self::holds_all(tail);
        if has_room || tail.is_closed() {
            OnPark::Look
        } else {
            OnPark::Wait
        }
    }

    /// Whether the note stands that a sender waits. Exact under the senders' lock.
    pub(crate) fn is_sender_noted(&self) -> bool {
        self.tail().bits & SENDERS_WAIT != 0
    }

    /// Takes the notes back: no sender waits. Under the senders' lock.
    pub(crate) fn no_sender_waits(&self) {
        self.head.0.fetch_and(!SENDERS_WAIT, Relaxed);
        self.tail.0.fetch_and(!SENDERS_WAIT, Relaxed);
    }

    /// How many messages there are, those being written or read not quite reliably.
    pub(crate) fn len(&self) -> usize {
        let head = self.head();
        let messages = self.shape.distance(head.position(), self.tail().position());
        // Both ends move while they are read: never less than none or more than all.
        let most = self.capacity.min(i64::MAX as u64) as i64;
        messages.clamp(0, most) as usize
    }

    /// Whether no message and no permit more fits.
    pub(crate) fn has_no_room(&self) -> bool {
        self.is_full(self.tail(), self.head())
    }

    /// Whether messages and permits are more than the capacity, as [`hold`](Self::hold) beyond it
    /// makes them for a moment.
    pub(crate) fn is_overdrawn(&self) -> bool {
        let tail = self.tail();
        let messages = self.shape.distance(self.head().position(), tail.position());
        messages.max(0) as u64 + tail.held() > self.capacity
    }

    pub(crate) fn is_closed(&self) -> bool {
        // ORDERING: [words.ended] Acquire, pairs with `close`: who finds the channel closed sees
        // what came before that. Relaxed would show an end without a past.
        Tail::<W>::of(self.tail.0.load(Acquire)).is_closed()
    }
}

impl<W: Widths> fmt::Debug for Words<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words")
            .field("tail", &self.tail())
            .field("head", &self.head().position().0)
            .field("capacity", &self.capacity())
            .finish()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

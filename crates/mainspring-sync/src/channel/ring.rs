//! A ring of slots with lap stamps: the storage of small bounded channels.
//!
//! After the bounded queue of Dmitry Vyukov, with two differences. The index words are those of
//! [`words`](super::words), so that closing, permits and waiters share the one CAS of a push. And
//! a slot's stamp says *which position* it is free for or holds: with one slot, "holds the message
//! of this lap" and "is free for the next lap" are different numbers.
//!
//! # Invariants
//!
//! - **slots.owner** — a slot's value is written by whoever claimed its position and read by
//!   whoever took it, and its stamp by the same, each once a lap.
//! - **slots.window** — the slots from the tail's position on, one for each held permit, are free:
//!   a redeemed permit finds its slot free without looking.
//! - **slots.live** — a slot holds a live value exactly while its stamp says written.
//! - **slots.dropped** — what lies in a ring that is dropped is dropped once, whatever panics.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `slots.written` | [`Ring::push`], [`Ring::redeem`] | [`Ring::pop`] | the message |
//! | `slots.free` | [`Ring::pop`] | [`Ring::push`], [`Ring::reserve`] | that it was read out |
//!
//! # Rejected
//!
//! `crossbeam_queue::ArrayQueue`: it cannot be closed in one step with a push, knows no permits,
//! and a pop spins behind a producer that was preempted between claim and write. Padding each
//! slot to a cache line: slower where one thread does both, and 64 times the memory for a ring of
//! bytes.

use super::shape::{Position, Shape, Wide, Widths};
use super::words::{Redeem, Refusal, Reserve, Room, Tail, Told, Turn, Vacancy, Words};
use crate::room;
use mainspring_core::payload::Steps;
use mainspring_core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};
use mainspring_core::sync::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;

/// What became of a value that was to be pushed.
#[must_use = "the value comes back, or a receiver is to be told"]
pub(crate) enum Push<T> {
    Done(Told),
    /// No room.
    Full(T),
    /// There is room, but a receiver is still reading the message that was there.
    Busy(T),
    Closed(T),
    /// Go through the senders' queue.
    Queue(T),
}

/// What a receiver found.
#[must_use = "a message is lost"]
pub(crate) enum Pop<T> {
    /// The oldest message, and whether a sender waits for its room.
    Got(T, bool),
    Empty,
    /// The oldest message is claimed and not yet written.
    Busy,
    /// Empty for ever.
    Closed,
}

struct Slot<T> {
    /// [`free`] or [`written`] for a position. Nobody exchanges it, so it is stored to.
    stamp: AtomicU64,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// The stamp of a slot that is free for the message of that position.
fn free(position: Position) -> u64 {
    position.0 << 1
}

/// The stamp of a slot that holds the message of that position.
fn written(position: Position) -> u64 {
    position.0 << 1 | 1
}

impl<T> Slot<T> {
    /// Whether the slot is free for the message of that position.
    #[inline(always)]
    fn is_free_for(&self, position: Position) -> bool {
        // ORDERING: [slots.free] Acquire, pairs with the store in `read_out`: the message before
        // was read before ours is written. Relaxed would let the two race.
        self.stamp.load(Acquire) == free(position)
    }

    /// Whether the message of that position is there.
    #[inline(always)]
    fn holds(&self, position: Position) -> bool {
        // ORDERING: [slots.written] Acquire, pairs with the store in `write`: the message is
        // there. Relaxed would read it before it is.
        self.stamp.load(Acquire) == written(position)
    }

    /// Writes the message of a position that the caller has claimed.
    #[inline(always)]
    fn write(&self, position: Position, value: T) {
        self.value.with_mut(|cell| {
            // SAFETY: [slots.owner] the position was claimed by us alone, and its slot is free:
            // whoever read the message before is done, which the stamp or the word carried here.
            let cell = unsafe { &mut *cell };
            cell.write(value);
        });
        // ORDERING: [slots.written] Release, pairs with the load in `holds`. Relaxed would let a
        // receiver read a message that is not there yet.
        self.stamp.store(written(position), Release);
    }

    /// Reads the message of a position that the caller has taken, and frees the slot for `next`.
    #[inline(always)]
    fn read_out(&self, next: Position) -> T {
        let value = self.value.with_mut(|cell| {
            // SAFETY: [slots.owner] the position was taken by us alone.
            let cell = unsafe { &*cell };
            // SAFETY: [slots.live] the stamp said written, and says free before anybody else
            // looks at this slot: the value is read once.
            unsafe { cell.assume_init_read() }
        });
        // ORDERING: [slots.free] Release, pairs with the load in `is_free_for`. Relaxed would let
        // the next message be written while we read this one.
        self.stamp.store(free(next), Release);
        value
    }
}

/// The ring.
pub(crate) struct Ring<T, W: Widths = Wide> {
    words: Words<W>,
    slots: Box<[Slot<T>]>,
}

// SAFETY: [slots.owner] values are moved in and out, by one thread at a time and never shared.
unsafe impl<T: Send, W: Widths> Send for Ring<T, W> {}

// SAFETY: [slots.owner] as for `Send`: no reference to a value is ever given out.
unsafe impl<T: Send, W: Widths> Sync for Ring<T, W> {}

impl<T, W: Widths> Ring<T, W> {
    /// An empty ring for that many messages.
    ///
    /// # Panics
    ///
    /// If it is none.
    /// # Panics
    ///
    /// With `MS0016` if the slots take more memory than the allocator has.
    #[track_caller]
    pub(crate) fn new(capacity: usize) -> Self {
        let shape = Shape::new(capacity);
        let slot = |index| Slot {
            stamp: AtomicU64::new(free(shape.first(index))),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        let mut slots = room::for_messages(capacity);
        slots.extend((0..capacity).map(slot));
        Self {
            words: Words::new(shape, Some(capacity)),
            slots: slots.into_boxed_slice(),
        }
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Words<W> {
        &self.words
    }

    #[inline(always)]
    fn slot(&self, position: Position) -> &Slot<T> {
        &self.slots[self.words.shape().index(position)]
    }

    /// Whether there is a free slot for one more message or permit, behind the permits.
    #[inline(always)]
    fn has_free_slot(&self, tail: Tail<W>, first: &Slot<T>) -> bool {
        if tail.held() == 0 {
            return first.is_free_for(tail.position());
        }
        // CLAIM: [slots.window] the window grows by this slot, or moves on to it.
        let last = self.words.shape().add(tail.position(), tail.held());
        self.slot(last).is_free_for(last)
    }

    /// Adds a message at the end.
    #[inline(always)]
    pub(crate) fn push(&self, value: T, turn: Turn) -> Push<T> {
        let tail = self.words.tail();
        let slot = self.slot(tail.position());
        if tail.is_plain()
            && slot.is_free_for(tail.position())
            && let Ok(claimed) = self.words.claim(tail)
        {
            slot.write(claimed.position, value);
            return Push::Done(claimed.told);
        }
        self.push_minding(value, turn)
    }

    /// As [`push`](Self::push), minding whatever there is to be minded.
    #[inline(never)]
    fn push_minding(&self, value: T, turn: Turn) -> Push<T> {
        let mut tail = self.words.tail();
        loop {
            match tail.refusal(turn) {
                None => {}
                Some(Refusal::Closed) => return Push::Closed(value),
                Some(Refusal::Queue) => return Push::Queue(value),
            }
            let slot = self.slot(tail.position());
            if !self.has_free_slot(tail, slot) {
                match self.words.room(tail) {
                    Room::Full => return Push::Full(value),
                    Room::Free => return Push::Busy(value),
                    Room::Changed(now) => tail = now,
                }
                continue;
            }
            match self.words.claim(tail) {
                Ok(claimed) => {
                    slot.write(claimed.position, value);
                    return Push::Done(claimed.told);
                }
                Err(now) => tail = now,
            }
        }
    }

    /// Holds room for one message.
    pub(crate) fn reserve(&self, turn: Turn) -> Reserve {
        let mut tail = self.words.tail();
        loop {
            match tail.refusal(turn) {
                None => {}
                Some(Refusal::Closed) => return Reserve::Closed,
                Some(Refusal::Queue) => return Reserve::Queue,
            }
            if Words::holds_all(tail) {
                return Reserve::Full;
            }
            if !self.has_free_slot(tail, self.slot(tail.position())) {
                match self.words.room(tail) {
                    Room::Full => return Reserve::Full,
                    Room::Free => return Reserve::Busy,
                    Room::Changed(now) => tail = now,
                }
                continue;
            }
            match self.words.hold(tail) {
                Ok(()) => return Reserve::Held,
                Err(now) => tail = now,
            }
        }
    }

    /// Whether the slots that permits stand for are free, though one was
    /// [overdrawn](Words::overdraw).
    pub(crate) fn is_covered(&self) -> bool {
        let tail = self.words.tail();
        // CLAIM: [slots.window] all but the last were free before, and nobody else adds to them.
        let last = tail.held().saturating_sub(1);
        let last = self.words.shape().add(tail.position(), last);
        self.slot(last).is_free_for(last)
    }

    /// Adds a message in exchange for a held permit, which is used up.
    ///
    /// # Errors
    ///
    /// The value, if no receiver is left.
    pub(crate) fn redeem(&self, value: T) -> Result<Told, T> {
        match self.words.redeem() {
            Redeem::Claimed(claimed) => {
                let slot = self.slot(claimed.position);
                slot.write(claimed.position, value);
                Ok(claimed.told)
            }
            Redeem::Gone => Err(value),
        }
    }

    /// Takes the oldest message.
    #[inline(always)]
    pub(crate) fn pop(&self) -> Pop<T> {
        let head = self.words.head();
        let slot = self.slot(head.position());
        if slot.holds(head.position())
            && let Ok(taken) = self.words.take(head)
        {
            let next = self.words.shape().lapped(taken.position);
            return Pop::Got(slot.read_out(next), taken.senders_wait);
        }
        self.pop_again()
    }

    /// As [`pop`](Self::pop), where the first look brought nothing.
    #[inline(never)]
    fn pop_again(&self) -> Pop<T> {
        let mut head = self.words.head();
        loop {
            let slot = self.slot(head.position());
            if slot.holds(head.position()) {
                match self.words.take(head) {
                    Ok(taken) => {
                        let next = self.words.shape().lapped(taken.position);
                        return Pop::Got(slot.read_out(next), taken.senders_wait);
                    }
                    Err(now) => head = now,
                }
                continue;
            }
            match self.words.vacancy(head) {
                Vacancy::Empty => return Pop::Empty,
                Vacancy::Closed => return Pop::Closed,
                Vacancy::Busy => return Pop::Busy,
                Vacancy::Changed(now) => head = now,
            }
        }
    }
}

impl<T, W: Widths> Drop for Ring<T, W> {
    fn drop(&mut self) {
        // CLAIM: [slots.dropped] each value leaves the ring before its destructor runs, and one
        // that panics does not keep the others.
        let mut steps = Steps::default();
        while let Pop::Got(value, _) = self.pop() {
            steps.run(|| drop(value));
        }
        steps.finish();
    }
}

impl<T, W: Widths> fmt::Debug for Ring<T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("words", &self.words).finish()
    }
}

#[cfg(test)]
mod tests;

//! The log of a broadcast channel: which messages are kept, who has seen what, and what a change
//! owes to others.
//!
//! Plain data: no lock, no waker, nobody's value dropped or cloned but the handle `V`, whose
//! `Clone` must not be code of a user's.
//!
//! ```text
//!              lost              kept (slots)             to come
//!   ─────────────────────────┬──────┬──────┬──────┐
//!                            │ at 1 │ at 0 │ at 2 │ end 3
//!   ─────────────────────────┴──────┴──────┴──────┘
//!                             oldest                head
//! ```
//!
//! A slot counts the receivers that stand *at* it: that have it as their next message. Nobody who
//! stands at a later slot needs an earlier one, so the slots that nobody needs are always a
//! stretch at the front, and a receiver that leaves changes one count, however far it was behind.
//!
//! # Invariants
//!
//! - **log.counts** — each receiver that is not cut is counted once, at the slot of its next
//!   message or at the end; one that was overtaken, at the oldest slot. Their sum is `receivers`.
//! - **log.room** — slots from the slowest waiting receiver on, permits and offers are together no
//!   more than the capacity: who has a permit finds room, whatever the others do.
//! - **log.front** — only the front is given up: what somebody needs and nobody holds back goes
//!   when its place is needed, what nobody needs is in the first `free` slots.
//! - **log.over** — closed is for good, and receivers are told when no permit is out any more.
//!
//! # Rejected
//!
//! A count in each slot of those who still need it: a receiver that leaves would visit every slot
//! in front of it. A table of receivers with a search for the slowest: a send would cost as much as
//! there are receivers. A close mark in a slot: with a capacity of one it would overwrite the only
//! message.

mod verdict;

pub(super) use self::verdict::{Owed, Refusal, Senders, Sent, Take};

use super::Slow;
use crate::room;
use std::collections::VecDeque;

/// A receiver's place. Positions wrap around: only differences to the head mean anything.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    next: u64,
    slow: Slow,
}

impl Cursor {
    /// What the receiver does when it is slow.
    pub(super) fn slow(&self) -> Slow {
        self.slow
    }
}

/// How many receivers of each policy stand somewhere.
#[derive(Clone, Copy, Debug, Default)]
struct Counts([usize; Slow::COUNT]);

impl Counts {
    fn of(&mut self, slow: Slow) -> &mut usize {
        &mut self.0[slow as usize]
    }

    fn take(&mut self, slow: Slow) -> usize {
        std::mem::take(self.of(slow))
    }

    fn is_zero(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }
}

#[derive(Debug)]
struct Slot<V> {
    value: V,
    at: Counts,
}

/// Where a receiver stands.
enum Place {
    /// It has seen everything.
    End,
    /// Before this slot.
    Slot(usize),
    /// Before the oldest slot, and this many messages were lost to it.
    Overtaken(u64),
    /// It was disconnected.
    Cut,
}

/// Who has gone to wait since the last change that concerned them. A set flag costs at most one
/// wake of nobody.
#[derive(Debug, Default)]
struct Waits {
    receivers: bool,
    senders: bool,
    watchers: bool,
}

/// The log.
#[derive(Debug)]
pub(super) struct Log<V> {
    slots: VecDeque<Slot<V>>,
    capacity: usize,
    /// The position of the next message.
    head: u64,
    /// Those who have seen everything.
    end: Counts,
    /// How many receivers there are, without those that were cut.
    receivers: usize,
    /// How many of them hold senders back when they are slow.
    holders: usize,
    /// How many slots at the front nobody needs.
    free: usize,
    /// How many slots at the back are needed by a receiver that holds senders back.
    pinned: usize,
    permits: usize,
    offers: usize,
    senders: usize,
    closed: bool,
    waits: Waits,
}

impl<V: Clone> Log<V> {
    /// An empty log with one sender and no receiver, whose first message has position `head`.
    /// # Panics
    ///
    /// With `MS0016` if the slots take more memory than the allocator has.
    #[track_caller]
    pub(super) fn new(capacity: usize, head: u64) -> Self {
        Self {
            slots: VecDeque::from(room::for_messages(capacity)),
            capacity,
            head,
            end: Counts::default(),
            receivers: 0,
            holders: 0,
            free: 0,
            pinned: 0,
            permits: 0,
            offers: 0,
            senders: 1,
            closed: false,
            waits: Waits::default(),
        }
    }

    /// A new receiver, which gets what is sent from now on.
    pub(super) fn subscribe(&mut self, slow: Slow) -> Cursor {
        let cursor = Cursor {
            next: self.head,
            slow,
        };
        self.enter(&cursor);
        cursor
    }

    /// Another receiver at the same place; one that was cut, if the first one is.
    pub(super) fn copy(&mut self, cursor: &Cursor) -> Cursor {
        self.enter(cursor);
        cursor.clone()
    }

    /// The next thing that a receiver is to learn.
    pub(super) fn take(&mut self, cursor: &mut Cursor) -> (Take<V>, Owed) {
        let index = match self.place(cursor) {
            Place::Cut => return (Take::Cut, Owed::default()),
            Place::End if self.is_over() => return (Take::Closed, Owed::default()),
            Place::End => return (Take::Empty, Owed::default()),
            Place::Overtaken(lost) => {
                cursor.next = cursor.next.wrapping_add(lost);
                return (Take::Lagged(lost), Owed::default());
            }
            Place::Slot(index) => index,
        };
        // CLAIM: [log.counts] from the slot of its next message to that of the one after.
        *self.slots[index].at.of(cursor.slow) -= 1;
        *self.counts(index + 1).of(cursor.slow) += 1;
        let after = self.slots.len() - index - 1;
        cursor.next = self.head.wrapping_sub(after as u64);
        self.unpin();
        let value = if index == 0 && self.slots[0].at.is_zero() {
            // The last one to see it has it to itself.
            let slot = self.slots.pop_front().expect("log.front: it was just read");
            slot.value
        } else {
            self.slots[index].value.clone()
        };
        self.find_free();
        (Take::Got(value), self.owed(false))
    }

    /// A receiver leaves.
    pub(super) fn leave(&mut self, cursor: &Cursor) -> Owed {
        let Some(index) = self.index(cursor) else {
            return Owed::default();
        };
        *self.counts(index).of(cursor.slow) -= 1;
        self.receivers -= 1;
        if cursor.slow == Slow::Wait {
            self.holders -= 1;
        }
        self.unpin();
        self.find_free();
        self.owed(false)
    }

    /// Adds a message, unless it would take what is claimed or hold up who waits.
    pub(super) fn send(&mut self, value: V) -> (Sent<V>, Owed) {
        let why = match self.refusal() {
            None if self.waits.senders || self.room() == 0 => Refusal::Full,
            None => return self.push(value),
            Some(why) => why,
        };
        let refused = Sent::Refused {
            back: value,
            why,
            gone: None,
        };
        (refused, Owed::default())
    }

    /// Adds a message for a permit, which is used up.
    pub(super) fn send_claimed(&mut self, value: V) -> (Sent<V>, Owed) {
        debug_assert!(self.permits > 0, "log.room: a permit that was not counted");
        self.permits -= 1;
        if self.receivers == 0 {
            let refused = Sent::Refused {
                back: value,
                why: Refusal::NoReceivers,
                gone: None,
            };
            return (refused, self.owed(false));
        }
        self.push(value)
    }

    /// Takes a permit, for somebody whose turn it is: `Full` if there is no room.
    pub(super) fn claim(&mut self) -> Result<(), Refusal> {
        match self.refusal() {
            Some(why) => Err(why),
            None if self.room() == 0 => Err(Refusal::Full),
            None => {
                self.permits += 1;
                Ok(())
            }
        }
    }

    /// Takes a permit, for somebody who comes by and has no claim to be served before others.
    pub(super) fn claim_in_passing(&mut self) -> Result<(), Refusal> {
        if self.waits.senders && self.refusal().is_none() {
            return Err(Refusal::Full);
        }
        self.claim()
    }

    /// Sets room aside for a sender that waits. `false`: there is none.
    pub(super) fn offer(&mut self) -> bool {
        let has_room = !self.closed && self.room() > 0;
        self.offers += usize::from(has_room);
        has_room
    }

    /// Takes an offer back.
    pub(super) fn withdraw(&mut self) {
        debug_assert!(self.offers > 0, "log.room: an offer that was not counted");
        self.offers -= 1;
    }

    /// Turns an offer into a permit. A channel that was closed since has voided it: receivers wait
    /// for permits, not for offers, which nobody may ever look at.
    pub(super) fn claim_offered(&mut self) -> Result<(), Refusal> {
        self.withdraw();
        self.claim()
    }

    /// Gives a permit back.
    pub(super) fn unclaim(&mut self) -> Owed {
        debug_assert!(self.permits > 0, "log.room: a permit that was not counted");
        self.permits -= 1;
        self.owed(false)
    }

    /// Closes the channel, for good.
    pub(super) fn close(&mut self) -> Owed {
        self.closed = true;
        self.owed(false)
    }

    /// Counts another sender.
    pub(super) fn add_sender(&mut self) {
        self.senders += 1;
    }

    /// A sender leaves; the last one closes the channel.
    pub(super) fn remove_sender(&mut self) -> Owed {
        self.senders -= 1;
        match self.senders {
            0 => self.close(),
            _ => Owed::default(),
        }
    }

    /// Takes out a message that nobody needs any more.
    pub(super) fn collect(&mut self) -> Option<V> {
        self.free = self.free.checked_sub(1)?;
        Some(self.slots.pop_front()?.value)
    }

    /// Why nothing can be sent, whatever room there is.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        if self.closed {
            Some(Refusal::Closed)
        } else if self.receivers == 0 {
            Some(Refusal::NoReceivers)
        } else {
            None
        }
    }

    /// How many messages are kept that somebody needs.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free
    }

    /// How many messages this receiver can take without waiting.
    pub(super) fn unread(&self, cursor: &Cursor) -> usize {
        self.index(cursor).map_or(0, |at| self.slots.len() - at)
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn receivers(&self) -> usize {
        self.receivers
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Says that a receiver has looked in vain and waits.
    pub(super) fn note_receiver_waits(&mut self) {
        self.waits.receivers = true;
    }

    /// Says that somebody waits for the end of interest.
    pub(super) fn note_watcher_waits(&mut self) {
        self.waits.watchers = true;
    }

    /// Says whether senders wait for room.
    pub(super) fn note_senders_wait(&mut self, wait: bool) {
        self.waits.senders = wait;
    }

    fn push(&mut self, value: V) -> (Sent<V>, Owed) {
        // Whoever wants the newest only has no use for what was that until now.
        let newest = self.slots.back_mut();
        let newest = newest.map_or(0, |slot| slot.at.take(Slow::Latest));
        let mut gone = None;
        let mut overtaken = 0;
        if self.slots.len() == self.capacity {
            debug_assert!(
                self.pinned < self.capacity,
                "log.room: no permit, and yet a push"
            );
            if let Some(mut slot) = self.slots.pop_front() {
                debug_assert_eq!(*slot.at.of(Slow::Wait), 0, "log.room: it was held");
                self.receivers -= slot.at.take(Slow::Disconnect);
                overtaken = slot.at.take(Slow::Lag);
                gone = Some(slot.value);
            }
            self.free = self.free.saturating_sub(1);
        }
        if self.receivers == 0 {
            // The last ones were cut for this message, which nobody is left to see.
            self.find_free();
            let refused = Sent::Refused {
                back: value,
                why: Refusal::NoReceivers,
                gone,
            };
            return (refused, self.owed(false));
        }
        let mut at = std::mem::take(&mut self.end);
        *at.of(Slow::Latest) += newest;
        self.slots.push_back(Slot { value, at });
        *self.slots[0].at.of(Slow::Lag) += overtaken;
        self.head = self.head.wrapping_add(1);
        self.pinned += usize::from(self.holders > 0);
        self.find_free();
        (Sent::Kept(gone), self.owed(true))
    }

    /// Counts a receiver where its cursor stands.
    fn enter(&mut self, cursor: &Cursor) {
        let Some(index) = self.index(cursor) else {
            return;
        };
        *self.counts(index).of(cursor.slow) += 1;
        self.receivers += 1;
        if cursor.slow == Slow::Wait {
            self.holders += 1;
        }
    }

    /// The counts of those who stand before the slot of this index, which may be the end.
    fn counts(&mut self, index: usize) -> &mut Counts {
        match self.slots.get_mut(index) {
            Some(slot) => &mut slot.at,
            None => &mut self.end,
        }
    }

    /// The index of the slot where a receiver is counted; `None` if it was cut.
    fn index(&self, cursor: &Cursor) -> Option<usize> {
        match self.place(cursor) {
            Place::End => Some(self.slots.len()),
            Place::Slot(index) => Some(index),
            Place::Overtaken(_) => Some(0),
            Place::Cut => None,
        }
    }

    fn place(&self, cursor: &Cursor) -> Place {
        let kept = self.slots.len() as u64;
        let behind = self.head.wrapping_sub(cursor.next);
        if behind == 0 {
            return Place::End;
        }
        match cursor.slow {
            Slow::Latest => Place::Slot(self.slots.len() - 1),
            // The difference is less than the number of slots.
            _ if behind <= kept => Place::Slot((kept - behind) as usize),
            Slow::Disconnect => Place::Cut,
            Slow::Lag | Slow::Wait => {
                debug_assert_eq!(cursor.slow, Slow::Lag, "log.room: overtaken, but held");
                Place::Overtaken(behind - kept)
            }
        }
    }

    /// Lets go of the slots that no receiver holds back any more.
    fn unpin(&mut self) {
        while self.pinned > 0 {
            let index = self.slots.len() - self.pinned;
            if *self.slots[index].at.of(Slow::Wait) > 0 {
                break;
            }
            self.pinned -= 1;
        }
    }

    /// Counts the slots at the front that nobody needs.
    fn find_free(&mut self) {
        // CLAIM: [log.front] none behind the first needed one is without need.
        let needless = |slot: &Slot<V>| slot.at.is_zero();
        while self.slots.get(self.free).is_some_and(needless) {
            self.free += 1;
        }
    }

    fn room(&self) -> usize {
        let taken = self.pinned + self.permits + self.offers;
        debug_assert!(taken <= self.capacity, "log.room: more than there is");
        self.capacity - taken
    }

    /// Whether receivers that have seen everything are told so.
    fn is_over(&self) -> bool {
        // CLAIM: [log.over] offers do not count: nobody may ever look at them.
        self.closed && self.permits == 0
    }

    /// What is owed after a change.
    fn owed(&mut self, is_news: bool) -> Owed {
        let is_refused = self.refusal().is_some();
        let senders = match self.waits.senders {
            true if is_refused => Senders::Release,
            true if self.room() > 0 => Senders::Serve,
            _ => Senders::Leave,
        };
        let tell = is_news || self.is_over();
        Owed {
            receivers: tell && std::mem::take(&mut self.waits.receivers),
            senders,
            watchers: is_refused && std::mem::take(&mut self.waits.watchers),
            garbage: self.free > 0,
        }
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

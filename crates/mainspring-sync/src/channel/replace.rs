//! Sending in the place of the oldest message.
//!
//! # Rejected
//!
//! Take the oldest message, then push: between the two the channel may be closed, and two messages
//! are in hand of which one was sent. Here a permit comes first, one more than there is room for,
//! which keeps the channel from ending until the message is in.

use super::ring::{Pop, Push};
use super::shared::{Room, Shared};
use super::words::{Freed, Reserve, Told, Turn};
use mainspring_core::sync::thread;
use mainspring_core::wait_list::Queue;

impl<T> Shared<T> {
    /// Sends although there is no room, in the place of the oldest message.
    pub(crate) fn push_over(&self, mut value: T) -> Result<Option<T>, Push<T>> {
        loop {
            let outcome = self.senders.with(|queue| {
                // From here no newcomer gets in: what a pop frees is ours.
                let _ = self.words().sender_parks();
                let outcome = self.replace(queue, value);
                self.forget_if_none(queue);
                outcome
            });
            self.tell(outcome.told);
            match outcome.refused {
                None => return Ok(outcome.replaced),
                Some(Push::Busy(back)) => value = back,
                Some(refused) => return Err(refused),
            }
            thread::yield_now();
        }
    }

    /// Under the senders' lock, with the note that senders wait in both words.
    fn replace(&self, queue: &mut Queue<'_, Room>, value: T) -> Replaced<T> {
        let value = match self.store.push(value, Turn::Queued) {
            Push::Done(told) => return Replaced::done(told, None),
            Push::Full(value) => value,
            refused => return Replaced::refused(refused),
        };
        // A permit beyond the capacity first: a close that comes now is after this message.
        match self.store.overdraw() {
            Reserve::Held => {}
            Reserve::Closed => return Replaced::refused(Push::Closed(value)),
            _ => return Replaced::refused(Push::Full(value)),
        }
        let oldest = match self.store.pop() {
            Pop::Got(oldest, _) => Some(oldest),
            Pop::Busy => return self.undo(Push::Busy(value)),
            Pop::Empty | Pop::Closed if self.words().is_overdrawn() => {
                if !queue.take_back() {
                    return self.undo(Push::Full(value));
                }
                // CLAIM: [channel.room] granted to a sender that has not come for it, which waits
                // again. That permit is ours, in the place of the one too many.
                let Freed { told, .. } = self.store.release();
                debug_assert_eq!(
                    told,
                    Told::Nobody,
                    "channel.room: ours keeps it from ending"
                );
                None
            }
            Pop::Empty | Pop::Closed => None,
        };
        while !self.store.is_covered() {
            // A receiver that took an older message has not read it out.
            thread::yield_now();
        }
        match self.store.redeem(value) {
            Ok(told) => Replaced::done(told, oldest),
            Err(value) => Replaced {
                refused: Some(Push::Closed(value)),
                told: Told::Nobody,
                // To be dropped with the lock released, as the last receiver would have.
                replaced: oldest,
            },
        }
    }

    fn undo(&self, refused: Push<T>) -> Replaced<T> {
        Replaced {
            refused: Some(refused),
            // Nobody but the caller may take the room back: it was none.
            told: self.store.release().told,
            replaced: None,
        }
    }
}

/// What became of a message that may replace the oldest one.
struct Replaced<T> {
    refused: Option<Push<T>>,
    told: Told,
    replaced: Option<T>,
}

impl<T> Replaced<T> {
    fn done(told: Told, replaced: Option<T>) -> Self {
        Self {
            refused: None,
            told,
            replaced,
        }
    }

    fn refused(refused: Push<T>) -> Self {
        Self {
            refused: Some(refused),
            told: Told::Nobody,
            replaced: None,
        }
    }
}

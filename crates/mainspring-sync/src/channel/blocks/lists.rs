//! The blocks that are not in use, and those that may still be: what the lock guards.

use super::block::{Block, Owned, Row};
use std::ptr::NonNull;

/// How many blocks are kept for the laps to come.
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const SPARES_MOST: usize = 2;

#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const SPARES_MOST: usize = 1;

/// What the lock guards.
pub(super) struct Lists<T> {
    spares: [Option<Owned<T>>; SPARES_MOST],
    /// Blocks whose laps have ended and in which somebody may still be at work.
    ended: Row<T>,
}

// SAFETY: [blocks.owner] blocks whose laps have ended are handed about, not their values.
unsafe impl<T: Send> Send for Lists<T> {}

impl<T> Lists<T> {
    pub(super) fn new() -> Self {
        Self {
            spares: [const { None }; SPARES_MOST],
            ended: Row::new(),
        }
    }

    pub(super) fn spare(&mut self) -> Option<Owned<T>> {
        self.spares.iter_mut().find_map(Option::take)
    }

    /// Keeps a block that is like new; if there are spares enough it comes back, to be freed with
    /// the lock released.
    #[must_use]
    // CLAIM: [blocks.few] what finds no place is freed.
    pub(super) fn keep(&mut self, block: Owned<T>) -> Option<Owned<T>> {
        match self.spares.iter_mut().find(|spare| spare.is_none()) {
            Some(place) => {
                *place = Some(block);
                None
            }
            None => Some(block),
        }
    }

    /// Takes in the block of a lap that has ended, and gives out those to be freed, with the lock
    /// released, that nobody uses and that are not kept.
    ///
    /// # Safety
    ///
    /// No pop enters the block any more, those inside are counted or have a message of it to read
    /// out, and it is ended once.
    pub(super) unsafe fn end(&mut self, block: NonNull<Block<T>>) -> Surplus<T> {
        // SAFETY: [blocks.freed] what ends lives until it is found spent, here alone.
        unsafe { self.ended.add(block) };
        let mut before = self.ended.take_all();
        let mut surplus = Surplus(Row::new());
        while let Some(block) = before.take() {
            // SAFETY: [blocks.freed] as above.
            if !unsafe { block.as_ref() }.is_spent() {
                // SAFETY: [blocks.freed] as above; it was taken out of the row before.
                unsafe { self.ended.add(block) };
                continue;
            }
            // SAFETY: [blocks.freed] it is spent: no value is in it, and those who were to leave
            // it have left; nobody can come, as its lap has ended.
            let block = unsafe { Owned::new(block) };
            if let Some(block) = self.keep(block.renewed()) {
                // SAFETY: [blocks.freed] it lives until the surplus is dropped, and was in no row.
                unsafe { surplus.0.add(block.into_raw()) };
            }
        }
        surplus
    }
}

impl<T> Drop for Lists<T> {
    fn drop(&mut self) {
        // Nobody pops any more: what has ended is spent.
        drop(Surplus(self.ended.take_all()));
    }
}

/// Blocks to be freed.
#[must_use = "it is to be dropped with the lock released"]
pub(super) struct Surplus<T>(Row<T>);

impl<T> Drop for Surplus<T> {
    fn drop(&mut self) {
        while let Some(block) = self.0.take() {
            // SAFETY: [blocks.freed] a surplus holds blocks that are spent.
            drop(unsafe { Owned::new(block) });
        }
    }
}

#[cfg(test)]
mod count;

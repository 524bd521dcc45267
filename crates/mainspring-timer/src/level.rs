//! One level of the wheel: an occupancy map of 256 bits and the first entry of each slot.
//!
//! A slot's entries form a ring through the links that the [`Store`](crate::Store) keeps, so one
//! word a slot reaches both ends. The map finds the next slot by counting zeros, without ticking
//! through the empty ones.

use crate::geometry::SLOTS;

const WORDS: usize = SLOTS / u64::BITS as usize;

/// 256 slots.
pub(crate) struct Level<Id> {
    /// Bit `n` is set exactly while slot `n` is not empty.
    occupied: [u64; WORDS],
    first: [Option<Id>; SLOTS],
}

impl<Id: Copy> Level<Id> {
    pub(crate) fn new() -> Self {
        Self {
            occupied: [0; WORDS],
            first: [None; SLOTS],
        }
    }

    /// The entry at the head of `slot`.
    #[inline]
    pub(crate) fn first(&self, slot: u8) -> Option<Id> {
        self.first[usize::from(slot)]
    }

    /// Makes `id` the head of `slot`; `None` leaves it empty.
    #[inline]
    pub(crate) fn set_first(&mut self, slot: u8, id: Option<Id>) {
        let word = &mut self.occupied[usize::from(slot / 64)];
        let bit = 1 << (slot % 64);
        *word = if id.is_some() {
            *word | bit
        } else {
            *word & !bit
        };
        self.first[usize::from(slot)] = id;
    }

    /// The lowest slot that is not empty.
    #[inline]
    pub(crate) fn lowest(&self) -> Option<u8> {
        let word = self.occupied.iter().position(|&word| word != 0)?;
        Some((word as u32 * u64::BITS + self.occupied[word].trailing_zeros()) as u8)
    }
}

#[cfg(test)]
mod tests;

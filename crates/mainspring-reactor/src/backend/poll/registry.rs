//! Which source an event belongs to: tokens with a generation.
//!
//! # Invariants
//!
//! - **registry.generation** — a token finds the source that it was made for or nothing: its slot's
//!   generation moves on when the source leaves.
//! - **registry.no-leak** — a slot is free again when its source leaves; a registration that fails
//!   leaves at once.
//!
//! # Rejected
//!
//! The source's address as the token: an event that the kernel already holds would then keep the
//! memory from being freed until the turn's end, and an address that is used again is the
//! descriptor number's mistake once more.

use mio::Token;

/// How many bits of a token say which slot; the others are its generation.
const SLOT_BITS: u32 = if usize::BITS == 64 { 32 } else { 20 };
const SLOT_MAX: usize = (1 << SLOT_BITS) - 3;
const GENERATION_MASK: usize = usize::MAX >> SLOT_BITS;

/// The token of the poll's own waker: its slot is above the largest.
pub(crate) const WAKER: Token = Token(usize::MAX);
/// The token of the poll's own alarm.
pub(crate) const ALARM: Token = Token(usize::MAX - 1);

/// Slots for values that tokens lead to.
#[derive(Debug)]
pub(crate) struct Registry<T> {
    slots: Vec<Slot<T>>,
    /// The free slot that is used next; each free slot names the one after it.
    free: Option<usize>,
    len: usize,
}

#[derive(Debug)]
struct Slot<T> {
    generation: usize,
    content: Content<T>,
}

#[derive(Debug)]
enum Content<T> {
    Free(Option<usize>),
    Taken(T),
}

/// Every slot is taken; the value comes back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full<T>(pub(crate) T);

impl<T> Registry<T> {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: None,
            len: 0,
        }
    }

    /// Takes a value in. O(1), allocating when the slots double.
    pub(crate) fn insert(&mut self, value: T) -> Result<Token, Full<T>> {
        let index = match self.free {
            Some(index) => index,
            None if self.slots.len() > SLOT_MAX => return Err(Full(value)),
            None => {
                self.slots.push(Slot {
                    generation: 0,
                    content: Content::Free(None),
                });
                self.slots.len() - 1
            }
        };
        let slot = &mut self.slots[index];
        match std::mem::replace(&mut slot.content, Content::Taken(value)) {
            Content::Free(next) => self.free = next,
            Content::Taken(_) => unreachable!("registry.no-leak: a taken slot was free"),
        }
        self.len += 1;
        Ok(Token(slot.generation << SLOT_BITS | index))
    }

    /// What the token leads to, if it is still there.
    pub(crate) fn find(&self, token: Token) -> Option<&T> {
        let slot = self.slots.get(index_of(token))?;
        match &slot.content {
            Content::Taken(value) if slot.generation == generation_of(token) => Some(value),
            _ => None,
        }
    }

    /// Takes a value out; its token finds nothing from here on. O(1).
    pub(crate) fn remove(&mut self, token: Token) -> Option<T> {
        // CLAIM: [registry.generation] a token of an earlier generation is not found.
        self.find(token)?;
        let index = index_of(token);
        let slot = &mut self.slots[index];
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        self.len -= 1;
        match std::mem::replace(&mut slot.content, Content::Free(self.free)) {
            Content::Taken(value) => {
                self.free = Some(index);
                Some(value)
            }
            Content::Free(_) => unreachable!("registry.no-leak: a free slot was found"),
        }
    }

    /// How many values are in.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Takes every value out.
    pub(crate) fn drain(&mut self) -> Vec<T> {
        self.len = 0;
        self.free = None;
        let slots = std::mem::take(&mut self.slots);
        slots
            .into_iter()
            .filter_map(|slot| match slot.content {
                Content::Taken(value) => Some(value),
                Content::Free(_) => None,
            })
            .collect()
    }
}

fn index_of(token: Token) -> usize {
    token.0 & ((1 << SLOT_BITS) - 1)
}

fn generation_of(token: Token) -> usize {
    token.0 >> SLOT_BITS
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

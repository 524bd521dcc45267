//! An indexed min-heap: what is due first, with removal and change of any entry.
//!
//! Keyed by `(deadline, sequence)`: entries with equal deadlines come out in the order in which
//! they were inserted. The timing wheel is cheaper for many timers that are mostly cancelled; the
//! heap is exact, small, and returns its memory.
//!
//! # Invariants
//!
//! - **heap.order** — no entry is before its parent in `(deadline, sequence)`.
//! - **heap.index** — the slot that an entry names holds the entry's place in the array, and the
//!   entry's identity; every other slot is free.
//! - **heap.handle** — an identity is given out once in the heap's life, so a handle never means
//!   another entry than the one it was made for.
//! - **heap.shrink** — after a removal, the array of entries has room for no more than four times
//!   what it holds, or for [`KEPT`].
//!
//! # Rejected
//!
//! A heap without a tie-breaker, which serves equal deadlines in any order. Lazy deletion (mark,
//! and skip when it surfaces), with which a server that arms and cancels a timer for each request
//! grows without bound. Generations counted per slot: they forbid to give slots back.

use crate::time::Nanos;
use std::fmt;

/// How many elements the arrays keep room for, however few are left.
pub const KEPT: usize = 64;

/// Which entry of a [`Heap`], for as long as it is there.
///
/// A handle whose entry was popped or removed means nothing, for ever. One of another heap may mean
/// an entry of this one: keep them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    slot: u32,
    identity: u64,
}

struct Entry<T> {
    deadline: Nanos,
    sequence: u64,
    slot: u32,
    value: T,
}

impl<T> Entry<T> {
    fn key(&self) -> (Nanos, u64) {
        (self.deadline, self.sequence)
    }
}

#[derive(Clone, Copy)]
enum Slot {
    Taken { place: u32, identity: u64 },
    Free { next: Option<u32> },
}

/// A priority queue by deadline, with handles.
///
/// Use it for a moderate number of deadlines that must be exact, or where what is cancelled has to
/// be gone at once. For hundreds of thousands of timeouts that hardly ever fire, use the wheel.
///
/// # Complexity
///
/// `peek` is O(1); `insert`, `pop`, `remove` and `update` are O(log n) and allocate only when an
/// array grows. Memory follows use down as well: an array with room for more than four times what
/// it holds is halved (see [`KEPT`]). The table of slots ends at the highest slot in use: one old
/// entry there keeps it, at 16 bytes a slot.
///
/// ```
/// use mainspring_core::heap::Heap;
/// use mainspring_core::time::Nanos;
///
/// let mut heap = Heap::new();
/// let slow = heap.insert(Nanos(90), "slow");
/// heap.insert(Nanos(20), "first");
/// heap.insert(Nanos(20), "second");
/// assert_eq!(heap.remove(slow), Some("slow"));
/// assert_eq!(heap.remove(slow), None);
/// assert_eq!(heap.pop_due(Nanos(20)), Some((Nanos(20), "first")));
/// assert_eq!(heap.pop_due(Nanos(20)), Some((Nanos(20), "second")));
/// assert_eq!(heap.pop_due(Nanos(20)), None);
/// ```
pub struct Heap<T> {
    entries: Vec<Entry<T>>,
    slots: Vec<Slot>,
    free: Option<u32>,
    /// Counts insertions and updates: the next identity, and the next sequence.
    count: u64,
    /// Removals until the table of slots is looked at again.
    patience: usize,
}

impl<T> Heap<T> {
    /// An empty heap, which allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
            slots: Vec::new(),
            free: None,
            count: 0,
            patience: 0,
        }
    }

    /// How many entries there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries there is room for without allocating.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.entries.capacity().min(self.slots.capacity())
    }

    /// Adds an entry, after those with the same deadline.
    ///
    /// # Panics
    ///
    /// If there are 2³² entries.
    pub fn insert(&mut self, deadline: Nanos, value: T) -> Handle {
        let place = u32::try_from(self.entries.len()).expect("fewer than 2^32 entries");
        let identity = self.count;
        self.count += 1;
        let slot = self.take_slot(place, identity);
        self.entries.push(Entry {
            deadline,
            sequence: identity,
            slot,
            value,
        });
        debug_assert!(identity < self.count, "heap.handle: identities ran out");
        self.sift_up(place as usize);
        Handle { slot, identity }
    }

    /// The entry that is due first.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<(Nanos, &T)> {
        let first = self.entries.first()?;
        Some((first.deadline, &first.value))
    }

    /// Takes the entry that is due first.
    pub fn pop(&mut self) -> Option<(Nanos, T)> {
        if self.entries.is_empty() {
            return None;
        }
        Some(self.take(0))
    }

    /// Takes the entry that is due first if its deadline has come.
    pub fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        let (deadline, _) = self.peek()?;
        if deadline > now {
            return None;
        }
        self.pop()
    }

    /// Takes an entry out, wherever it stands. `None` if it is no longer there.
    pub fn remove(&mut self, handle: Handle) -> Option<T> {
        let place = self.place(handle)?;
        Some(self.take(place).1)
    }

    /// Moves an entry to another deadline, after those that have it already. The handle stays
    /// valid. `false` if the entry is no longer there.
    #[must_use = "`false` means that the entry is gone"]
    pub fn update(&mut self, handle: Handle, deadline: Nanos) -> bool {
        let Some(place) = self.place(handle) else {
            return false;
        };
        let sequence = self.count;
        self.count += 1;
        let entry = &mut self.entries[place];
        entry.deadline = deadline;
        entry.sequence = sequence;
        let place = self.sift_up(place);
        self.sift_down(place);
        true
    }

    /// The deadline of an entry, if it is still there.
    #[must_use]
    pub fn deadline(&self, handle: Handle) -> Option<Nanos> {
        Some(self.entries[self.place(handle)?].deadline)
    }

    /// The value of an entry, if it is still there.
    #[must_use]
    pub fn value(&self, handle: Handle) -> Option<&T> {
        Some(&self.entries[self.place(handle)?].value)
    }

    /// The value of an entry, if it is still there, to be changed.
    pub fn value_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let place = self.place(handle)?;
        Some(&mut self.entries[place].value)
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Nanos, &T)> {
        self.entries
            .iter()
            .map(|entry| (entry.deadline, &entry.value))
    }

    fn place(&self, handle: Handle) -> Option<usize> {
        match self.slots.get(handle.slot as usize)? {
            Slot::Taken { place, identity } if *identity == handle.identity => {
                debug_assert_eq!(
                    self.entries[*place as usize].slot, handle.slot,
                    "heap.index: the entry names another slot"
                );
                Some(*place as usize)
            }
            _ => None,
        }
    }

    fn take_slot(&mut self, place: u32, identity: u64) -> u32 {
        let taken = Slot::Taken { place, identity };
        let Some(slot) = self.free else {
            let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 slots");
            self.slots.push(taken);
            return slot;
        };
        match std::mem::replace(&mut self.slots[slot as usize], taken) {
            Slot::Free { next } => self.free = next,
            Slot::Taken { .. } => unreachable!("heap.index: a taken slot on the free list"),
        }
        slot
    }

    /// Takes the entry at `place` out and mends the order.
    fn take(&mut self, place: usize) -> (Nanos, T) {
        let entry = self.entries.swap_remove(place);
        self.slots[entry.slot as usize] = Slot::Free { next: self.free };
        self.free = Some(entry.slot);
        if place < self.entries.len() {
            self.note_place(place);
            let place = self.sift_up(place);
            self.sift_down(place);
        }
        self.shrink();
        debug_assert!(
            place != 0 || self.peek().is_none_or(|(next, _)| entry.deadline <= next),
            "heap.order: the first was not first"
        );
        (entry.deadline, entry.value)
    }

    /// Writes where the entry at `place` stands into its slot.
    fn note_place(&mut self, place: usize) {
        let slot = self.entries[place].slot as usize;
        match &mut self.slots[slot] {
            Slot::Taken { place: noted, .. } => *noted = place as u32,
            Slot::Free { .. } => unreachable!("heap.index: an entry with a free slot"),
        }
    }

    fn sift_up(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.entries[parent].key() <= self.entries[place].key() {
                break;
            }
            self.swap(parent, place);
            place = parent;
        }
        place
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            if left >= self.entries.len() {
                return;
            }
            let right = left + 1;
            let right_is_first =
                right < self.entries.len() && self.entries[right].key() < self.entries[left].key();
            let child = if right_is_first { right } else { left };
            if self.entries[place].key() <= self.entries[child].key() {
                return;
            }
            self.swap(place, child);
            place = child;
        }
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.entries.swap(one, other);
        self.note_place(one);
        self.note_place(other);
    }

    /// Gives memory back after a burst, in amortised constant time.
    fn shrink(&mut self) {
        let len = self.entries.len();
        if self.entries.capacity() > KEPT.max(4 * len) {
            self.entries.shrink_to(KEPT.max(2 * len));
        }
        debug_assert!(
            self.entries.capacity() <= KEPT.max(4 * len),
            "heap.shrink: the array kept its room"
        );
        self.patience = self.patience.saturating_sub(1);
        if self.patience == 0 && self.slots.len() > KEPT.max(4 * len) {
            self.shrink_slots();
        }
    }

    /// Cuts the free slots at the end of the table off, if they are at least half of it. One old
    /// entry further up keeps the table: the next look then waits until as many removals as this
    /// one looked at slots have paid for it.
    fn shrink_slots(&mut self) {
        let is_taken = |slot: &Slot| matches!(slot, Slot::Taken { .. });
        let used = self.slots.iter().rposition(is_taken).map_or(0, |at| at + 1);
        if used > self.slots.len() / 2 {
            self.patience = self.slots.len() - used;
            return;
        }
        self.slots.truncate(used);
        self.slots.shrink_to(KEPT.max(2 * used));
        self.free = None;
        for at in (0..used).rev() {
            if let Slot::Free { next } = &mut self.slots[at] {
                *next = self.free;
                self.free = Some(at as u32);
            }
        }
    }
}

impl<T> Default for Heap<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Heap<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap")
            .field("len", &self.len())
            .field("next", &self.peek().map(|(deadline, _)| deadline))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

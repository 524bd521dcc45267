//! The gate of the lap that is being read, and who is inside.

use super::block::Block;
use super::{Blocks, SLOTS};
use crate::channel::shape::Widths;
use mainspring_core::sync::atomic::{
    AtomicPtr, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::ptr::{NonNull, null_mut};

/// Bits of the number of pops inside: one for each slot, and as many as there are threads.
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const INSIDE_BITS: u32 = 24;

/// There are more laps of smaller blocks.
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const INSIDE_BITS: u32 = 20;

const INSIDE_MOST: u64 = (1 << INSIDE_BITS) - 1;

#[inline(always)]
fn lap_of(gate: u64) -> u64 {
    gate >> INSIDE_BITS
}

#[inline(always)]
fn inside(gate: u64) -> u64 {
    gate & INSIDE_MOST
}

/// What pops look at.
#[repr(align(128))]
pub(super) struct Front<T> {
    /// The lap that is being read, and how many pops are inside. Exchanged by everybody; the lap
    /// under the lock alone.
    gate: AtomicU64,
    /// The lap's block, at the lap's parity: the other place is free to be set before the gate
    /// moves. Set under the lock.
    blocks: [AtomicPtr<Block<T>>; 2],
}

impl<T> Front<T> {
    pub(super) fn new() -> Self {
        Self {
            gate: AtomicU64::new(0),
            blocks: std::array::from_fn(|_| AtomicPtr::new(null_mut())),
        }
    }

    #[inline(always)]
    fn place(&self, lap: u64) -> &AtomicPtr<Block<T>> {
        &self.blocks[(lap % 2) as usize]
    }

    /// Says which block is that of a lap that the gate is at, or is about to move to. Under the
    /// lock.
    pub(super) fn set(&self, lap: u64, block: NonNull<Block<T>>) {
        // ORDERING: [blocks.gate] Release, pairs with the second load in `enter`: the block is
        // made, and the gate has left the lap two before. Relaxed would let a pop enter that lap
        // with this block.
        self.place(lap).store(block.as_ptr(), Release);
    }

    /// The block that is being read. Nobody else uses the storage.
    pub(super) fn current(&self) -> Option<NonNull<Block<T>>> {
        let lap = lap_of(self.gate.load(Relaxed));
        NonNull::new(self.place(lap).load(Relaxed))
    }
}

impl<T, W: Widths> Blocks<T, W> {
    /// Enters the lap that is being read; `None`: there is no block yet.
    #[inline(always)]
    pub(super) fn enter(&self) -> Option<Pin<'_, T, W>> {
        const {
            assert!(
                W::POSITION - SLOTS.trailing_zeros() + INSIDE_BITS <= u64::BITS,
                "the gate holds a lap and a count"
            );
        }
        loop {
            // ORDERING: [blocks.gate] Acquire, pairs with the exchange in `move_on`: the place was
            // set, and the head is seen to have come to this lap. Relaxed would find the block of
            // two laps before, long freed, or a head in the lap before, which would never be here.
            let gate = self.front.gate.load(Acquire);
            let lap = lap_of(gate);
            // ORDERING: [blocks.gate] Acquire, pairs with the store in `set`: the block is made;
            // and if it is that of a later lap, the gate is seen to have moved, so that the
            // exchange fails. Relaxed would let a pop look at a block that it is not counted in.
            let block = NonNull::new(self.front.place(lap).load(Acquire))?;
            debug_assert!(inside(gate) < INSIDE_MOST, "blocks.pinned: too many inside");
            let entered = self
                .front
                .gate
                .compare_exchange_weak(gate, gate + 1, Relaxed, Relaxed);
            // Relaxed is enough: whoever moves the gate counts us, as it replaces this value.
            if entered.is_ok() {
                return Some(Pin {
                    blocks: self,
                    lap,
                    block,
                });
            }
        }
    }
}

/// A pop that is counted inside a lap.
#[must_use = "it leaves"]
pub(super) struct Pin<'a, T, W: Widths> {
    blocks: &'a Blocks<T, W>,
    lap: u64,
    block: NonNull<Block<T>>,
}

impl<T, W: Widths> Pin<'_, T, W> {
    #[inline(always)]
    pub(super) fn lap(&self) -> u64 {
        self.lap
    }

    #[inline(always)]
    pub(super) fn block(&self) -> &Block<T> {
        // SAFETY: [blocks.pinned] we are counted inside.
        let block = unsafe { self.block.as_ref() };
        debug_assert!(
            block.is_of(self.lap),
            "blocks.pinned: the block of another lap"
        );
        block
    }

    /// Moves the message out that was taken from this lap. Its slot accounts for us.
    #[inline(always)]
    pub(super) fn read_out(self, index: usize) -> T {
        let block = self.block;
        std::mem::forget(self);
        // SAFETY: [blocks.pinned] it is not spent before that slot is read.
        unsafe { block.as_ref() }.read_out(index)
    }
}

impl<'a, T, W: Widths> Pin<'a, T, W> {
    /// Goes on to the next block, which is there, from one whose positions are all taken.
    #[cold]
    #[inline(never)]
    pub(super) fn move_on(self) -> Option<Pin<'a, T, W>> {
        let blocks = self.blocks;
        let mut lists = blocks.lists.lock();
        let mut gate = blocks.front.gate.load(Relaxed);
        if lap_of(gate) != self.lap {
            drop(lists);
            // We are a stray.
            drop(self);
            return blocks.enter();
        }
        let lap = Blocks::<T, W>::lap_after(self.lap);
        let block = NonNull::new(self.block().next())?;
        blocks.front.set(lap, block);
        let moved = lap << INSIDE_BITS | 1;
        loop {
            // ORDERING: [blocks.gate] Release, pairs with the first load in `enter`.
            // ORDERING: [blocks.spent] Acquire, pairs with `drop` of those that have left: with
            // less, the block could be given away while they look at it.
            let swapped = blocks
                .front
                .gate
                .compare_exchange_weak(gate, moved, AcqRel, Relaxed);
            match swapped {
                Ok(_) => break,
                Err(now) => gate = now,
            }
        }
        let ended = self.block;
        // We are counted in the new one.
        std::mem::forget(self);
        let strays = inside(gate).checked_sub(1 + SLOTS as u64);
        let strays = strays.expect("blocks.pinned: whoever took a message had entered");
        // SAFETY: [blocks.pinned] a block whose lap was not ended yet, which is done by whoever has
        // moved the gate: by us, below.
        unsafe { ended.as_ref() }.expect_strays(strays);
        // SAFETY: [blocks.freed] the gate has moved, by us: no pop enters any more, and all inside
        // but those who took a message are its strays.
        let surplus = unsafe { lists.end(ended) };
        drop(lists);
        drop(surplus);
        Some(Pin { blocks, lap, block })
    }
}

impl<T, W: Widths> Drop for Pin<'_, T, W> {
    #[inline]
    fn drop(&mut self) {
        let mut gate = self.blocks.front.gate.load(Relaxed);
        while lap_of(gate) == self.lap {
            // ORDERING: [blocks.spent] Release, pairs with the exchange in `move_on`: we have
            // looked. Relaxed would let the block be given away while we do.
            let left =
                self.blocks
                    .front
                    .gate
                    .compare_exchange_weak(gate, gate - 1, Release, Relaxed);
            match left {
                Ok(_) => return,
                Err(now) => gate = now,
            }
        }
        // CLAIM: [blocks.pinned] whoever moved the gate counts on this.
        self.block().stray_goes();
    }
}

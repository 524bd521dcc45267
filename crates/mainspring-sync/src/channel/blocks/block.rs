//! A block: the slots of one lap, and what is needed to know when nobody looks at it any more.

use super::SLOTS;
use mainspring_core::sync::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use mainspring_core::sync::atomic::{
    AtomicPtr, AtomicU8, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use mainspring_core::sync::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::{NonNull, null_mut};

/// The stamps of a slot. Nobody exchanges them, so they are stored to.
const EMPTY: u8 = 0;
const WRITTEN: u8 = 1;
const READ: u8 = 2;

/// The lap of a block that is not in use.
const NO_LAP: u64 = u64::MAX;

struct Slot<T> {
    stamp: AtomicU8,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// Everything of a block but its slots.
struct Links<T> {
    /// Which lap's block it is: for assertions, and for models, in which whoever uses a block reads
    /// this, and whoever gives it away writes it.
    lap: UnsafeCell<u64>,
    /// The block of the next lap, once it is linked.
    next: AtomicPtr<Block<T>>,
    /// The next block of a [`Row`]. Whoever owns the row changes it.
    row: AtomicPtr<Block<T>>,
    /// How many strays there are: pops that were here when the lap ended, and took nothing. Set
    /// under the lock.
    strays: AtomicU64,
    /// How many strays have gone.
    gone: AtomicU64,
}

/// A block.
pub(super) struct Block<T> {
    links: Links<T>,
    slots: [Slot<T>; SLOTS],
}

impl<T> Block<T> {
    /// Whether it is in use for that lap.
    pub(super) fn is_of(&self, lap: u64) -> bool {
        self.links.lap.with(|cell| {
            // SAFETY: [blocks.freed] it is written while nobody else knows the block, and whoever
            // asks has claimed one of its slots or is inside.
            let of = unsafe { *cell };
            of == lap
        })
    }

    /// Puts the message into its slot.
    #[inline(always)]
    pub(super) fn write(&self, index: usize, value: T) {
        let slot = &self.slots[index];
        slot.value.with_mut(|cell| {
            // SAFETY: [blocks.owner] the position was claimed by us alone, and its slot is empty.
            let cell = unsafe { &mut *cell };
            cell.write(value);
        });
        // ORDERING: [blocks.written] Release, pairs with the load in `is_written`. Relaxed would
        // let a pop read a message that is not there yet.
        slot.stamp.store(WRITTEN, Release);
    }

    #[inline(always)]
    pub(super) fn is_written(&self, index: usize) -> bool {
        // ORDERING: [blocks.written] Acquire, pairs with the store in `write`: the message is
        // there. Relaxed would read it before it is.
        self.slots[index].stamp.load(Acquire) == WRITTEN
    }

    /// Moves the message out of its slot, which is the last that the caller has to do with the
    /// block: it may be gone when this returns.
    #[inline(always)]
    pub(super) fn read_out(&self, index: usize) -> T {
        let slot = &self.slots[index];
        let value = slot.value.with_mut(|cell| {
            // SAFETY: [blocks.owner] the position was taken by us alone.
            let cell = unsafe { &*cell };
            // SAFETY: [blocks.owner] the stamp said written, and the position is taken once: the
            // value is read once.
            unsafe { cell.assume_init_read() }
        });
        // ORDERING: [blocks.spent] Release, pairs with the load in `is_spent`. Relaxed would let
        // the block be given away while we read.
        slot.stamp.store(READ, Release);
        value
    }

    /// The block of the next lap, or null. To be looked into under the lock, under which it was
    /// linked.
    #[inline]
    pub(super) fn next(&self) -> *mut Self {
        self.links.next.load(Relaxed)
    }

    #[inline]
    pub(super) fn has_next(&self) -> bool {
        !self.next().is_null()
    }

    /// Links the block of the next lap. Under the lock.
    pub(super) fn link(&self, next: NonNull<Self>) {
        self.links.next.store(next.as_ptr(), Relaxed);
    }

    /// Says that a stray has gone, which is the last that it has to do with the block.
    pub(super) fn stray_goes(&self) {
        // ORDERING: [blocks.spent] Release, pairs with the load in `is_spent`. Relaxed would let
        // the block be given away while we look at it.
        self.links.gone.fetch_add(1, Release);
    }

    /// Says how many strays there are. Under the lock.
    pub(super) fn expect_strays(&self, strays: u64) {
        self.links.strays.store(strays, Relaxed);
    }

    /// Whether every message was read out and every stray has gone. Under the lock, of a block
    /// whose lap has ended.
    pub(super) fn is_spent(&self) -> bool {
        // ORDERING: [blocks.spent] Acquire, pairs with `read_out` and `stray_goes`: what they did
        // to the block is done. Relaxed would let the next user's writes overtake their reads.
        let is_read = |slot: &Slot<T>| slot.stamp.load(Acquire) == READ;
        // ORDERING: [blocks.spent] as above.
        self.links.gone.load(Acquire) == self.links.strays.load(Relaxed)
            && self.slots.iter().all(is_read)
    }
}

/// A block that nobody else knows.
pub(super) struct Owned<T>(NonNull<Block<T>>);

// SAFETY: [blocks.owner] a block that nobody else knows holds no value.
unsafe impl<T> Send for Owned<T> {}

impl<T> Owned<T> {
    /// A new one. The slots are made where they are to stay: they may be too large for the stack.
    pub(super) fn allocate() -> Self {
        let layout = Layout::new::<Block<T>>();
        // SAFETY: [blocks.freed] the layout of a block is not empty: it holds links.
        let bytes = unsafe { alloc(layout) };
        let Some(block) = NonNull::new(bytes.cast::<Block<T>>()) else {
            handle_alloc_error(layout);
        };
        // SAFETY: [blocks.freed] the memory was allocated for a block.
        let links = unsafe { &raw mut (*block.as_ptr()).links };
        let fresh = Links {
            lap: UnsafeCell::new(NO_LAP),
            next: AtomicPtr::new(null_mut()),
            row: AtomicPtr::new(null_mut()),
            strays: AtomicU64::new(0),
            gone: AtomicU64::new(0),
        };
        // SAFETY: [blocks.freed] it is ours, and aligned for a block.
        unsafe { links.write(fresh) };
        // SAFETY: [blocks.freed] as for the links.
        let slots = unsafe { &raw mut (*block.as_ptr()).slots };
        for index in 0..SLOTS {
            let fresh = Slot {
                stamp: AtomicU8::new(EMPTY),
                value: UnsafeCell::new(MaybeUninit::uninit()),
            };
            // SAFETY: [blocks.freed] there are as many slots.
            let slot = unsafe { slots.cast::<Slot<T>>().add(index) };
            // SAFETY: [blocks.freed] as for the links.
            unsafe { slot.write(fresh) };
        }
        Self(block)
    }

    /// # Safety
    ///
    /// The block is out of use: nobody else uses it now or later, and it holds no value.
    pub(super) unsafe fn new(block: NonNull<Block<T>>) -> Self {
        Self(block)
    }

    /// Makes a block that was used like a new one.
    pub(super) fn renewed(self) -> Self {
        for slot in &self.slots {
            slot.stamp.store(EMPTY, Relaxed);
        }
        self.set_lap(NO_LAP);
        self.links.next.store(null_mut(), Relaxed);
        self.links.strays.store(0, Relaxed);
        self.links.gone.store(0, Relaxed);
        self
    }

    /// Puts it to use for that lap.
    pub(super) fn into_use(self, lap: u64) -> NonNull<Block<T>> {
        self.set_lap(lap);
        self.into_raw()
    }

    fn set_lap(&self, lap: u64) {
        self.links.lap.with_mut(|cell| {
            // SAFETY: [blocks.freed] nobody else knows the block.
            unsafe { *cell = lap };
        });
    }

    /// Gives it into the care of whoever keeps the pointer.
    pub(super) fn into_raw(self) -> NonNull<Block<T>> {
        let block = self.0;
        std::mem::forget(self);
        block
    }
}

impl<T> Deref for Owned<T> {
    type Target = Block<T>;

    fn deref(&self) -> &Block<T> {
        // SAFETY: [blocks.freed] it is ours, and made.
        unsafe { self.0.as_ref() }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.set_lap(NO_LAP);
        // SAFETY: [blocks.freed] nobody else knows the block. Values are not dropped with it.
        unsafe { self.0.drop_in_place() };
        let bytes = self.0.as_ptr().cast::<u8>();
        // SAFETY: [blocks.freed] `allocate` got it with this layout.
        unsafe { dealloc(bytes, Layout::new::<Block<T>>()) };
    }
}

/// Blocks in a row, the last one added first. It knows nothing of who else uses them.
pub(super) struct Row<T> {
    first: *mut Block<T>,
}

impl<T> Row<T> {
    pub(super) fn new() -> Self {
        Self { first: null_mut() }
    }

    /// # Safety
    ///
    /// The block lives until it is taken out, and is in no other row.
    pub(super) unsafe fn add(&mut self, block: NonNull<Block<T>>) {
        // SAFETY: [blocks.freed] it lives, says the caller.
        let links = unsafe { &block.as_ref().links };
        links.row.store(self.first, Relaxed);
        self.first = block.as_ptr();
    }

    pub(super) fn take(&mut self) -> Option<NonNull<Block<T>>> {
        let block = NonNull::new(self.first)?;
        // SAFETY: [blocks.freed] what is in a row lives.
        let links = unsafe { &block.as_ref().links };
        self.first = links.row.load(Relaxed);
        Some(block)
    }

    /// Takes all of them.
    pub(super) fn take_all(&mut self) -> Self {
        std::mem::replace(self, Self::new())
    }
}

//! An allocator that counts, a thread apart.
//!
//! # Invariants
//!
//! - **alloc-count.forward** — every call goes to the system's allocator as it came; the counters
//!   are plain cells of the thread without a destructor, so that counting neither allocates nor
//!   fails, at any time in a thread's life.

use std::alloc::{GlobalAlloc, Layout, System};
// DOOR: the allocator itself; loom's cells would allocate.
use std::cell::Cell;
use std::hint::black_box;

// DOOR: as above.
std::thread_local! {
    static BYTES: Cell<isize> = const { Cell::new(0) };
    static BLOCKS: Cell<isize> = const { Cell::new(0) };
}

/// Counts what each thread allocates and frees. A test binary that installs it gets the memory
/// cases of the suite; without it they are skipped.
///
/// ```
/// use mainspring_testkit::{CountingAlloc, Heap};
///
/// #[global_allocator]
/// static ALLOC: CountingAlloc = CountingAlloc;
///
/// let before = Heap::now().expect("it is installed");
/// let boxed = Box::new([0_u8; 100]);
/// assert_eq!(Heap::now().unwrap().since(before).bytes, 100);
/// drop(boxed);
/// assert_eq!(Heap::now().unwrap().since(before), Heap::default());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAlloc;

/// What one thread has allocated and not freed. Below zero if it frees what others allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heap {
    /// Bytes.
    pub bytes: isize,
    /// Blocks.
    pub blocks: isize,
}

impl Heap {
    /// This thread's; `None` if [`CountingAlloc`] is not this program's allocator.
    #[must_use]
    pub fn now() -> Option<Self> {
        let before = Self::read();
        let probe = black_box(Box::new(0_u8));
        let is_counted = Self::read() != before;
        drop(probe);
        is_counted.then_some(before)
    }

    /// The difference from an earlier reading on the same thread.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            blocks: self.blocks - before.blocks,
        }
    }

    fn read() -> Self {
        Self {
            bytes: BYTES.with(Cell::get),
            blocks: BLOCKS.with(Cell::get),
        }
    }
}

fn count(bytes: isize, blocks: isize) {
    BYTES.with(|count| count.set(count.get().wrapping_add(bytes)));
    BLOCKS.with(|count| count.set(count.get().wrapping_add(blocks)));
}

// SAFETY: [alloc-count.forward] the system's allocator keeps the contract, and is given what the
// caller gave.
unsafe impl GlobalAlloc for CountingAlloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: [alloc-count.forward] the caller's contract.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            count(layout.size() as isize, 1);
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: [alloc-count.forward] the caller's contract.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            count(layout.size() as isize, 1);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: [alloc-count.forward] the caller's contract: it came from the system's.
        unsafe { System.dealloc(block, layout) };
        count(-(layout.size() as isize), -1);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: [alloc-count.forward] the caller's contract: it came from the system's.
        let grown = unsafe { System.realloc(block, layout, size) };
        if !grown.is_null() {
            count(size as isize - layout.size() as isize, 0);
        }
        grown
    }
}

#[cfg(test)]
mod tests;

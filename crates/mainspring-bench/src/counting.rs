//! The one allocator of every row: the system's, with a count of live bytes that is off unless
//! a memory row turns it on (off, it is one predicted branch on a read-mostly flag).

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

/// Starts counting. Blocks that are older than this are not counted when they are freed late,
/// so a row starts counting after its runtime is up and takes differences.
pub fn start() {
    COUNTING.store(true, Relaxed);
}

/// Requested bytes allocated minus freed since [`start`].
pub fn live_bytes() -> i64 {
    LIVE_BYTES.load(Relaxed)
}

/// See the module.
#[derive(Debug)]
pub struct Counting;

fn note(bytes: i64) {
    if COUNTING.load(Relaxed) {
        LIVE_BYTES.fetch_add(bytes, Relaxed);
    }
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: the caller's contract is the one of `System::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(-(layout.size() as i64));
        // SAFETY: the caller's contract is the one of `System::dealloc`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: the caller's contract is the one of `System::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size as i64 - layout.size() as i64);
        // SAFETY: the caller's contract is the one of `System::realloc`.
        unsafe { System.realloc(block, layout, size) }
    }
}

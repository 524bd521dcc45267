use super::{CountingAlloc, Heap};
use std::alloc::{GlobalAlloc, Layout};

/// This binary keeps its allocator: the calls are made by hand.
// WITNESS: alloc-count.forward
#[test]
fn every_call_is_counted_on_its_thread() {
    assert_eq!(Heap::now(), None);
    let start = Heap::read();
    let since = || Heap::read().since(start);
    let layout = Layout::from_size_align(64, 16).unwrap();
    // SAFETY: [alloc-count.forward] the layout has a size.
    let plain = unsafe { CountingAlloc.alloc(layout) };
    assert!(plain.is_aligned_to_16());
    assert_eq!((since().bytes, since().blocks), (64, 1));
    // SAFETY: [alloc-count.forward] as above.
    let zeroed = unsafe { CountingAlloc.alloc_zeroed(layout) };
    // SAFETY: [alloc-count.forward] 64 bytes were allocated, and written by the allocator.
    let bytes = unsafe { std::slice::from_raw_parts(zeroed, 64) };
    assert!(bytes.iter().all(|byte| *byte == 0));
    assert_eq!((since().bytes, since().blocks), (128, 2));
    // SAFETY: [alloc-count.forward] it came from there, with this layout.
    let grown = unsafe { CountingAlloc.realloc(zeroed, layout, 100) };
    assert_eq!((since().bytes, since().blocks), (164, 2));
    std::thread::spawn(|| assert_eq!(Heap::read(), Heap::default()))
        .join()
        .unwrap();
    // SAFETY: [alloc-count.forward] it came from there, with this layout.
    unsafe { CountingAlloc.dealloc(plain, layout) };
    let layout = Layout::from_size_align(100, 16).unwrap();
    // SAFETY: [alloc-count.forward] it came from there, and has this size since.
    unsafe { CountingAlloc.dealloc(grown, layout) };
    assert_eq!(since(), Heap::default());
}

trait Aligned {
    fn is_aligned_to_16(&self) -> bool;
}

impl Aligned for *mut u8 {
    fn is_aligned_to_16(&self) -> bool {
        self.addr() % 16 == 0
    }
}

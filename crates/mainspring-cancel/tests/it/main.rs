//! The crate as its users see it.

mod memory;

/// Counts what each thread has allocated.
#[global_allocator]
static ALLOC: mainspring_testkit::CountingAlloc = mainspring_testkit::CountingAlloc;

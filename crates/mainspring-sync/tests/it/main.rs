//! The crate as its users see it.

mod channel;
mod conformance;
mod misuse;
mod parts;
mod rendezvous;
mod story;

/// Lets the suite count what each thread has allocated.
#[global_allocator]
static ALLOC: mainspring_testkit::CountingAlloc = mainspring_testkit::CountingAlloc;

//! The crate as its users see it: a correct primitive passes, and broken ones are told apart.

mod broken;
mod broken_channel;
mod broken_send;
mod broken_spent;
mod reference;
mod sloppy;

use mainspring_testkit::CountingAlloc;

#[global_allocator]
static ALLOC: CountingAlloc = CountingAlloc;

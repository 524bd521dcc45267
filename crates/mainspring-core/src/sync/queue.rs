//! The door to crossbeam's queues.
//!
//! loom cannot look into them, so models get stand-ins with the weakest contract that crossbeam
//! publishes: what was pushed before is visible to who pops it, and nothing more. Their lengths are
//! relaxed, pushing and popping order nothing else, and there is no fence in them: a protocol that
//! leans on one which crossbeam merely happens to have turns its model red. Neither can shuttle,
//! which gets a deque behind a lock.

#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
pub use ::crossbeam_queue::{ArrayQueue, SegQueue};

#[cfg(all(mainspring_loom, feature = "loom"))]
mod stand_in;
#[cfg(all(mainspring_loom, feature = "loom"))]
pub use self::stand_in::{ArrayQueue, SegQueue};

#[cfg(mainspring_shuttle)]
mod locked;
#[cfg(mainspring_shuttle)]
pub use self::locked::{ArrayQueue, SegQueue};

#[cfg(all(test, mainspring_loom, feature = "loom"))]
mod tests;

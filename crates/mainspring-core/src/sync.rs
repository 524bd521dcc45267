//! The only door to atomics, cells, locks and threads.
//!
//! Protocol code of the whole family names its primitives through this module and never through
//! `std`, so that one build flag replaces all of them by loom's, or by shuttle's, and a model runs
//! the code that ships. It is public for the sibling crates and is not covered by semantic
//! versioning.
//!
//! The model is on when **both** `--cfg mainspring_loom` and the feature `loom` are given: a
//! feature alone, which cargo may unify from anywhere, never changes behaviour. `--cfg
//! mainspring_shuttle` turns shuttle on, and does not build without core's feature `shuttle`.
//!
//! # Rules for the users of the door
//!
//! - On an atomic that anybody swaps or compare-exchanges, nobody plain-stores: loom reports
//!   false deadlocks otherwise. Where no exchange can succeed meanwhile, and a reader that finds
//!   the old value waits for nothing, a store may stand, with that argument beside it.
//! - Store–load patterns are relaxed accesses plus `SeqCst` *fences*: loom takes a `SeqCst`
//!   access for an acquire-release one.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `door.last-ref` | each holder's decrement | [`atomic::acquire_last`] | what the holder wrote |

#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(all(mainspring_loom, feature = "loom"))]
pub use self::loom::*;

#[cfg(mainspring_shuttle)]
mod shuttle;
#[cfg(mainspring_shuttle)]
pub use self::shuttle::*;

#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
mod std;
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
pub use self::std::*;

/// Process-wide statics that no model explores: id counters, hooks, switches. A loom object cannot
/// live in a `static`, and none of these carries a protocol.
pub mod global {
    pub use ::std::sync::atomic::{AtomicBool, AtomicU64};
    pub use ::std::sync::{OnceLock, RwLock};
}

pub mod brief;
pub mod queue;

#[cfg(test)]
mod tests;

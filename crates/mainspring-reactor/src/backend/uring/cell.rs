//! What an operation's number in the kernel means: the address of the socket that owns it, and a
//! reference to it.
//!
//! # Invariants
//!
//! - **cell.lent** — with each operation one counted reference to its owner is lent to the kernel,
//!   in the operation's number; it is taken back with the operation's last completion, and until
//!   then the owner, its descriptor and its memory stay. So no descriptor's number and no address
//!   is used again under an operation.
//! - **cell.batch** — where several threads take completions, one that is not its operation's last
//!   carries a reference of its own from the moment it is copied out: somebody else may deliver the
//!   last one first.
//! - **cell.kind** — the low bits of the number say of which type the owner is.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `cell.kernel` | `lend` | `take_back` | what was written before the operation began |
//!
//! The kernel's own ordering is invisible to sanitizers, so the edge is spelt out; and a shared
//! ring's completions may be taken by another thread than the one that submitted.
//!
//! # Rejected
//!
//! *A slab with generations*: a table that is shared with other threads, for a safety that the
//! reference gives anyway.

use super::listener::Shared as Listener;
use super::stream::Shared as Stream;
use mainspring_core::sync::atomic::{
    Ordering::{Acquire, Release},
    fence,
};
use std::sync::Arc;

/// How many low bits say what it is.
const KIND: u64 = 0b111;

/// Of what an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: a cancellation, whose own completion says nothing new.
    Nothing = 0,
    /// The reactor's own call.
    Kick = 1,
    /// A stream's direction of reading.
    Read = 2,
    /// A stream's direction of writing.
    Write = 3,
    /// A listener's accepts.
    Accept = 4,
}

/// Owners of operations.
pub(crate) trait Owner: Sized + Send + Sync {}

impl Owner for Stream {}
impl Owner for Listener {}

/// The number of an operation that is in flight, without a reference: for naming it.
pub(crate) fn name<T: Owner>(owner: &Arc<T>, kind: Kind) -> u64 {
    const { assert!(align_of::<T>() > KIND as usize, "the low bits are free") };
    Arc::as_ptr(owner) as u64 | kind as u64
}

/// Lends the kernel a reference with an operation that begins.
pub(crate) fn lend<T: Owner>(owner: &Arc<T>, kind: Kind) -> u64 {
    let number = name(owner, kind);
    let lent = Arc::into_raw(Arc::clone(owner));
    debug_assert_eq!(lent as u64, number & !KIND, "cell.kind: bits in use");
    // ORDERING: [cell.kernel] Release fence, pairs with the one in `take_back`: whoever takes the
    // completion sees what was written before the operation began.
    fence(Release);
    number
}

/// What an operation's number says.
pub(crate) fn kind(number: u64) -> Kind {
    match number & KIND {
        1 => Kind::Kick,
        2 => Kind::Read,
        3 => Kind::Write,
        4 => Kind::Accept,
        _ => Kind::Nothing,
    }
}

/// Takes the reference of an operation back, when its last completion has come.
///
/// # Safety
///
/// `number` comes from `lend` for a `T`, and this is done once ([cell.lent]).
pub(crate) unsafe fn take_back<T: Owner>(number: u64) -> Arc<T> {
    // ORDERING: [cell.kernel] Acquire fence, pairs with the one in `lend`.
    fence(Acquire);
    // SAFETY: [cell.lent] the caller's.
    unsafe { Arc::from_raw((number & !KIND) as *const T) }
}

/// Keeps the owner of an operation that goes on, for whoever delivers this completion of it.
///
/// # Safety
///
/// `number` comes from `lend` for a `T`, and its reference has not been taken back ([cell.lent]).
/// Balanced by one `take_back`.
pub(crate) unsafe fn keep<T: Owner>(number: u64) {
    // SAFETY: [cell.batch, cell.lent] the caller's: the count is not zero.
    unsafe { Arc::increment_strong_count((number & !KIND) as *const T) };
}

/// The owner of an operation that goes on.
///
/// # Safety
///
/// `number` comes from `lend` for a `T`, and its reference has not been taken back ([cell.lent]).
pub(crate) unsafe fn owner<'o, T: Owner>(number: u64) -> &'o T {
    // ORDERING: [cell.kernel] Acquire fence, pairs with the one in `lend`.
    fence(Acquire);
    // SAFETY: [cell.lent, cell.kind] the caller's.
    unsafe { &*((number & !KIND) as *const T) }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

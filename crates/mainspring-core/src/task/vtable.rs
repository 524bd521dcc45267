//! What differs between tasks of different futures: six functions, the layout, whether it has a
//! home, and where its trailer is.

use super::header::TaskPtr;
use crate::payload::Payload;
use crate::sync::alloc::Layout;
use std::num::NonZeroUsize;
use std::task::Context;

/// What one call of [`Vtable::poll`] came to. None of them leaves the future half dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the place of the future changed hands"]
pub(crate) enum Progress {
    /// The future is still there.
    Pending,
    /// The future is gone, its output is in its place.
    Output,
    /// The future is gone, the payload of its panic is in its place.
    Panic,
}

/// The functions of one future type. All of them need the caller to be the one thread that may
/// touch the place of the future now; what each expects there stands beside it.
pub(crate) struct Vtable {
    /// Polls the future, which is there.
    pub(crate) poll: unsafe fn(TaskPtr, &mut Context<'_>) -> Progress,
    /// Drops the future, which is there. `Some`: its destructor panicked.
    pub(crate) drop_future: unsafe fn(TaskPtr) -> Option<Payload>,
    /// Drops the output, which is there. `Some`: its destructor panicked.
    pub(crate) drop_output: unsafe fn(TaskPtr) -> Option<Payload>,
    /// Puts the payload of a panic in the place, which is empty.
    pub(crate) put_panic: unsafe fn(TaskPtr, Payload),
    /// Takes the payload of a panic out of the place, where it is.
    pub(crate) take_panic: unsafe fn(TaskPtr) -> Payload,
    /// Drops the trailer, if there is one, and frees the memory, which nobody else reaches.
    pub(crate) free: unsafe fn(TaskPtr),
    /// The layout of the task's memory.
    pub(crate) layout: Layout,
    /// Where the place begins, in bytes from the header.
    pub(crate) place: usize,
    /// Where the trailer begins, in bytes from the header, if there is one.
    pub(crate) trailer: Option<NonZeroUsize>,
    /// The future may be touched at its scheduler's home only.
    pub(crate) is_local: bool,
}

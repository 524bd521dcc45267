//! Where a list lies: in its primitive, or on the heap, where watches find it.
//!
//! A strict list is reached through a borrow, or a share, of the primitive that it lies in. What
//! the executor reaches at the end of a poll has neither: a waiter that borrowed the list may have
//! been forgotten, and then nothing says that the list is where it was. So a revocable list lies
//! on the heap and each watch has a share of it. What the list's owner may do because nobody
//! borrows it (move the kind, or drop it) is done after the heap's part was *retired*: watches
//! that are left by then, all of them forgotten waiters', find that and touch nothing.

use super::Kind;
use super::inner::Inner;
use super::lone::Lone;
use crate::sync::{Arc, Brief};
// DOOR: the cell only says that the kind may change while the lock beside it is looked at. Models
// watch a word of a kind's own.
use std::cell::UnsafeCell;
use std::hint;
use std::mem::{self, ManuallyDrop};
use std::ptr::{self, NonNull};

/// What a list is, wherever it lies: what sections work on.
pub(super) struct Core<K: Kind> {
    /// In a cell, because a watch may look at the lock beside it while the kind is its owner's.
    kind: UnsafeCell<K>,
    is_revocable: bool,
    pub(super) inner: Brief<Inner<K>>,
    pub(super) lone: Lone<K>,
}

impl<K: Kind> Core<K> {
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    const fn new(kind: K, is_revocable: bool, inner: Inner<K>) -> Self {
        Self {
            kind: UnsafeCell::new(kind),
            is_revocable,
            inner: Brief::new(inner),
            lone: Lone::new(),
        }
    }

    #[cfg(all(mainspring_loom, feature = "loom"))]
    fn new(kind: K, is_revocable: bool, inner: Inner<K>) -> Self {
        Self {
            kind: UnsafeCell::new(kind),
            is_revocable,
            inner: Brief::new(inner),
            lone: Lone::new(),
        }
    }

    #[inline]
    pub(super) fn is_revocable(&self) -> bool {
        K::IS_REVOCABLE && self.is_revocable
    }

    /// For whoever borrows the list, or has its lock and found that it is not retired.
    #[inline]
    pub(super) fn kind(&self) -> &K {
        // SAFETY: [wait-list.retired] the kind is changed or moved only through `&mut` to the list,
        // which nobody borrows then, and when it is retired, which took the lock.
        unsafe { &*self.kind.get() }
    }
}

/// Where a list lies.
#[cfg_attr(
    mainspring_shuttle,
    expect(
        clippy::large_enum_variant,
        reason = "models have large locks; most lists are strict, and allocate nothing"
    )
)]
pub(super) enum Home<K: Kind> {
    /// Where the list is.
    Inline(Core<K>),
    /// On the heap.
    Shared(Shared<K>),
}

impl<K: Kind> Home<K> {
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub(super) const fn inline(kind: K) -> Self {
        Self::Inline(Core::new(kind, false, Inner::new()))
    }

    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub(super) fn inline(kind: K) -> Self {
        Self::Inline(Core::new(kind, false, Inner::new()))
    }

    pub(super) fn shared(kind: K) -> Self
    where
        K: Sync + 'static,
        K::Key: Send,
    {
        Self::Shared(Shared::new(kind, Inner::new()))
    }

    #[inline]
    pub(super) fn core(&self) -> &Core<K> {
        match self {
            Self::Inline(core) => core,
            Self::Shared(shared) if K::IS_REVOCABLE => &shared.0,
            // SAFETY: [wait-list.inline] `WaitList::revocable`, which alone makes shared ones, does
            // not compile for such a kind.
            Self::Shared(_) => unsafe { hint::unreachable_unchecked() },
        }
    }

    /// What watches are made of, if the list is revocable.
    #[inline]
    pub(super) fn as_shared(&self) -> Option<&Shared<K>> {
        match self {
            Self::Shared(shared) if K::IS_REVOCABLE => Some(shared),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn kind_mut(&mut self) -> &mut K {
        match self {
            Self::Inline(core) => core.kind.get_mut(),
            Self::Shared(shared) => shared.kind_mut(),
        }
    }

    pub(super) fn into_kind(self) -> K {
        match self {
            Self::Inline(core) => core.kind.into_inner(),
            Self::Shared(shared) => shared.into_kind(),
        }
    }
}

/// The list's own share of what lies on the heap. Nothing there is dropped with the last share: the
/// kind goes with this one, and the rest needs no drop.
pub(super) struct Shared<K: Kind>(Arc<ManuallyDrop<Core<K>>>);

impl<K: Kind> Shared<K> {
    fn new(kind: K, inner: Inner<K>) -> Self {
        Self(Arc::new(ManuallyDrop::new(Core::new(kind, true, inner))))
    }

    /// Another share, for a watch.
    pub(super) fn share(&self) -> Share {
        Share::new(Arc::clone(&self.0))
    }

    fn kind_mut(&mut self) -> &mut K {
        // A waiter that is alive borrows or shares the list: the watches that are left are those of
        // forgotten ones.
        if Arc::get_mut(&mut self.0).is_none() {
            self.leave_watches();
        }
        // SAFETY: [wait-list.retired] there is no watch, and the list is borrowed by us alone.
        unsafe { &mut *self.0.kind.get() }
    }

    /// Moves to where no watch leads. Forgotten waiters keep their places.
    #[cold]
    fn leave_watches(&mut self) {
        let inner = self.retire();
        // SAFETY: [wait-list.retired] nobody touches it there any more, and it is not dropped
        // there: the share that does so is replaced by one that does it here.
        let kind = unsafe { self.0.kind.get().read() };
        let moved = Arc::new(ManuallyDrop::new(Core::new(kind, true, inner)));
        drop(mem::replace(&mut self.0, moved));
    }

    fn into_kind(self) -> K {
        let _ = self.retire();
        let this = ManuallyDrop::new(self);
        // SAFETY: [wait-list.retired] nobody touches it any more, and our drop does not run.
        let kind = unsafe { this.0.kind.get().read() };
        // SAFETY: [wait-list.retired] as above: nobody else gives this share back.
        drop(unsafe { ptr::read(&this.0) });
        kind
    }

    /// Tells the watches that are left that what they lead to is no list any more.
    fn retire(&self) -> Inner<K> {
        self.0.inner.lock().retire()
    }
}

impl<K: Kind> Drop for Shared<K> {
    fn drop(&mut self) {
        let _ = self.retire();
        // SAFETY: [wait-list.retired] nobody touches it any more, and this happens once.
        unsafe { ptr::drop_in_place(self.0.kind.get()) };
    }
}

/// A share of a revocable list, of whatever kind.
pub(super) struct Share {
    core: NonNull<()>,
    give_back: unsafe fn(NonNull<()>),
}

impl Share {
    fn new<K: Kind>(core: Arc<ManuallyDrop<Core<K>>>) -> Self {
        let core = Arc::into_raw(core).cast_mut().cast();
        Self {
            // SAFETY: [wait-list.retired] what an `Arc` leads to is not at null.
            core: unsafe { NonNull::new_unchecked(core) },
            give_back: give_back::<K>,
        }
    }

    /// # Safety
    ///
    /// The share is of a list of this kind.
    pub(super) unsafe fn core<K: Kind>(&self) -> &Core<K> {
        let core = self.core.cast::<ManuallyDrop<Core<K>>>();
        // SAFETY: [wait-list.retired] of this type by the contract, and allocated while it is
        // shared. The one part that others may change or have dropped is in a cell.
        unsafe { core.as_ref() }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // SAFETY: [wait-list.retired] the two were put together by `new`, for this one call.
        unsafe { (self.give_back)(self.core) };
    }
}

/// # Safety
///
/// `core` is of a [`Share`] of this kind, which ends here.
unsafe fn give_back<K: Kind>(core: NonNull<()>) {
    let core = core.as_ptr().cast_const().cast::<ManuallyDrop<Core<K>>>();
    // SAFETY: [wait-list.retired] `Share::new` made it of an `Arc`, whose share this is.
    drop(unsafe { Arc::from_raw(core) });
}

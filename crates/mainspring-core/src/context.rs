//! What is current on this thread, and the guard that restores what was current before.
//!
//! Every engine keeps one [`Slot`] in a `const`-initialised thread-local. A leaf that needs its
//! engine does one load; an empty slot means "nobody drives here": fall back. A slot is filled
//! for a worker's whole life by [`Entered`], which a driver's handle returns.
//!
//! ```
//! use mainspring_core::context::{Entered, Slot};
//! use std::sync::Arc;
//!
//! thread_local! { static NAME: Slot<String> = const { Slot::new() }; }
//!
//! assert_eq!(NAME.with(|slot| slot.with(|name| name.map(String::len))), None);
//! let entered = Entered::new(&NAME, Arc::new("ring 0".to_owned()));
//! assert_eq!(NAME.with(|slot| slot.with(|name| name.map(String::len))), Some(6));
//! drop(entered);
//! assert!(NAME.with(|slot| slot.is_empty()));
//! ```
//!
//! # Invariants
//!
//! - **context.alive** — the node that a slot points to, and every node below it, is allocated,
//!   and so is the value it holds.
//! - **context.top-live** — the node that a slot points to belongs to a guard that still exists,
//!   whenever code other than this module's runs. Guards may be dropped in any order: one that is
//!   not on top only marks its node.
//! - **context.pinned** — a node whose value is being looked at is not freed; the look frees it
//!   afterwards when its guard went meanwhile.
//! - **context.one-thread** — slots and guards are neither `Send` nor `Sync`.
//!
//! # Rejected
//!
//! A stack in a `Vec` beside the pointer: the thread-local would then need a destructor, and a
//! leaf that runs during thread-local destruction would find it gone. Cloning the `Arc` at every
//! look: two contended read-modify-writes on a path that has to be one load.

use crate::sync::LocalKey;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

struct Node<T: ?Sized> {
    value: Arc<T>,
    below: Option<NonNull<Node<T>>>,
    /// The guard is gone.
    left: Cell<bool>,
    /// How many looks at the value are under way, and one more while the slot reaches the node.
    pins: Cell<u32>,
}

/// The place in a thread-local where the current `T` of this thread stands.
///
/// Looking at it is one load and a branch; it allocates only when entered.
pub struct Slot<T: ?Sized + 'static> {
    top: Cell<Option<NonNull<Node<T>>>>,
}

impl<T: ?Sized + 'static> Slot<T> {
    /// An empty slot, usable in `const { .. }` of a thread-local.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            top: Cell::new(None),
        }
    }

    /// Whether nothing has been entered on this thread.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.top.get().is_none()
    }

    /// Calls `look` with what is current. The value lives for the whole call, even if `look`
    /// drops the guard that put it here.
    #[inline]
    pub fn with<R>(&self, look: impl FnOnce(Option<&T>) -> R) -> R {
        let Some(top) = self.top.get() else {
            return look(None);
        };
        look(Some(&*Look::new(top)))
    }

    /// What is current, for code that cannot be a closure: `#[track_caller]` ends at one.
    #[inline]
    pub fn look(slot: &'static LocalKey<Self>) -> Option<Look<T>> {
        slot.with(|slot| slot.top.get()).map(Look::new)
    }

    /// A counted reference to what is current, for whoever keeps it longer than one call.
    pub fn cloned(&self) -> Option<Arc<T>> {
        let top = self.top.get()?;
        // SAFETY: [context.alive, context.one-thread] what `top` points to is allocated; nothing
        // runs in between, here or on another thread, that could drop a guard.
        let node = unsafe { top.as_ref() };
        debug_assert!(
            !node.left.get(),
            "context.top-live: a guard on top has left"
        );
        Some(Arc::clone(&node.value))
    }

    /// Unlinks every node at the top whose guard has left, then frees them, newest first.
    ///
    /// Freeing drops a value, which is somebody else's code and may look here: all of them are
    /// unlinked before the first is freed.
    fn settle(&self) {
        let first = self.top.get();
        let mut next = first;
        while let Some(top) = next {
            // SAFETY: [context.alive] a node reachable from the slot is allocated.
            let node = unsafe { top.as_ref() };
            if !node.left.get() {
                break;
            }
            next = node.below;
        }
        self.top.set(next);
        let mut doomed = first;
        while doomed != next {
            let Some(node) = doomed else { return };
            // SAFETY: [context.alive] the slot's pin is not given up yet.
            doomed = unsafe { node.as_ref() }.below;
            unpin(node);
        }
    }
}

impl<T: ?Sized + 'static> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: ?Sized + 'static> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot")
            .field("is_empty", &self.is_empty())
            .finish()
    }
}

/// Gives up a pin of a node, and frees the node if it was the last.
#[inline]
fn unpin<T: ?Sized>(node: NonNull<Node<T>>) {
    // SAFETY: [context.pinned] the caller's pin.
    let pins = unsafe { &node.as_ref().pins };
    pins.set(pins.get() - 1);
    if pins.get() == 0 {
        free(node);
    }
}

#[cold]
#[inline(never)]
fn free<T: ?Sized>(node: NonNull<Node<T>>) {
    // SAFETY: [context.pinned] no slot, no guard and no look reaches the node any more; it came
    // from `Box::leak` in `Entered::new`.
    drop(unsafe { Box::from_raw(node.as_ptr()) });
}

/// A look at what is current: it lives for as long as the look does, whatever happens to the guard
/// that put it there. See [`Slot::look`].
pub struct Look<T: ?Sized> {
    node: NonNull<Node<T>>,
    one_thread: PhantomData<*const ()>,
}

impl<T: ?Sized> Look<T> {
    #[inline]
    fn new(node: NonNull<Node<T>>) -> Self {
        let look = Self {
            node,
            one_thread: PhantomData,
        };
        debug_assert!(
            !look.node().left.get(),
            "context.top-live: a guard on top has left"
        );
        let pins = &look.node().pins;
        pins.set(pins.get() + 1);
        look
    }

    #[inline]
    fn node(&self) -> &Node<T> {
        // SAFETY: [context.pinned] the node is not freed while this look is counted.
        unsafe { self.node.as_ref() }
    }
}

impl<T: ?Sized> Deref for Look<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.node().value
    }
}

impl<T: ?Sized> Drop for Look<T> {
    #[inline]
    fn drop(&mut self) {
        unpin(self.node);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Look<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Look").field(&&**self).finish()
    }
}

/// Undoes one entering when dropped.
trait Leave {
    fn leave(&self);
}

struct Guard<T: ?Sized + 'static> {
    slot: &'static LocalKey<Slot<T>>,
    node: NonNull<Node<T>>,
}

impl<T: ?Sized + 'static> Leave for Guard<T> {
    fn leave(&self) {
        // SAFETY: [context.alive] the guard has not left yet, so the node is linked.
        let node = unsafe { self.node.as_ref() };
        node.left.set(true);
        self.slot.with(Slot::settle);
    }
}

/// Something is current on this thread until this is dropped.
///
/// Guards may be dropped in any order and on unwind; what was entered before the latest living
/// guard is current again afterwards. The guard borrows nothing and keeps what it entered alive.
/// It cannot leave its thread. Forgetting one leaves its value current, and leaks it, for the rest
/// of the thread's life.
///
/// One small allocation for each value entered.
#[must_use = "what was entered is current only while the guard lives"]
pub struct Entered {
    first: Option<Box<dyn Leave>>,
    rest: Vec<Box<dyn Leave>>,
    one_thread: PhantomData<*const ()>,
}

impl Entered {
    /// Makes `value` current in `slot` on this thread.
    pub fn new<T: ?Sized + 'static>(slot: &'static LocalKey<Slot<T>>, value: Arc<T>) -> Self {
        let node = slot.with(|slot| {
            let node = NonNull::from(Box::leak(Box::new(Node {
                value,
                below: slot.top.get(),
                left: Cell::new(false),
                pins: Cell::new(1),
            })));
            slot.top.set(Some(node));
            node
        });
        Self {
            first: Some(Box::new(Guard { slot, node })),
            rest: Vec::new(),
            one_thread: PhantomData,
        }
    }

    /// A guard for nothing, for a driver that has no context of its own.
    pub fn nothing() -> Self {
        Self {
            first: None,
            rest: Vec::new(),
            one_thread: PhantomData,
        }
    }

    /// Both guards in one; `inner`, entered later, is left first.
    pub fn and(mut self, mut inner: Entered) -> Self {
        if self.first.is_none() && self.rest.is_empty() {
            return inner;
        }
        self.rest.extend(inner.first.take());
        self.rest.append(&mut inner.rest);
        self
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        while let Some(guard) = self.rest.pop() {
            guard.leave();
        }
        if let Some(guard) = self.first.take() {
            guard.leave();
        }
    }
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = usize::from(self.first.is_some()) + self.rest.len();
        f.debug_struct("Entered").field("values", &count).finish()
    }
}

#[cfg(test)]
mod tests;

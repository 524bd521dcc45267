//! Values that belong to a task instead of a thread.
//!
//! A scope owns the value and the future that sees it. While the future is polled or dropped, the
//! key's slot on that thread points to the value; before and after, it points to what it pointed
//! to. So a value moves between threads with its future, costs one thread-local access a poll, and
//! allocates nothing.
//!
//! # Invariants
//!
//! - **task-local.alive** — a slot that is not empty points to a value whose owner is borrowed
//!   further down this thread's stack, by the call that put the pointer there: it neither moves nor
//!   ends before that call restores the slot.
//! - **task-local.nested** — whoever changes a slot puts back what was there, on unwind too.
//! - **task-local.seen** — the future is polled and dropped with its value in the slot, and its
//!   value is dropped after it, without.
//! - **task-local.pinned** — the future inside a [`Scope`] is pinned structurally.
//!
//! # Rejected
//!
//! - *Moving the value into the slot for each poll*: two moves of `T` a poll, and a slot that is
//!   borrowed while it is read, so that a scope inside [`TaskLocal::with`] would have to fail.
//! - *A map of values in the task*: a look-up a read, and an allocation a value; and it would not
//!   work under executors from elsewhere.
//! - *Handing values down to spawned tasks*: they would have to be cloned, or live as long as
//!   whatever is spawned. A task that should have the value is spawned with a scope of its own.

use mainspring_core::CancelSafe;
use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::{PhantomData, PhantomPinned};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};
use std::thread::LocalKey;

/// Declares keys of values that belong to a task: see [`TaskLocal`].
///
/// ```
/// use mainspring_executor::{block_on, task_local};
///
/// task_local! {
///     /// The request that is being served.
///     static REQUEST: u64;
///     pub static USER: String;
/// }
///
/// let seen = block_on(REQUEST.scope(7, async { REQUEST.get() + 1 }));
/// assert_eq!(seen, 8);
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty; $($rest:tt)*) => {
        $crate::task_local!($(#[$attribute])* $vis static $name: $type);
        $crate::task_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $vis:vis static $name:ident: $type:ty) => {
        $(#[$attribute])*
        $vis static $name: $crate::task_local::TaskLocal<$type> = {
            ::std::thread_local! {
                static SLOT: $crate::task_local::LocalSlot<$type> =
                    const { $crate::task_local::LocalSlot::new() };
            }
            $crate::task_local::TaskLocal::__new(&SLOT, ::std::stringify!($name))
        };
    };
}

/// What a key's slot on one thread points to.
#[doc(hidden)]
pub struct LocalSlot<T>(Cell<Option<NonNull<T>>>);

impl<T> LocalSlot<T> {
    /// An empty one.
    #[allow(clippy::new_without_default, reason = "made by the macro alone")]
    pub const fn new() -> Self {
        Self(Cell::new(None))
    }
}

/// The key of a value that belongs to a task, made by [`task_local!`](crate::task_local!).
///
/// A request's number, a trace's span, a connection's user: what everything that a task calls may
/// want to know, without handing it through. The value is there inside [`scope`](Self::scope) and
/// [`sync_scope`](Self::sync_scope), and nowhere else; it is shared, so what changes is a `Cell` or
/// a lock. Scopes nest: the innermost is seen. It works under any executor.
///
/// A task that is spawned inside a scope does not inherit it: wrap its future in a scope, too. For
/// what belongs to a thread there is `thread_local!`.
///
/// # Complexity and allocation
///
/// A read is one thread-local access, a poll inside a scope two. Nothing is allocated.
///
/// # Examples
///
/// ```
/// use mainspring_executor::{block_on, task_local};
///
/// task_local! {
///     static DEPTH: u32;
/// }
///
/// fn depth() -> u32 {
///     DEPTH.try_get().unwrap_or(0)
/// }
///
/// let depths = block_on(DEPTH.scope(1, async {
///     let inner = DEPTH.scope(depth() + 1, async { depth() }).await;
///     (depth(), inner)
/// }));
/// assert_eq!((depths, depth()), ((1, 2), 0));
/// ```
pub struct TaskLocal<T: 'static> {
    slot: &'static LocalKey<LocalSlot<T>>,
    name: &'static str,
}

impl<T: 'static> TaskLocal<T> {
    #[doc(hidden)]
    pub const fn __new(slot: &'static LocalKey<LocalSlot<T>>, name: &'static str) -> Self {
        Self { slot, name }
    }

    /// Runs `future` with `value`: it is what the key reads whenever `future` is polled, and while
    /// `future` is dropped. The value is dropped after the future.
    ///
    /// # Cancel safety
    ///
    /// That of `future`, which is dropped with it: *safe* if that one is.
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> Scope<T, F> {
        Scope {
            key: self,
            future: Some(future),
            value,
            _pinned: PhantomPinned,
        }
    }

    /// Calls `call` with `value` in the key's place.
    pub fn sync_scope<R>(&'static self, value: T, call: impl FnOnce() -> R) -> R {
        let _shown = self.show(&value);
        call()
    }

    /// Looks at the value.
    ///
    /// # Panics
    ///
    /// With `MS0014` outside every scope of the key; see [`try_with`](Self::try_with).
    #[track_caller]
    pub fn with<R>(&'static self, look: impl FnOnce(&T) -> R) -> R {
        match self.try_with(look) {
            Ok(result) => result,
            Err(error) => outside(error),
        }
    }

    /// Looks at the value, if there is one.
    ///
    /// # Errors
    ///
    /// [`OutsideScope`] outside every scope of the key.
    pub fn try_with<R>(&'static self, look: impl FnOnce(&T) -> R) -> Result<R, OutsideScope> {
        // A slot has no destructor, so it can be read while its thread ends.
        let Some(value) = self.slot.with(|slot| slot.0.get()) else {
            return Err(OutsideScope { key: self.name });
        };
        // SAFETY: [task-local.alive] the pointer's owner is further down this stack, and what
        // `look` changes in the slot it has restored when it returns.
        Ok(look(unsafe { value.as_ref() }))
    }

    /// A copy of the value.
    ///
    /// # Panics
    ///
    /// With `MS0014` outside every scope of the key; see [`try_get`](Self::try_get).
    #[track_caller]
    #[must_use]
    pub fn get(&'static self) -> T
    where
        T: Clone,
    {
        match self.try_get() {
            Ok(value) => value,
            Err(error) => outside(error),
        }
    }

    /// A copy of the value, if there is one.
    ///
    /// # Errors
    ///
    /// [`OutsideScope`] outside every scope of the key.
    pub fn try_get(&'static self) -> Result<T, OutsideScope>
    where
        T: Clone,
    {
        self.try_with(T::clone)
    }

    /// Points the slot to `value` until what this returns is dropped.
    fn show<'a>(&'static self, value: &'a T) -> Shown<'a, T> {
        let value = NonNull::from(value);
        let before = self.slot.with(|slot| slot.0.replace(Some(value)));
        Shown {
            key: self,
            before,
            value: PhantomData,
        }
    }
}

#[cold]
#[track_caller]
fn outside(error: OutsideScope) -> ! {
    // PANIC: documented at the callers; `try_with` and `try_get` are the forms without.
    panic!("{error}")
}

impl<T> fmt::Debug for TaskLocal<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskLocal").field(&self.name).finish()
    }
}

/// Restores a slot. It never leaves the functions here, so it is dropped in the order of the stack.
struct Shown<'a, T: 'static> {
    key: &'static TaskLocal<T>,
    before: Option<NonNull<T>>,
    value: PhantomData<&'a T>,
}

impl<T> Drop for Shown<'_, T> {
    fn drop(&mut self) {
        // CLAIM: [task-local.nested] also when what was called unwinds.
        self.key.slot.with(|slot| slot.0.set(self.before));
    }
}

/// The key has no value here: this is outside every scope of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutsideScope {
    /// The key's name.
    pub key: &'static str,
}

impl OutsideScope {
    /// Whether trying again may help: never, from the same place.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        false
    }
}

impl fmt::Display for OutsideScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key;
        write!(
            f,
            "MS0014: the task-local `{key}` has no value here; run what needs it inside \
             `{key}.scope(value, future)`, spawned tasks too (docs/errors.md)"
        )
    }
}

impl Error for OutsideScope {}

/// The future of [`TaskLocal::scope`].
///
/// # Cancel safety
///
/// That of the future inside, which is dropped with it: *safe* if that one is.
///
/// # Panics
///
/// With `MS0017` when it is polled after it was ready.
#[must_use = "futures do nothing unless polled"]
pub struct Scope<T: 'static, F> {
    key: &'static TaskLocal<T>,
    future: Option<F>,
    value: T,
    /// The slot points into it during a poll.
    _pinned: PhantomPinned,
}

impl<T, F> Scope<T, F> {
    /// The two parts, apart.
    fn project(self: Pin<&mut Self>) -> (&'static TaskLocal<T>, Pin<&mut Option<F>>, &T) {
        // SAFETY: [task-local.pinned] the future is pinned again in the next line and never moved;
        // `Scope` is `Unpin` for no `F`, and its `Drop` drops the future in place.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [task-local.pinned] as above.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        (this.key, future, &this.value)
    }
}

impl<T, F: Future> Future for Scope<T, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let (key, mut slot, value) = self.project();
        let Some(future) = slot.as_mut().as_pin_mut() else {
            // PANIC: documented above.
            panic!("MS0017: a task-local's scope was polled after its end (docs/errors.md)");
        };
        // CLAIM: [task-local.seen] in `poll`, and in the destructor that follows the last.
        let _shown = key.show(value);
        let polled = future.poll(cx);
        if polled.is_ready() {
            slot.set(None);
        }
        polled
    }
}

impl<T, F: CancelSafe> CancelSafe for Scope<T, F> {
    const KEEPS_PLACE: bool = F::KEEPS_PLACE;
}

impl<T, F> Drop for Scope<T, F> {
    fn drop(&mut self) {
        // SAFETY: [task-local.pinned] whether it was pinned or not, it is not moved any more.
        let this = unsafe { Pin::new_unchecked(self) };
        let (key, mut future, value) = this.project();
        // CLAIM: [task-local.seen] the value goes with the fields, after this.
        let _shown = key.show(value);
        future.set(None);
    }
}

impl<T, F> fmt::Debug for Scope<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("key", &self.key.name)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(mainspring_loom)))]
mod tests;

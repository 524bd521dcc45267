//! A value that only its home thread may touch, inside something that every thread may hold.
//!
//! # Invariants
//!
//! - **bound.home** — the value is reached only on the thread that made it: an access compares that
//!   thread's number with the caller's, or its caller has done so.
//! - **bound.number** — two threads never have the same number, also after one has ended. (The
//!   address of a thread-local would be reused, and `std`'s own id costs a reference count.)
//! - **bound.drop** — the value is dropped on its home thread; if the last holder is another
//!   thread it is leaked. Whoever binds a value that owns something empties it at home first.

use mainspring_core::sync::cell::UnsafeCell;
use mainspring_core::sync::global::AtomicU64;
use mainspring_core::sync::thread_local;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The number of the calling thread: one thread-local load after the first call.
#[inline]
pub(crate) fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // CLAIM: [bound.number] 64 bits of a counter that only grows.
    NUMBER.with(|cell| {
        if cell.get() == 0 {
            cell.set(NEXT.fetch_add(1, Relaxed));
        }
        cell.get()
    })
}

/// A `T` of one thread.
pub(crate) struct Bound<T> {
    home: u64,
    value: ManuallyDrop<UnsafeCell<T>>,
}

// SAFETY: [bound.home] another thread that holds a reference cannot reach the value with it.
unsafe impl<T> Sync for Bound<T> {}

// SAFETY: [bound.home] [bound.drop] another thread that owns this can neither reach nor drop the
// value.
unsafe impl<T> Send for Bound<T> {}

impl<T> Bound<T> {
    /// Binds `value` to the calling thread.
    pub(crate) fn new(value: T) -> Self {
        Self {
            home: thread_number(),
            value: ManuallyDrop::new(UnsafeCell::new(value)),
        }
    }

    /// Whether the calling thread is the home.
    #[inline]
    pub(crate) fn is_home(&self) -> bool {
        // CLAIM: [bound.number] the home has a number, and a thread without one has zero here.
        self.home == NUMBER.with(Cell::get)
    }

    /// Calls `look` with the value, on its home thread only.
    #[inline]
    pub(crate) fn with<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        if !self.is_home() {
            return None;
        }
        // SAFETY: [bound.home] just compared.
        Some(unsafe { self.at_home(look) })
    }

    /// As [`with`](Self::with), for who knows already where it is.
    ///
    /// # Safety
    ///
    /// The calling thread is the home.
    #[inline]
    pub(crate) unsafe fn at_home<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        debug_assert!(self.is_home(), "bound.home: reached from elsewhere");
        // SAFETY: [bound.home] this is the only thread that reaches the value, and it makes shared
        // references only.
        self.value.with(|value| look(unsafe { &*value }))
    }
}

impl<T> Drop for Bound<T> {
    fn drop(&mut self) {
        if self.is_home() {
            // SAFETY: [bound.drop] this is the home thread, and a destructor runs once.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[cfg(all(test, not(mainspring_loom)))]
mod tests;

//! The door in the model's build: loom's primitives under the names of `sync/std.rs`.

pub use crate::__loom_thread_local as thread_local;
#[doc(hidden)]
pub use ::loom as loom_crate;
pub use ::loom::sync::Arc;
pub use ::loom::thread::LocalKey;

/// loom's `thread_local!` for statics with a `const` initialiser, a form that its own refuses.
#[doc(hidden)]
#[macro_export]
macro_rules! __loom_thread_local {
    ($($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block $(;)?)*) => {
        $($crate::sync::loom_crate::thread_local! { $(#[$attr])* $vis static $name: $t = $init; })*
    };
}

/// Atomic integers, pointers and fences.
pub mod atomic {
    pub use ::loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };

    /// The acquire half of a reference count's last decrement (`fetch_sub` with `Release` before).
    pub fn acquire_last(_counter: &AtomicUsize) {
        // ORDERING: [door.last-ref] as in `sync/std.rs`.
        fence(Ordering::Acquire);
    }
}

/// Interior mutability whose every access loom watches.
pub mod cell {
    /// loom's cell, with the `into_inner` that it lacks.
    #[derive(Debug)]
    pub struct UnsafeCell<T: ?Sized>(::loom::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Wraps a value.
        pub fn new(value: T) -> Self {
            Self(::loom::cell::UnsafeCell::new(value))
        }

        /// Unwraps the value.
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        /// Calls `f` with a pointer for shared access.
        #[track_caller]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            self.0.with(f)
        }

        /// Calls `f` with a pointer for exclusive access.
        #[track_caller]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            self.0.with_mut(f)
        }
    }

    impl<T: Default> Default for UnsafeCell<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }
}

/// loom's mutex, without poisoning.
#[derive(Debug)]
pub struct Mutex<T>(::loom::sync::Mutex<T>);

/// Access to the data of a [`Mutex`] while it is held.
pub type MutexGuard<'a, T> = ::loom::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(::loom::sync::Mutex::new(value))
    }

    /// Unwraps the value.
    pub fn into_inner(self) -> T {
        self.0
            .into_inner()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }

    /// Locks, blocking the modelled thread until the lock is free.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }

    /// Locks if the lock is free.
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

/// loom's mutex in place of the brief lock, which has models of its own.
pub type Brief<T> = Mutex<T>;

/// Access to the data of a [`Brief`] while it is held.
pub type BriefGuard<'a, T> = MutexGuard<'a, T>;

/// loom's read-write lock, without poisoning.
#[derive(Debug)]
pub struct RwLock<T>(::loom::sync::RwLock<T>);

/// Shared access to the data of a [`RwLock`] while it is held.
pub type RwLockReadGuard<'a, T> = ::loom::sync::RwLockReadGuard<'a, T>;

/// Exclusive access to the data of a [`RwLock`] while it is held.
pub type RwLockWriteGuard<'a, T> = ::loom::sync::RwLockWriteGuard<'a, T>;

impl<T> RwLock<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(::loom::sync::RwLock::new(value))
    }

    /// Locks for reading, blocking the modelled thread while another writes.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0
            .read()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }

    /// Locks for writing, blocking the modelled thread while another reads or writes.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0
            .write()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }
}

/// loom's condition variable, for [`Mutex`].
#[derive(Debug)]
pub struct Condvar(::loom::sync::Condvar);

impl Condvar {
    /// Makes one that nobody waits on.
    pub fn new() -> Self {
        Self(::loom::sync::Condvar::new())
    }

    /// Gives the lock up, waits for a notification, and locks again.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0
            .wait(guard)
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }

    /// As [`wait`](Self::wait): in a model no limit ever passes.
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _limit: ::std::time::Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        (self.wait(guard), false)
    }

    /// Wakes one waiter.
    #[track_caller]
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes every waiter.
    #[track_caller]
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

/// Threads.
pub mod thread {
    pub use ::loom::thread::{
        Builder, JoinHandle, Thread, ThreadId, current, park, spawn, yield_now,
    };

    /// Lets the other threads run: no time passes in a model.
    pub fn sleep(_: ::std::time::Duration) {
        yield_now();
    }
}

/// Raw memory, whose leaks and double frees loom reports.
pub mod alloc {
    pub use ::loom::alloc::{Layout, alloc, dealloc};
    pub use ::std::alloc::handle_alloc_error;
}

/// Nothing: an execution has to be the same when it is run again.
pub fn entropy() -> u64 {
    0
}

/// Hints to the processor.
pub mod hint {
    pub use ::loom::hint::spin_loop;
}

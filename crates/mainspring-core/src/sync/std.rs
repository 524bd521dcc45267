//! The door in every build but the model's: the standard library, with locks that do not poison.

pub use ::std::sync::Arc;
pub use ::std::thread::LocalKey;
pub use ::std::thread_local;

/// Atomic integers, pointers and fences.
pub mod atomic {
    pub use ::std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };

    /// The acquire half of a reference count's last decrement (`fetch_sub` with `Release` before).
    #[cfg(not(mainspring_tsan))]
    #[inline(always)]
    pub fn acquire_last(_counter: &AtomicUsize) {
        // ORDERING: [door.last-ref] Acquire fence, pairs with the `Release` decrement of every
        // other holder, so that whoever frees sees what they wrote. Named and argued by the caller.
        fence(Ordering::Acquire);
    }

    /// The acquire half of a reference count's last decrement, in a form ThreadSanitizer models.
    #[cfg(mainspring_tsan)]
    #[inline(always)]
    pub fn acquire_last(counter: &AtomicUsize) {
        // ORDERING: [door.last-ref] Acquire load of the counter itself: ThreadSanitizer does not
        // model fences. Pairs with the `Release` decrements, as the fence above does.
        let _ = counter.load(Ordering::Acquire);
    }
}

/// Interior mutability whose every access is a closure, so that loom can watch it.
pub mod cell {
    /// [`std::cell::UnsafeCell`] with loom's interface.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub struct UnsafeCell<T: ?Sized>(::std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Wraps a value.
        #[inline(always)]
        pub const fn new(value: T) -> Self {
            Self(::std::cell::UnsafeCell::new(value))
        }

        /// Unwraps the value.
        #[inline(always)]
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        /// Calls `f` with a pointer for shared access.
        #[inline(always)]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with a pointer for exclusive access.
        #[inline(always)]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

/// A mutex that does not poison: a panic under a lock of ours leaves data that is still whole.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(::std::sync::Mutex<T>);

/// Access to the data of a [`Mutex`] while it is held.
pub type MutexGuard<'a, T> = ::std::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// Wraps a value.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(::std::sync::Mutex::new(value))
    }

    /// Unwraps the value.
    pub fn into_inner(self) -> T {
        self.0
            .into_inner()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks, blocking the thread until the lock is free.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }

    /// Locks if the lock is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(::std::sync::TryLockError::Poisoned(poison)) => Some(poison.into_inner()),
            Err(::std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

pub use super::brief::{Brief, BriefGuard};

/// A read-write lock that does not poison.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(::std::sync::RwLock<T>);

/// Shared access to the data of a [`RwLock`] while it is held.
pub type RwLockReadGuard<'a, T> = ::std::sync::RwLockReadGuard<'a, T>;

/// Exclusive access to the data of a [`RwLock`] while it is held.
pub type RwLockWriteGuard<'a, T> = ::std::sync::RwLockWriteGuard<'a, T>;

impl<T> RwLock<T> {
    /// Wraps a value.
    #[inline]
    pub const fn new(value: T) -> Self {
        Self(::std::sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading, blocking the thread while somebody writes.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0
            .read()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }

    /// Locks for writing, blocking the thread while anybody reads or writes.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0
            .write()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }
}

/// A condition variable for [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(::std::sync::Condvar);

impl Condvar {
    /// Makes one that nobody waits on.
    pub const fn new() -> Self {
        Self(::std::sync::Condvar::new())
    }

    /// Gives the lock up, waits for a notification (or a spurious wake), and locks again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0
            .wait(guard)
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }

    /// As [`wait`](Self::wait), for at most `limit`. The flag says whether the limit passed.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: ::std::time::Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let (guard, result) = self
            .0
            .wait_timeout(guard, limit)
            .unwrap_or_else(::std::sync::PoisonError::into_inner);
        (guard, result.timed_out())
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes every waiter.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Threads.
pub mod thread {
    pub use ::std::thread::{
        Builder, JoinHandle, Thread, ThreadId, current, park, sleep, spawn, yield_now,
    };
}

/// Raw memory, whose leaks and double frees loom reports.
pub mod alloc {
    pub use ::std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
}

/// What the operating system gave the standard library for its hash maps: another value for each
/// call.
#[cold]
pub fn entropy() -> u64 {
    use ::std::hash::BuildHasher;
    ::std::hash::RandomState::new().hash_one(0)
}

/// Hints to the processor.
pub mod hint {
    pub use ::std::hint::spin_loop;
}

//! The door under shuttle: its primitives under the names of `sync/std.rs`.
//!
//! All threads of an execution are coroutines of one thread of the operating system, and a
//! scheduler decides before each operation on a primitive which of them goes on. Every operation is
//! sequentially consistent: that orderings suffice is what loom shows. What is found here is logic
//! that goes wrong in some order of steps, in compositions that loom could not finish.
//!
//! # Invariants
//!
//! - **shuttle.cell** — an access to an [`UnsafeCell`](cell::UnsafeCell) is an interval with a step
//!   of the scheduler in it: two that nothing orders overlap in some execution, and the second
//!   one panics.
//!
//! # Rejected
//!
//! shuttle's vector clocks, which could tell of a race without seeing it: each step would carry
//! them, and an execution is cheap.

mod explore;
mod wait;

pub use self::explore::{below, elapsed, entropy, explore};
pub use self::wait::{Crew, block_on, wait_or_drop};
pub use ::shuttle::thread::LocalKey;
pub use ::shuttle::thread_local;
/// The standard library's: when the last reference goes is not a step of its own.
pub use ::std::sync::Arc;

/// Atomic integers, pointers and fences.
pub mod atomic {
    pub use ::shuttle::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };

    /// The acquire half of a reference count's last decrement (`fetch_sub` with `Release` before).
    pub fn acquire_last(_counter: &AtomicUsize) {
        // ORDERING: [door.last-ref] as in `sync/std.rs`.
        fence(Ordering::Acquire);
    }
}

/// Interior mutability of which shuttle knows nothing, and which watches itself.
pub mod cell {
    use ::shuttle::current::try_get_current_task;
    use ::shuttle::thread;
    use ::std::cell::Cell;
    use ::std::time::Duration;

    /// How many look at a cell: shared accesses count up, an exclusive one is −1.
    #[derive(Debug, Default)]
    struct Watch(Cell<isize>);

    /// One access, until it is dropped.
    struct Access<'a>(&'a Watch, isize);

    impl Watch {
        #[track_caller]
        fn enter(&self, by: isize) -> Access<'_> {
            let found = self.0.get();
            let is_free = if by < 0 { found == 0 } else { found >= 0 };
            assert!(
                is_free,
                "shuttle.cell: two accesses to a cell that nothing orders"
            );
            self.0.set(found + by);
            let access = Access(self, by);
            step();
            access
        }
    }

    impl Drop for Access<'_> {
        fn drop(&mut self) {
            self.0.0.set(self.0.0.get() - self.1);
        }
    }

    /// Lets the scheduler decide, where there is one. (Values are dropped after an execution, too.)
    fn step() {
        if try_get_current_task().is_some() && !::std::thread::panicking() {
            thread::sleep(Duration::ZERO);
        }
    }

    /// [`std::cell::UnsafeCell`] with loom's interface.
    #[derive(Debug, Default)]
    pub struct UnsafeCell<T: ?Sized> {
        watch: Watch,
        value: ::std::cell::UnsafeCell<T>,
    }

    impl<T> UnsafeCell<T> {
        /// Wraps a value.
        pub const fn new(value: T) -> Self {
            Self {
                watch: Watch(Cell::new(0)),
                value: ::std::cell::UnsafeCell::new(value),
            }
        }

        /// Unwraps the value.
        pub fn into_inner(self) -> T {
            self.value.into_inner()
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        /// Calls `f` with a pointer for shared access.
        #[track_caller]
        pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            let _access = self.watch.enter(1);
            f(self.value.get())
        }

        /// Calls `f` with a pointer for exclusive access.
        #[track_caller]
        pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            let _access = self.watch.enter(-1);
            f(self.value.get())
        }
    }
}

/// shuttle's mutex, without poisoning.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(::shuttle::sync::Mutex<T>);

/// Access to the data of a [`Mutex`] while it is held.
pub type MutexGuard<'a, T> = ::shuttle::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(::shuttle::sync::Mutex::new(value))
    }

    /// Unwraps the value.
    pub fn into_inner(self) -> T {
        self.0
            .into_inner()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks, blocking the simulated thread until the lock is free.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0
            .lock()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }

    /// Locks if the lock is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(::std::sync::TryLockError::Poisoned(poison)) => Some(poison.into_inner()),
            Err(::std::sync::TryLockError::WouldBlock) => None,
        }
    }
}

/// shuttle's mutex in place of the brief lock, whose sleeps are no steps that anybody waits for.
pub type Brief<T> = Mutex<T>;

/// Access to the data of a [`Brief`] while it is held.
pub type BriefGuard<'a, T> = MutexGuard<'a, T>;

/// shuttle's read-write lock, without poisoning.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(::shuttle::sync::RwLock<T>);

/// Shared access to the data of a [`RwLock`] while it is held.
pub type RwLockReadGuard<'a, T> = ::shuttle::sync::RwLockReadGuard<'a, T>;

/// Exclusive access to the data of a [`RwLock`] while it is held.
pub type RwLockWriteGuard<'a, T> = ::shuttle::sync::RwLockWriteGuard<'a, T>;

impl<T> RwLock<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(::shuttle::sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading, blocking the simulated thread while another writes.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0
            .read()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }

    /// Locks for writing, blocking the simulated thread while another reads or writes.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0
            .write()
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }
}

/// shuttle's condition variable, for [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(::shuttle::sync::Condvar);

impl Condvar {
    /// Makes one that nobody waits on.
    pub const fn new() -> Self {
        Self(::shuttle::sync::Condvar::new())
    }

    /// Gives the lock up, waits for a notification, and locks again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0
            .wait(guard)
            .unwrap_or_else(::std::sync::PoisonError::into_inner)
    }

    /// As [`wait`](Self::wait): in an execution no limit ever passes.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _limit: ::std::time::Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        (self.wait(guard), false)
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
    pub use ::shuttle::thread::{
        Builder, JoinHandle, Thread, ThreadId, current, park, sleep, spawn, yield_now,
    };
}

/// Raw memory. What an execution has not given back when it is over shows as a leak.
pub mod alloc {
    pub use super::explore::{alloc, dealloc};
    pub use ::std::alloc::{Layout, handle_alloc_error};
}

/// Hints to the processor.
pub mod hint {
    pub use ::shuttle::hint::spin_loop;
}

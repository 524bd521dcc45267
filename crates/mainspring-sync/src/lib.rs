//! Channels, locks and permits for tasks, under any executor.

mod block;
pub mod broadcast;
pub mod condvar;
pub mod mutex;
pub mod rwlock;
pub mod semaphore;

#[doc(inline)]
pub use self::condvar::Condvar;
#[doc(inline)]
pub use self::mutex::{Mutex, MutexGuard, OwnedMutexGuard};
#[doc(inline)]
pub use self::rwlock::{RwLock, RwLockReadGuard, RwLockUpgradableGuard, RwLockWriteGuard};
#[doc(inline)]
pub use self::semaphore::Semaphore;
pub mod notify;
pub mod oneshot;
mod parked;
pub mod wait_group;

pub use self::notify::Notify;
pub use self::wait_group::WaitGroup;
pub mod channel;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

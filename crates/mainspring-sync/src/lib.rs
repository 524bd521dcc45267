//! Channels, locks and permits for tasks, under any executor.

pub mod barrier;
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
pub mod lazy;
pub mod notify;
pub mod once_cell;
pub mod oneshot;
mod parked;
pub mod set_once;
pub mod wait_group;
pub mod watch;

pub use self::barrier::Barrier;
pub use self::lazy::Lazy;
pub use self::notify::Notify;
pub use self::once_cell::OnceCell;
pub use self::set_once::SetOnce;
pub use self::wait_group::WaitGroup;
pub mod channel;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

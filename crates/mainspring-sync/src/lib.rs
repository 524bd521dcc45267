//! Channels, locks and permits for tasks, under any executor.
//!
//! | item | what it is |
//! |---|---|
//! | [`channel`] | messages from many senders to many receivers, in order |
//! | [`oneshot`] | one value from one sender to one receiver |
//! | [`watch`] | the latest value, for any number of receivers |
//! | [`broadcast`] | every message to every receiver, lossy or lossless |
//! | [`Mutex`], [`RwLock`], [`Condvar`] | one value, shared across `.await` points |
//! | [`Semaphore`] | permits, by weight, with bounded overtaking |
//! | [`Notify`] | that something happened, with one notification kept |
//! | [`Barrier`], [`WaitGroup`] | that all are here; that all have ended |
//! | [`OnceCell`], [`SetOnce`], [`Lazy`] | a value that is made once |
//!
//! # Under any executor, and without one
//!
//! Nothing here needs a runtime, a timer or a thread of its own. Tasks of this family's executors,
//! tasks of tokio's and smol's, and plain threads (the forms that end in `_blocking` and
//! `_timeout`) may stand at the ends of one channel.
//!
//! # What a dropped future costs
//!
//! Every future says in *Cancel safety* what is lost when it is dropped before it is ready:
//! nothing (*safe*), its turn (*loses place*), or what it carries (*loses value*). Those that lose
//! nothing, or only their turn, are [`CancelSafe`](mainspring_core::CancelSafe). Whatever such a
//! future had been given, a message's notification, a permit, a lock, goes to the next that waits.
//!
//! # What wakes whom
//!
//! Wakers are called without any lock, and so is the code of users: a waker, a `Clone` or a `Drop`
//! that comes back to the same primitive finds it whole. As many are woken as there is something
//! for.
//!
//! # Futures that are kept and not polled
//!
//! What was given to a future, a lock, a permit, room in a channel, is that future's until it is
//! polled or dropped. A task that keeps one and waits for something else holds up those behind it:
//! drop what lost a race. Whatever the executor, another future of the same task takes over what it
//! needs; of the same task is what is polled inside one task of the family, or else with the same
//! waker. [`Mutex`], [`RwLock`], [`Semaphore`], [`Condvar`] and [`Notify`] name what was given and
//! not fetched (`diagnose`); so do the ends of channels. All of the five but `Notify` have a
//! `revocable` form, from which an executor of the family takes it back; channels have none. A
//! receiver that is used as a stream, and a sender that is used as a sink, keep their place
//! themselves: see [`channel::Receiver`].

pub mod barrier;
mod block;
pub mod broadcast;
pub mod channel;
pub mod condvar;
pub mod lazy;
pub mod mutex;
pub mod notify;
pub mod once_cell;
pub mod oneshot;
mod parked;
mod room;
pub mod rwlock;
pub mod semaphore;
pub mod set_once;
mod unwind;
pub mod wait_group;
pub mod watch;

#[doc(inline)]
pub use self::barrier::Barrier;
#[doc(inline)]
pub use self::condvar::Condvar;
#[doc(inline)]
pub use self::lazy::Lazy;
#[doc(inline)]
pub use self::mutex::{Mutex, MutexGuard, OwnedMutexGuard};
#[doc(inline)]
pub use self::notify::Notify;
#[doc(inline)]
pub use self::once_cell::OnceCell;
#[doc(inline)]
pub use self::rwlock::{RwLock, RwLockReadGuard, RwLockUpgradableGuard, RwLockWriteGuard};
#[doc(inline)]
pub use self::semaphore::Semaphore;
#[doc(inline)]
pub use self::set_once::SetOnce;
#[doc(inline)]
pub use self::wait_group::WaitGroup;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// A ring for values that no machine has room for: a panic and not an abort. It is tried here,
/// since a sanitizer, which builds every other test, cannot compile frames of that size.
///
/// ```
/// for capacity in [1, 4_096] {
///     let refused = std::panic::catch_unwind(|| {
///         drop(mainspring_sync::channel::bounded::<[u8; 1 << 50]>(capacity));
///     });
///     let payload = refused.expect_err("there is no such memory");
///     let message = payload.downcast_ref::<String>().expect("a message");
///     assert!(message.starts_with("MS0016: a channel of "), "{message}");
/// }
/// ```
#[cfg(doctest)]
struct TooLarge;

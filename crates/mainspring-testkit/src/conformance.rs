//! The suite: what every primitive that tasks wait on owes them, as cases with names.
//!
//! A primitive is plugged in by a [`Subject`]: how one is made, how a task waits on it, how it is
//! granted what it waits for, and a [`Shape`] that says what kind of primitive it is. Cases that
//! its shape rules out are skipped, and say why. Channels are also plugged in as a [`Channel`], for
//! what concerns their values.
//!
//! Each case runs on a thread of its own, which a watchdog waits for. One that does not come back
//! in time is reported as hung, with the step that it hangs in, and its thread is left behind: it
//! owns all that it uses, so that nothing but the rest of the process's life is spent on it. A case
//! that hangs in a loop keeps a processor busy until then.

mod cases;
mod channel;
mod closing;
mod drops;
mod full;
mod memory;
mod order;
mod panics;
mod parcel;
mod races;
mod reentry;
mod report;
mod sends;
mod shape;
mod spent;
mod suite;
mod trail;
mod wakers;
mod world;

pub use self::cases::{Case, Luck, channel_cases, subject_cases};
pub use self::channel::{Channel, ChannelShape, Sent};
pub use self::parcel::{Parcel, Parcels};
pub use self::report::{Outcome, Report};
pub use self::shape::Shape;
pub use self::suite::Suite;
pub use self::trail::{Check, Miss, Trail};

use crate::hand::Boxed;
use crate::sync::Arc;

/// What a wait ended in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waited {
    /// The waiter was granted what it waited for, and has **used it up**: the message is received,
    /// the permit forgotten, the notification consumed.
    Granted,
    /// The primitive was closed.
    Closed,
}

/// A primitive in the hands of the suite.
///
/// The suite speaks of *grants*: one is what lets one waiter go on. For a semaphore it is a permit,
/// for a channel a message (or, seen from a sender, a free slot), for an event a notification, for
/// a mutex that the lock is free.
///
/// ```
/// use std::sync::Arc;
/// use mainspring_testkit::conformance::{Shape, Subject, Waited};
/// use mainspring_testkit::Boxed;
/// # use mainspring_core::wait_list::{From, Kind, Queue, WaitList, Waiter, Why};
/// # use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// # use std::{future::poll_fn, pin::pin};
/// # struct Permits(AtomicUsize);
/// # impl Permits {
/// #     fn add(&self, queue: &mut Queue<'_, Self>) {
/// #         if !queue.wake_one(From::Oldest) {
/// #             self.0.fetch_add(1, Relaxed);
/// #         }
/// #     }
/// #     fn take(&self) -> Option<Permit> {
/// #         let taken = self.0.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(1));
/// #         taken.ok().map(|_| Permit)
/// #     }
/// # }
/// # impl Kind for Permits {
/// #     type Key = ();
/// #     fn returned(&self, queue: &mut Queue<'_, Self>, _: &(), _: From) {
/// #         self.add(queue);
/// #     }
/// # }
/// # struct Semaphore(WaitList<Permits>);
/// # struct Permit;
/// # impl Permit {
/// #     fn forget(self) {}
/// # }
/// # impl Semaphore {
/// #     fn new(permits: usize) -> Self {
/// #         Self(WaitList::new(Permits(AtomicUsize::new(permits))))
/// #     }
/// #     fn add_permits(&self, permits: usize) {
/// #         (0..permits).for_each(|_| self.0.with(|queue| queue.kind().add(queue)));
/// #     }
/// #     async fn acquire(&self) -> Permit {
/// #         let mut waiter = pin!(Waiter::new(&self.0, ()));
/// #         poll_fn(|cx| {
/// #             waiter.as_mut().poll_wait(cx, |queue, (), why| match why {
/// #                 Why::Offered(_) => Some(Permit),
/// #                 _ => queue.kind().take(),
/// #             })
/// #         })
/// #         .await
/// #     }
/// # }
/// struct OnSemaphore(Semaphore);
///
/// impl Subject for OnSemaphore {
///     fn shape() -> Shape {
///         Shape::counting().fifo()
///     }
///
///     fn new() -> Self {
///         Self(Semaphore::new(0))
///     }
///
///     fn wait(self: &Arc<Self>) -> Boxed<Waited> {
///         let this = Arc::clone(self);
///         Box::pin(async move {
///             this.0.acquire().await.forget();
///             Waited::Granted
///         })
///     }
///
///     fn grant(&self) {
///         self.0.add_permits(1);
///     }
/// }
///
/// mainspring_testkit::assert_conforms!(OnSemaphore);
/// ```
pub trait Subject: Send + Sync + Sized + 'static {
    /// What kind of primitive it is.
    fn shape() -> Shape;

    /// A fresh one, with nothing granted: no permit, no message, the lock held by the suite.
    fn new() -> Self;

    /// A future that waits for one grant and, when it gets it, uses it up before it is ready.
    ///
    /// It must do nothing before it is first polled, and hold nothing but the primitive's own
    /// future besides an `Arc` of this.
    fn wait(self: &Arc<Self>) -> Boxed<Waited>;

    /// Grants once: adds a permit, sends a message, notifies one, frees the lock.
    ///
    /// It must not hold a lock of its own while it calls the primitive, which calls wakers.
    fn grant(&self) {}

    /// Grants so many times in one call of the primitive's. `false` if it has no such call.
    fn grant_many(&self, count: usize) -> bool {
        let _ = count;
        false
    }

    /// Releases everybody who waits now, if the shape says that it [can](Shape::releases_all).
    fn grant_all(&self) {}

    /// Closes it, if the shape says that it [can be](Shape::closes).
    fn close(&self) {}
}

/// Runs every case on `S`, and returns what became of each.
pub fn check<S: Subject>() -> Report {
    Suite::of_subject::<S>().run()
}

/// Runs every case about values on `C`, and returns what became of each.
pub fn check_channel<C: Channel>() -> Report {
    Suite::of_channel::<C>().run()
}

/// Runs every case on a [`Subject`] and panics with the report if one fails.
#[macro_export]
macro_rules! assert_conforms {
    ($subject:ty $(,)?) => {
        $crate::conformance::check::<$subject>().assert_clean()
    };
}

/// Runs every case about values on a [`Channel`] and panics with the report if one fails.
#[macro_export]
macro_rules! assert_channel_conforms {
    ($channel:ty $(,)?) => {
        $crate::conformance::check_channel::<$channel>().assert_clean()
    };
}

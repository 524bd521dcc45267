//! The locked, intrusive first-in first-out list of waiters that every primitive parks on.
//!
//! A primitive (semaphore, channel end, cancel token) is a [`Kind`], the few words that its fast
//! path reads, inside a [`WaitList`]. A future that has to wait contains a [`Waiter`]; its node is
//! linked while it is pinned, so that waiting allocates nothing. Whoever frees something calls
//! [`WaitList::wake_one`], which *offers* it to a waiter; the waiter owns it when it is polled
//! next.
//!
//! # States of a waiter
//!
//! ```text
//!           look: none              wake_one              look: some
//!   IDLE ─────────────▶ WAITING ─────────────▶ OFFERED ─────────────▶ IDLE
//!    ▲                   │   ▲                    │
//!    │ wake_all, release │   │ polled             │ its task polls another waiter, or ends a poll
//!    │ polled            ▼   │                    ▼ without it (revocable)
//!    └──────────────  RELEASED        LAPSED ◀────┘
//! ```
//!
//! An offer lies in a list under the lock, where a waiter of the same task finds it; or, while it
//! is the only one, in a slot beside the lock, out of which its own waiter can take it without
//! ([`Waiter::take_offer`]). Where two tasks take turns, these locks are what a message costs, so
//! the lock is a brief one.
//!
//! From every state a drop leads out: a WAITING one unlinks, an OFFERED one hands the offer on to
//! the next waiter in the same order, a RELEASED or LAPSED one owes nothing.
//!
//! # Invariants
//!
//! - **wait-list.node** — a node is linked only while its waiter is pinned and alive, and unlinks
//!   under the lock before it dies; a forgotten waiter's node is never freed.
//! - **wait-list.state** — a linked node's state is touched only by whoever holds the lock; an
//!   unlinked one's only by its owner.
//! - **wait-list.lone** — a node in the slot is in no list, has been woken, and is touched by
//!   nobody until it was taken out of the slot: by its owner; or under the lock by a poll of the
//!   task that the offer was made to, which is no other thread's while the owner's is, or, in lists
//!   whose kind says so, by whoever takes it back. The slot is filled under the lock and only while
//!   it is empty.
//! - **wait-list.hand-on** — an offer is taken by a poll, or comes back to the kind exactly once.
//! - **wait-list.newcomers** — a release of all reaches those that waited when it was made; who
//!   waits later is in the next one, however many batches the waking takes.
//! - **wait-list.order** — offers are made in the order of arrival (or its reverse, on request),
//!   and a waiter that looked in vain or lost its offer keeps its place.
//! - **wait-list.outside** — no waker is cloned, woken or dropped under the lock, and no key is
//!   dropped under it.
//! - **wait-list.woken** — a waiter that is offered or released is woken by whoever did it, after
//!   the lock was released; one that has been woken and not polled since needs no other wake.
//! - **wait-list.revoke** — an offer is revoked only when a poll of its task that began after it
//!   ends with the offer untaken.
//! - **wait-list.inline** — a list of a kind that cannot be revocable lies in its primitive.
//! - **wait-list.retired** — what revoking reaches is a waiter's own node and the heap's part of
//!   its list, in which it has a share; the list's owner takes the kind, or the list, from there
//!   only after it was retired under the lock, and what is retired leads to no kind and no node.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `wait-list.released` | `Held::release` | `Entry::was_released` | the notifier's last access |
//! | `wait-list.slot` | `Lone::put` | `Lone::take` | the notifier's last access |
//!
//! What the notifier did before goes the same ways. Everything else is carried by the lock.
//!
//! # Rejected
//!
//! A queue without a lock: cancellation unlinks from the middle, and every known way to do that
//! without a lock leaves the node to somebody else, that is to an allocation. Waiting for the
//! grant in the waiter's own atomic, as in a queue lock: then nothing can be taken back from
//! a future that its task has stopped polling, for whoever would take it back had to reach a node
//! that its owner may free; the slot is outside of the node. A generation instead of splicing at
//! a release of all: `wake_one` during the release would find the doomed ones at the head and spend
//! itself on them. A revocable list inside of its primitive, as a strict one is: a waiter that only
//! borrows it may be forgotten, and when the poll of its task ends nothing tells that the primitive
//! has moved.

mod diagnose;
mod entry;
mod home;
mod index;
mod inner;
mod lone;
mod queue;
pub(crate) mod revoke;
mod section;
mod visits;
mod waiter;

pub use self::diagnose::{Cure, Diagnosis, Offer};
pub use self::queue::{Queue, Scan};
#[cfg(debug_assertions)]
#[doc(hidden)]
pub use self::visits::visits;
pub use self::waiter::{Holds, Waiter, Why};

use self::home::{Core, Home};
use self::section::Section;
use crate::sync::Arc;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// From which end of the queue a waiter is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum From {
    /// The one that has waited longest. Fair.
    #[default]
    Oldest,
    /// The one that came last: its stack and caches are warm. Starves the others under load.
    Newest,
}

/// What makes a [`WaitList`] the wait list of one primitive: the words that it shares with its fast
/// path, and what a waiter brings along.
///
/// All methods are called **under the list's lock**: they may change their own words and call the
/// queue, and must not wait, wake anybody by themselves, drop a caller's value, or panic.
pub trait Kind: Sized {
    /// What each waiter brings: how many permits it wants, whether it reads or writes, the value
    /// it is about to send. `()` if there is nothing to tell waiters apart.
    type Key;

    /// Whether [`Queue::take_back`] is called in lists of this kind. Whoever takes its own offer
    /// without the lock then makes sure, by an exchange, that nobody has taken it back.
    const IS_TAKEN_BACK: bool = false;

    /// Whether a list of this kind may be [`revocable`](WaitList::revocable). One that says no is
    /// never asked where it lies.
    const IS_REVOCABLE: bool = true;

    /// An offer comes back: its waiter was dropped, or lost it. Called with that waiter unlinked.
    ///
    /// The default offers it to the next waiter from the same end; if nobody waits it is gone,
    /// which is right for a primitive whose offer only means "look again". One whose offer carries
    /// something puts that back, and then serves whoever it fits. It must not release all.
    fn returned(&self, queue: &mut Queue<'_, Self>, key: &Self::Key, from: From) {
        let _ = key;
        queue.wake_one(from);
    }

    /// A waiter that had been offered nothing was dropped, and is unlinked. For a primitive whose
    /// waiters can be held up by the one in front, or that keeps a "somebody waits" bit.
    fn left(&self, queue: &mut Queue<'_, Self>, key: &Self::Key) {
        let _ = (queue, key);
    }

    /// Whether what was offered to one waiter will do for another one of the same task, which is
    /// being polled while the first is not. If it does, account for the difference and return
    /// `true`; otherwise change nothing.
    fn exchange(
        &self,
        queue: &mut Queue<'_, Self>,
        offered: &Self::Key,
        wanted: &Self::Key,
    ) -> bool {
        let _ = (queue, offered, wanted);
        true
    }
}

/// A list whose offers carry nothing and whose waiters are all alike.
impl Kind for () {
    type Key = ();
}

/// A queue of waiting futures.
///
/// Use it to build a primitive that tasks wait on, under any executor. Where there is only ever one
/// waiter, an `AtomicWaker` is smaller and takes no lock.
///
/// # Guarantees
///
/// - A waiter looks, registers, and only then returns `Pending`, all under the lock: a change that
///   is announced after it was made is never missed.
/// - A waiter that is dropped after an offer was made to it passes the offer on, from the same end
///   of the queue. One that is **forgotten** (a leaked box) keeps its place, and an offer made to
///   it, for ever.
/// - Wakers are called without the lock, in batches of 32; one that panics, or that comes back to
///   this list, harms nobody: the first panic is resumed when all were called.
/// - An offer that is not taken up, because its task holds the future without polling it, is taken
///   over by another waiter of the *same task* as soon as that one is polled. In a
///   [`revocable`](Self::revocable) list the executor takes it back as well, at the end of
///   the first poll that began after the offer and left it. [`diagnose`](Self::diagnose) names
///   offers that nobody took.
///
/// "The same task" is told by mainspring's poll record, else by the waker: futures polled with one
/// shared waker, `Waker::noop()` say, count as one task.
///
/// # Complexity
///
/// Waiting, leaving and waking one are O(1). A poll without an answer also looks for an offer to
/// its task: through those that are out if they are a few dozen, else by their index, in the
/// logarithm of their number; each is indexed once. A waiter that lost its offer goes back behind
/// those that came before it, and passes these on the way. Nothing allocates, except that a
/// revocable list lies on the heap, with one small box for each future that waits in it.
///
/// # A notification that is remembered
///
/// ```
/// use mainspring_core::wait_list::{From, Kind, Queue, WaitList, Waiter, Why};
/// use std::future::poll_fn;
/// use std::pin::pin;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// /// The kind: one stored notification. Changed under the lock only.
/// struct Stored(AtomicBool);
///
/// impl Stored {
///     fn notify(&self, queue: &mut Queue<'_, Self>, from: From) {
///         if !queue.wake_one(from) {
///             self.0.store(true, Ordering::Relaxed);
///         }
///     }
/// }
///
/// impl Kind for Stored {
///     type Key = ();
///
///     fn returned(&self, queue: &mut Queue<'_, Self>, _: &(), from: From) {
///         self.notify(queue, from);
///     }
/// }
///
/// struct Notify(WaitList<Stored>);
///
/// impl Notify {
///     fn notify_one(&self) {
///         self.0.with(|queue| queue.kind().notify(queue, From::Oldest));
///     }
///
///     async fn notified(&self) {
///         let mut waiter = pin!(Waiter::new(&self.0, ()));
///         poll_fn(|cx| {
///             waiter.as_mut().poll_wait(cx, |queue, (), why| match why {
///                 Why::Offered(_) | Why::Released => Some(()),
///                 _ => queue.kind().0.swap(false, Ordering::Relaxed).then_some(()),
///             })
///         })
///         .await
///     }
/// }
/// #
/// # let notify = Notify(WaitList::new(Stored(AtomicBool::new(false))));
/// # let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
/// # let poll = |future: std::pin::Pin<&mut dyn Future<Output = ()>>, cx: &mut _| future.poll(cx);
/// # notify.notify_one();
/// # assert!(poll(pin!(notify.notified()), &mut cx).is_ready());
/// # let mut waits = pin!(notify.notified());
/// # assert!(poll(waits.as_mut(), &mut cx).is_pending());
/// # notify.notify_one();
/// # assert!(poll(waits.as_mut(), &mut cx).is_ready());
/// ```
pub struct WaitList<K: Kind = ()> {
    home: Home<K>,
}

// SAFETY: [wait-list.state] the pointers in `inner` lead to nodes whose state may be touched by
// whatever thread holds the lock: that is wakers, which are `Send`, and keys, which have to be.
unsafe impl<K: Kind + Send> Send for WaitList<K> where K::Key: Send {}

// SAFETY: [wait-list.state] as for `Send`; in addition the kind is shared.
unsafe impl<K: Kind + Sync> Sync for WaitList<K> where K::Key: Send {}

// What a panic leaves of it is whole, if that is so of the kind.
impl<K: Kind + UnwindSafe> UnwindSafe for WaitList<K> {}
impl<K: Kind + RefUnwindSafe> RefUnwindSafe for WaitList<K> {}

impl<K: Kind> WaitList<K> {
    /// An empty list in *strict* mode: only a waiter of the same task can take over an offer.
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn new(kind: K) -> Self {
        Self {
            home: Home::inline(kind),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[must_use]
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn new(kind: K) -> Self {
        Self {
            home: Home::inline(kind),
        }
    }

    /// An empty list in *revocable* mode: in addition, an executor that keeps the poll record
    /// (ours) takes an offer back from a task that was polled and did not take it.
    ///
    /// The executor may do so from another thread than the waiter's, hence the bounds; and when the
    /// waiter was forgotten, wherever the list is by then. Such a waiter's place is kept as in any
    /// list, but what is offered to it goes on while the task that polled it is polled.
    ///
    /// Allocates, once for the list and once for each waiter. Does not compile for a kind that says
    /// it is not [`IS_REVOCABLE`](Kind::IS_REVOCABLE).
    #[must_use]
    pub fn revocable(kind: K) -> Self
    where
        K: Sync + 'static,
        K::Key: Send,
    {
        const { assert!(K::IS_REVOCABLE, "a kind that is not revocable") };
        Self {
            home: Home::shared(kind),
        }
    }

    #[inline]
    fn core(&self) -> &Core<K> {
        self.home.core()
    }

    /// The words that the primitive's fast path reads.
    #[inline]
    pub fn kind(&self) -> &K {
        self.core().kind()
    }

    /// The words that the primitive's fast path reads, for their only user.
    ///
    /// Allocates if waiters of a revocable list were forgotten: nobody takes back from these then.
    #[inline]
    pub fn kind_mut(&mut self) -> &mut K {
        self.home.kind_mut()
    }

    /// The words that the primitive's fast path reads, without the list. A waiter that was
    /// forgotten stays forgotten.
    #[must_use]
    pub fn into_kind(self) -> K {
        self.home.into_kind()
    }

    /// Calls `f` with the queue, under the lock, for changes that must agree with it. Whoever is
    /// offered something or released by `f` is woken afterwards, when the lock is free.
    ///
    /// The lock is short: do nothing in `f` but bookkeeping, and do not come back to this list.
    ///
    /// # Panics
    ///
    /// With the first panic of a waker, when every waker was called.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut Queue<'_, K>) -> R) -> R {
        let mut section = Section::new(self.core());
        f(&mut section.queue())
    }

    /// Makes an offer to one waiter. `false` if nobody waits.
    pub fn wake_one(&self, from: From) -> bool {
        self.with(|queue| queue.wake_one(from))
    }

    /// Releases everybody who waits now. Who comes while they are being woken is not among them.
    pub fn wake_all(&self) {
        self.with(|queue| queue.wake_all());
    }

    /// Marks the list as closed, for good, and releases everybody. What that means to those who
    /// come later is for the primitive's look to decide, by [`Queue::is_closed`].
    pub fn close(&self) {
        self.with(|queue| queue.close());
    }

    /// Who waits, and which offers have not been taken up: for a person to read.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        Diagnosis::of(self.core())
    }
}

impl<K: Kind + Default> Default for WaitList<K> {
    fn default() -> Self {
        Self::new(K::default())
    }
}

impl<K: Kind> fmt::Debug for WaitList<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("WaitList");
        let core = self.core();
        out.field("revocable", &core.is_revocable());
        match core.inner.try_lock() {
            Some(inner) => inner.fields(&mut out, &core.lone),
            None => {
                out.field("locked", &true);
            }
        }
        out.finish_non_exhaustive()
    }
}

// SAFETY: [wait-list.node] a reference always leads to the same list, which it borrows.
unsafe impl<K: Kind> Holds for &WaitList<K> {
    type Kind = K;

    fn list(&self) -> &WaitList<K> {
        self
    }
}

// SAFETY: [wait-list.node] what an `Arc` holds does not move and lives as long as the `Arc`.
unsafe impl<K: Kind> Holds for Arc<WaitList<K>> {
    type Kind = K;

    fn list(&self) -> &WaitList<K> {
        self
    }
}

#[cfg(test)]
mod tests;

//! Taking offers back from tasks that are polled and do not take them.
//!
//! A waiter of a revocable list enters itself, before it is queued, in a table of its task's
//! waiters. An offer gets a number from one counter; whoever polls tasks reads the counter when a
//! poll begins and, when it ends, takes back what was offered to that task under a number no
//! higher. A wake comes after its offer and asks for a poll that begins after it, so some such
//! poll always ends. Nothing of this is paid while nobody waits in a revocable list, except one
//! relaxed load a poll: a task that has an offer entered the table in an earlier poll.
//!
//! Lock order: the table's shard, then the list. An offer is made under the list's lock and never
//! touches the table.

use super::Kind;
use super::entry::{Entry, Held};
use super::home::{Share, Shared};
use super::section::Section;
use crate::WakeBatch;
use crate::list::{List, Node};
use crate::payload::absorb;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use crate::task::TaskId;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;

#[cfg(not(all(mainspring_loom, feature = "loom")))]
static TABLE: Table = Table::new();

#[cfg(all(mainspring_loom, feature = "loom"))]
loom::lazy_static! {
    static ref TABLE: Table = Table::new();
}

#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const SHARDS: usize = 32;

/// One, so that a model has every collision.
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const SHARDS: usize = 1;

/// The number for the next offer that is made.
pub(super) fn number_of_offer() -> u64 {
    TABLE.offers.fetch_add(1, Relaxed) + 1
}

/// The number of the last offer so far: to be read when a poll begins.
///
/// Relaxed is enough: an offer that asked for this poll was numbered before its wake, which the
/// poll's beginning acquired; for any other one it does not matter which side it falls on.
#[inline]
pub(crate) fn last_offer() -> u64 {
    TABLE.offers.load(Relaxed)
}

/// Whether a waiter of a revocable list exists.
#[inline]
pub(crate) fn is_watched() -> bool {
    // Relaxed is enough: a waiter of a task counted itself in a poll of that task, and every later
    // poll's beginning acquired what that poll did.
    TABLE.watches.load(Relaxed) != 0
}

/// Takes back what was offered to `task` before the poll that ends now, and not taken by it.
#[inline]
pub(crate) fn revoke_untaken(task: TaskId, began: u64) {
    if is_watched() {
        TABLE.revoke_untaken(task.as_u64(), began);
    }
}

struct Shard(List<Watched>);

// SAFETY: [wait-list.revoke] what a shard leads to is touched under the shard's lock and, beyond
// that, under the list's.
unsafe impl Send for Shard {}

struct Table {
    offers: AtomicU64,
    watches: AtomicUsize,
    shards: [Mutex<Shard>; SHARDS],
}

impl Table {
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    const fn new() -> Self {
        Self {
            offers: AtomicU64::new(0),
            watches: AtomicUsize::new(0),
            shards: [const { Mutex::new(Shard(List::new())) }; SHARDS],
        }
    }

    #[cfg(all(mainspring_loom, feature = "loom"))]
    fn new() -> Self {
        Self {
            offers: AtomicU64::new(0),
            watches: AtomicUsize::new(0),
            shards: std::array::from_fn(|_| Mutex::new(Shard(List::new()))),
        }
    }

    fn shard(&self, task: u64) -> &Mutex<Shard> {
        &self.shards[(task % SHARDS as u64) as usize]
    }

    #[cold]
    fn revoke_untaken(&self, task: u64, began: u64) {
        loop {
            let mut batch = WakeBatch::new();
            let shard = self.shard(task).lock();
            let mut is_done = true;
            for node in shard.0.iter() {
                // SAFETY: [wait-list.revoke] linked under this lock, so its owner still exists.
                let watched = unsafe { node.as_ref() }.value();
                if watched.task != task {
                    continue;
                }
                // SAFETY: [wait-list.revoke] `call` was made for the kind of these two; the node
                // is alive until the watch is unlinked, which takes this lock.
                let left_over = unsafe { (watched.call)(watched, began, &mut batch) };
                if left_over || !batch.has_room() {
                    is_done = false;
                    break;
                }
            }
            drop(shard);
            // The poll that ends here is not to blame for a stranger's waker that panics: the panic
            // hook has spoken, and whoever polls goes on.
            absorb(|| batch.wake_all());
            if is_done {
                return;
            }
        }
    }
}

struct Watched {
    task: u64,
    share: Share,
    node: NonNull<()>,
    call: unsafe fn(&Watched, u64, &mut WakeBatch) -> bool,
}

/// # Safety
///
/// `watched` was made by [`Watch::new`] for this kind, and its node is alive.
unsafe fn call<K: Kind>(watched: &Watched, began: u64, batch: &mut WakeBatch) -> bool {
    // SAFETY: [wait-list.revoke] of this kind by the contract; it may be used from this thread,
    // because only `WaitList::revocable` makes lists that are watched.
    let core = unsafe { watched.share.core::<K>() };
    let mut section = Section::new(core);
    if section.inner().is_retired {
        // CLAIM: [wait-list.retired] the waiter was forgotten, and the list is gone from here.
        return false;
    }
    section.collect_in(batch);
    // SAFETY: [wait-list.node] alive by the contract, and the lock is held.
    let node = unsafe { Held::new(watched.node.cast::<Node<Entry<K>>>()) };
    section.revoke(node, began);
    section.leave_waking_to(batch)
}

/// One waiter in the table. Dropping it takes it out.
///
/// What is in it is dropped by its own drop, which is cold as a whole: a waiter that has none, as
/// nearly all, pays for a look at a null.
pub(super) struct Watch(ManuallyDrop<Pin<Box<Node<Watched>>>>);

impl Watch {
    /// # Safety
    ///
    /// The node is pinned, and alive until the watch was dropped.
    pub(super) unsafe fn new<K: Kind>(
        task: u64,
        list: &Shared<K>,
        node: NonNull<Node<Entry<K>>>,
    ) -> Self {
        let watch = Self(ManuallyDrop::new(Box::pin(Node::new(Watched {
            task,
            share: list.share(),
            node: node.cast(),
            call: call::<K>,
        }))));
        TABLE.watches.fetch_add(1, Relaxed);
        let mut shard = TABLE.shard(task).lock();
        // SAFETY: [wait-list.revoke] boxed, in no list, and unlinked by the drop.
        unsafe { shard.0.push_back(NonNull::from(&**watch.0)) };
        drop(shard);
        watch
    }

    pub(super) fn is_of(&self, task: u64) -> bool {
        self.0.value().task == task
    }
}

impl Drop for Watch {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        let mut shard = TABLE.shard(self.0.value().task).lock();
        // SAFETY: [wait-list.revoke] linked by `new`, in the shard of its task.
        unsafe { shard.0.remove(NonNull::from(&**self.0)) };
        drop(shard);
        TABLE.watches.fetch_sub(1, Relaxed);
        // SAFETY: [wait-list.revoke] nobody reaches it any more, and nothing comes after this.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

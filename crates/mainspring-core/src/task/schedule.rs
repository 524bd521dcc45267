//! What an executor implements, and the counted reference to it that every task holds.
//!
//! A [`SchedulerRef`] is one pointer to a small block: a count, the implementation, and the table
//! of its functions. Counting is one read-modify-write on a line that all threads share, so a
//! worker keeps a purse of references ([`SchedulerRef::enter`]): on its thread, cloning and
//! dropping them is arithmetic on a thread's own number.
//!
//! # Invariants
//!
//! - **scheduler.alive** — the block and the implementation live while a reference to them is
//!   counted, in the hands of a `SchedulerRef` or in a purse.
//! - **scheduler.purse** — a purse counts at least one reference while it can be found, and only
//!   its own thread finds it; purses may be left in any order.
//! - **scheduler.home** — a task that is not `Send` gets a scheduler only through
//!   [`LocalSchedule`], whose implementation promises that one thread at most is home.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `scheduler.last` | each drop of a reference | the drop that frees | each use |
//!
//! # Rejected
//!
//! Calling the scheduler through the task's own reference: the runnable that was just published may
//! complete elsewhere and release it, under the feet of the call. So each call holds a reference,
//! which costs nothing on a worker. An `Arc<dyn Schedule>` in the header: 16 bytes.

use super::{Runnable, TaskRef};
use crate::sync::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, Release},
    acquire_last,
};
use crate::sync::{Arc, thread_local};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// Where runnables go: the one thing that an executor implements.
///
/// ```
/// use mainspring_core::task::{self, Ran, Runnable, Schedule, SchedulerRef, WakeCause};
/// use std::collections::VecDeque;
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Default)]
/// struct Queue(Mutex<VecDeque<Runnable>>);
///
/// impl Schedule for Queue {
///     fn schedule(&self, runnable: Runnable, _why: WakeCause) {
///         self.0.lock().unwrap().push_back(runnable);
///     }
/// }
///
/// let queue = Arc::new(Queue::default());
/// let (runnable, join) = task::create(async { 6 * 7 }, SchedulerRef::from(Arc::clone(&queue)));
/// runnable.schedule();
/// let next = queue.0.lock().unwrap().pop_front();
/// assert_eq!(next.map(Runnable::run), Some(Ran::Complete));
/// assert!(join.is_finished());
/// ```
pub trait Schedule: Send + Sync + 'static {
    /// Takes a runnable, to run it soon. Called by whoever wakes or aborts, on any thread, inside
    /// destructors and during thread-local destruction.
    ///
    /// It must not run the task inline, nor drop another one. An executor that has shut down has
    /// ended all its tasks, so that nobody calls this any more; one that gets a runnable it cannot
    /// queue drops it, which cancels the task on the spot (see [`Runnable`]).
    ///
    /// The scheduler stays alive for the whole call, also if the task completes on another thread
    /// before the call returns.
    fn schedule(&self, runnable: Runnable, why: WakeCause);

    /// The task's future is gone: the executor takes the task off its [`Registry`]. Called once a
    /// task, on the thread that ran it last, before the task's end is visible to anybody.
    ///
    /// Must not panic: the task would be leaked.
    ///
    /// [`Registry`]: super::Registry
    fn retire(&self, task: &TaskRef) {
        let _ = task;
    }
}

/// A scheduler whose tasks have a home: one thread where they are polled and dropped.
///
/// # Safety
///
/// [`is_home`](Self::is_home) must never return true on two different threads, for the whole life
/// of the scheduler. Tasks whose futures are not `Send` are made, polled and dropped where it
/// returns true.
pub unsafe trait LocalSchedule: Schedule {
    /// Whether the calling thread is the home of this scheduler's tasks.
    fn is_home(&self) -> bool;
}

/// Why a runnable is handed to its scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WakeCause {
    /// It was made.
    Spawn,
    /// A waker was called while the task was idle.
    Wake,
    /// A waker was called while the task was being polled.
    SelfWake,
    /// The poll asked to let others run first: to the tail of the queue.
    Yield,
    /// The task is to be ended: running it drops its future.
    Abort,
    /// A local task's runnable was run or dropped away from home.
    Home,
}

/// The block behind a `SchedulerRef`.
struct Block {
    count: AtomicUsize,
    /// From `Arc::into_raw`.
    object: *const (),
    calls: &'static Calls,
}

/// The functions of one implementation; each takes the block's `object`.
struct Calls {
    schedule: unsafe fn(*const (), Runnable, WakeCause),
    retire: unsafe fn(*const (), &TaskRef),
    is_home: Option<unsafe fn(*const ()) -> bool>,
    release: unsafe fn(*const ()),
}

unsafe fn schedule<S: Schedule>(object: *const (), runnable: Runnable, why: WakeCause) {
    // SAFETY: [scheduler.alive] the caller holds a reference to the block, which owns one of the
    // `Arc<S>` that `object` came from.
    let scheduler = unsafe { &*object.cast::<S>() };
    scheduler.schedule(runnable, why);
}

unsafe fn retire<S: Schedule>(object: *const (), task: &TaskRef) {
    // SAFETY: [scheduler.alive] as in `schedule`.
    let scheduler = unsafe { &*object.cast::<S>() };
    scheduler.retire(task);
}

unsafe fn is_home<S: LocalSchedule>(object: *const ()) -> bool {
    // SAFETY: [scheduler.alive] as in `schedule`.
    let scheduler = unsafe { &*object.cast::<S>() };
    scheduler.is_home()
}

unsafe fn release<S: Schedule>(object: *const ()) {
    // SAFETY: [scheduler.alive] `object` came from `Arc::into_raw` in `SchedulerRef::new`, and the
    // last reference to the block gives it back once.
    drop(unsafe { Arc::from_raw(object.cast::<S>()) });
}

/// A counted reference to a scheduler, one pointer wide.
///
/// One executor makes one with [`From`] (or [`local`](Self::local)) and clones it for each task:
/// two made from the same `Arc` are two schedulers to the purse. Making one allocates; cloning and
/// dropping is one read-modify-write, and none on a thread that has [entered](Self::enter) it.
pub struct SchedulerRef(NonNull<Block>);

// SAFETY: [scheduler.alive] the implementation is `Send + Sync`, the count is atomic, and the rest
// of the block is never written.
unsafe impl Send for SchedulerRef {}
// SAFETY: [scheduler.alive] as above.
unsafe impl Sync for SchedulerRef {}

impl SchedulerRef {
    fn new<S: Schedule>(scheduler: Arc<S>, calls: &'static Calls) -> Self {
        let block = Box::new(Block {
            count: AtomicUsize::new(1),
            object: Arc::into_raw(scheduler).cast(),
            calls,
        });
        Self(NonNull::from(Box::leak(block)))
    }

    /// A reference to a scheduler that also takes tasks which are not `Send`.
    #[must_use]
    pub fn local<S: LocalSchedule>(scheduler: Arc<S>) -> Self {
        let calls = const {
            &Calls {
                schedule: schedule::<S>,
                retire: retire::<S>,
                is_home: Some(is_home::<S>),
                release: release::<S>,
            }
        };
        Self::new(scheduler, calls)
    }

    /// Makes the calling thread one of this scheduler's workers, for as long as the guard lives:
    /// cloning and dropping references here touches no shared memory.
    ///
    /// A forgotten guard keeps the scheduler alive for ever.
    pub fn enter(&self) -> Resident {
        Resident::enter(self)
    }

    /// Gives the reference back to this thread's purse, if it is one of the scheduler's: that can
    /// end nothing. Otherwise hands it back to the caller.
    #[inline]
    pub(crate) fn return_to_purse(self) -> Option<Self> {
        let this = ManuallyDrop::new(self);
        if TOP.with(|top| top.give(this.0)) {
            None
        } else {
            Some(ManuallyDrop::into_inner(this))
        }
    }

    /// Drops a reference that was cloned on this thread a moment ago: what the purse gave, it takes
    /// without a look at how much it holds.
    #[inline]
    pub(crate) fn lay_back(self) {
        let this = ManuallyDrop::new(self);
        if !TOP.with(|top| top.take_back(this.0)) {
            give_up(this.0, 1);
        }
    }

    #[inline]
    fn block(&self) -> &Block {
        // SAFETY: [scheduler.alive] this reference is counted.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(crate) fn schedule(&self, runnable: Runnable, why: WakeCause) {
        let block = self.block();
        // SAFETY: [scheduler.alive] `object` belongs to `calls`, and this reference is counted.
        unsafe { (block.calls.schedule)(block.object, runnable, why) }
    }

    #[inline]
    pub(crate) fn retire(&self, task: &TaskRef) {
        let block = self.block();
        // SAFETY: [scheduler.alive] as in `schedule`.
        unsafe { (block.calls.retire)(block.object, task) }
    }

    /// Whether this thread is the home of this scheduler's local tasks. False for a scheduler that
    /// takes none.
    #[inline]
    pub(crate) fn is_home(&self) -> bool {
        let block = self.block();
        match block.calls.is_home {
            // SAFETY: [scheduler.alive] as in `schedule`.
            Some(is_home) => unsafe { is_home(block.object) },
            None => false,
        }
    }
}

impl<S: Schedule> From<Arc<S>> for SchedulerRef {
    fn from(scheduler: Arc<S>) -> Self {
        let calls = const {
            &Calls {
                schedule: schedule::<S>,
                retire: retire::<S>,
                is_home: None,
                release: release::<S>,
            }
        };
        Self::new(scheduler, calls)
    }
}

impl Clone for SchedulerRef {
    #[inline]
    fn clone(&self) -> Self {
        let block = self.0;
        if !TOP.with(|top| top.take(block)) {
            retain(block, 1);
        }
        Self(block)
    }
}

impl Drop for SchedulerRef {
    #[inline]
    fn drop(&mut self) {
        if !TOP.with(|top| top.give(self.0)) {
            give_up(self.0, 1);
        }
    }
}

impl fmt::Debug for SchedulerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SchedulerRef")
            .field("is_local", &self.block().calls.is_home.is_some())
            .finish_non_exhaustive()
    }
}

/// Counts `many` more references. The caller holds one.
fn retain(block: NonNull<Block>, many: usize) {
    // SAFETY: [scheduler.alive] the caller holds a counted reference.
    let count = unsafe { block.as_ref() }.count.fetch_add(many, Relaxed);
    if count > isize::MAX as usize {
        // As for a task's count: wrapping around would free a scheduler in use.
        std::process::abort();
    }
}

/// Gives `many` references up that the caller holds, and frees if they were the last.
fn give_up(block: NonNull<Block>, many: usize) {
    // SAFETY: [scheduler.alive] the caller's references are counted until the next line.
    let count = &unsafe { block.as_ref() }.count;
    // ORDERING: [scheduler.last] Release, pairs with the Acquire below in the thread that frees:
    // our use of the scheduler comes before its end. Relaxed would let the free overtake it.
    if count.fetch_sub(many, Release) != many {
        return;
    }
    // ORDERING: [scheduler.last] Acquire inside, pairs with every Release above.
    acquire_last(count);
    // SAFETY: [scheduler.alive] the last reference is gone, so the block is ours alone; it came
    // from `Box::leak` in `SchedulerRef::new`.
    let block = unsafe { Box::from_raw(block.as_ptr()) };
    // SAFETY: [scheduler.alive] nobody else can reach `object` through the block.
    unsafe { (block.calls.release)(block.object) }
}

/// References that one thread holds in bulk, for one scheduler.
struct Purse {
    block: NonNull<Block>,
    /// How many references the purse holds beside the one that always stays, while it is not on
    /// top.
    spare: Cell<isize>,
    below: *const Purse,
    /// The guard is gone.
    left: Cell<bool>,
}

/// The purse of the scheduler entered last. What is asked for all the time stands here itself.
struct Top {
    /// Whose references they are; null without a purse.
    block: Cell<*const Block>,
    /// How many references the purse on top holds beside the one that always stays. Below zero
    /// within `take` only.
    spare: Cell<isize>,
    purse: Cell<*const Purse>,
}

/// How many references a purse takes at once; it gives as many back when it holds twice that.
const PURSE: usize = 1024;

thread_local! {
    static TOP: Top = const { Top::new() };
}

impl Top {
    const fn new() -> Self {
        Self {
            block: Cell::new(ptr::null()),
            spare: Cell::new(0),
            purse: Cell::new(ptr::null()),
        }
    }

    /// Moves one reference out of the purse on top, if it is one for `block`; one always stays.
    #[inline]
    fn take(&self, block: NonNull<Block>) -> bool {
        if !ptr::eq(self.block.get(), block.as_ptr()) {
            return false;
        }
        self.spare.set(self.spare.get() - 1);
        if self.spare.get() < 0 {
            self.refill(block);
        }
        true
    }

    #[cold]
    fn refill(&self, block: NonNull<Block>) {
        retain(block, PURSE);
        self.spare.set(PURSE as isize - 1);
    }

    /// Moves one reference into the purse on top, if it is one for `block`.
    #[inline]
    fn give(&self, block: NonNull<Block>) -> bool {
        if !ptr::eq(self.block.get(), block.as_ptr()) {
            return false;
        }
        self.spare.set(self.spare.get() + 1);
        if self.spare.get() >= 2 * PURSE as isize {
            self.spill(block);
        }
        true
    }

    /// As [`give`](Self::give), for what came out of this purse and so cannot make it too full.
    #[inline]
    fn take_back(&self, block: NonNull<Block>) -> bool {
        if !ptr::eq(self.block.get(), block.as_ptr()) {
            return false;
        }
        self.spare.set(self.spare.get() + 1);
        true
    }

    #[cold]
    fn spill(&self, block: NonNull<Block>) {
        self.spare.set(PURSE as isize);
        give_up(block, PURSE);
    }

    /// Puts a purse on top, or what was below it.
    fn set(&self, purse: *const Purse) {
        // SAFETY: [scheduler.purse] a purse of this thread that is linked is allocated.
        if let Some(before) = unsafe { self.purse.get().as_ref() } {
            before.spare.set(self.spare.get());
        }
        // SAFETY: [scheduler.purse] as above.
        let now = unsafe { purse.as_ref() };
        self.block
            .set(now.map_or(ptr::null(), |now| now.block.as_ptr()));
        self.spare.set(now.map_or(0, |now| now.spare.get()));
        self.purse.set(purse);
    }
}

/// This thread works for a scheduler until the guard is dropped. See [`SchedulerRef::enter`].
#[must_use = "the thread is a worker only while the guard lives"]
pub struct Resident {
    purse: NonNull<Purse>,
    one_thread: PhantomData<*const ()>,
}

impl Resident {
    fn enter(scheduler: &SchedulerRef) -> Self {
        retain(scheduler.0, 1);
        let purse = TOP.with(|top| {
            let purse = Box::leak(Box::new(Purse {
                block: scheduler.0,
                spare: Cell::new(0),
                below: top.purse.get(),
                left: Cell::new(false),
            }));
            top.set(purse);
            NonNull::from(purse)
        });
        Self {
            purse,
            one_thread: PhantomData,
        }
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        // SAFETY: [scheduler.purse] the guard has not left yet, so the purse is linked.
        unsafe { self.purse.as_ref() }.left.set(true);
        // Unlink all at the top whose guards have left; one below a living guard waits for it.
        while let Some(purse) = pop_left() {
            give_up(purse.block, 1 + purse.spare.get() as usize);
        }
    }
}

/// Unlinks the topmost purse if its guard has left.
fn pop_left() -> Option<Box<Purse>> {
    TOP.with(|top| {
        let last = top.purse.get();
        // SAFETY: [scheduler.purse] a purse that is linked is allocated.
        let purse = unsafe { last.as_ref() }?;
        if !purse.left.get() {
            return None;
        }
        top.set(purse.below);
        // SAFETY: [scheduler.purse] neither `TOP` nor the guard reaches it any more, and it came
        // from `Box::leak` in `enter`.
        Some(unsafe { Box::from_raw(last.cast_mut()) })
    })
}

impl fmt::Debug for Resident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: [scheduler.purse] the guard lives, so its purse does.
        let purse = unsafe { self.purse.as_ref() };
        f.debug_struct("Resident")
            .field("is_left", &purse.left.get())
            .finish()
    }
}

#[cfg(test)]
mod tests;

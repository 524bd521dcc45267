//! The part of a task that does not depend on its future: 88 bytes, what is left of an
//! allocator's 96-byte chunk.
//!
//! | bytes | field | who writes it |
//! |---|---|---|
//! | 8 | state word | everybody, by read-modify-writes |
//! | 8 | vtable | nobody after creation |
//! | 8 | scheduler | taken out by whoever ends the future |
//! | 8 | id, the first field of the wait slot | nobody |
//! | 16 | wait slot; its object is also the queue link | poller; owner of the runnable |
//! | 8 | spawn location | nobody |
//! | 16 | registry links | under the lock of the executor's registry |
//! | 16 | join waker | see [`task`](crate::task) |

use super::schedule::SchedulerRef;
use super::state::State;
use super::verdict::{OnRelease, OnWake};
use super::vtable::Vtable;
use super::{Runnable, TaskId, TaskRef, WakeCause};
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::cell::UnsafeCell;
use crate::trace;
use crate::wait::WaitSlot;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::Location;
use std::ptr::NonNull;
use std::task::Waker;

/// A pointer to a task's header, which begins its allocation.
pub(crate) type TaskPtr = NonNull<Header>;

/// The links of the registry that a task is in.
#[derive(Default)]
pub(crate) struct Links {
    pub(crate) prev: Option<TaskPtr>,
    pub(crate) next: Option<TaskPtr>,
}

/// See the module.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) state: State,
    pub(crate) vtable: &'static Vtable,
    scheduler: UnsafeCell<ManuallyDrop<SchedulerRef>>,
    pub(crate) wait: WaitSlot,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) links: UnsafeCell<Links>,
    joiner: UnsafeCell<MaybeUninit<Waker>>,
    /// No bytes: a model sees here that no look at the header races with its end.
    alive: UnsafeCell<()>,
    /// No bytes: a model sees here that one thread at a time touches the place behind the header.
    pub(crate) place: UnsafeCell<()>,
}

#[cfg(all(
    target_pointer_width = "64",
    not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))
))]
const _: () = assert!(
    size_of::<Header>() == 88 && align_of::<Header>() == 8,
    "the header fills what an allocator's 96-byte chunk leaves"
);

impl Header {
    #[inline]
    pub(crate) fn new(
        vtable: &'static Vtable,
        scheduler: SchedulerRef,
        spawned_at: &'static Location<'static>,
    ) -> Self {
        Self {
            state: State::new(),
            vtable,
            scheduler: UnsafeCell::new(ManuallyDrop::new(scheduler)),
            wait: WaitSlot::new(TaskId::next()),
            spawned_at,
            links: UnsafeCell::new(Links::default()),
            joiner: UnsafeCell::new(MaybeUninit::uninit()),
            alive: UnsafeCell::new(()),
            place: UnsafeCell::new(()),
        }
    }

    /// The task's number.
    #[inline]
    pub(crate) fn id(&self) -> TaskId {
        self.wait.task()
    }

    /// A reference to the scheduler of a task whose future is not gone, by its caller's right to
    /// keep it so.
    ///
    /// # Safety
    ///
    /// The caller owns the runnable, or is the poller.
    #[inline]
    pub(crate) unsafe fn scheduler(&self) -> SchedulerRef {
        self.scheduler.with(|place| {
            // SAFETY: [task.scheduler] only the poller that ends the future takes it, and it needs
            // the runnable that the caller owns.
            let scheduler: &SchedulerRef = unsafe { &*place };
            scheduler.clone()
        })
    }

    /// Whether this thread may poll and drop the task's future.
    ///
    /// # Safety
    ///
    /// As for [`scheduler`](Self::scheduler).
    #[inline]
    pub(crate) unsafe fn is_home(&self) -> bool {
        if !self.vtable.is_local {
            return true;
        }
        self.scheduler.with(|place| {
            // SAFETY: [task.scheduler] as in `scheduler`; it stays for as long as the runnable is
            // ours, so no reference of our own is needed.
            unsafe { &*place }.is_home()
        })
    }

    /// Takes the scheduler out: the future is gone.
    ///
    /// # Safety
    ///
    /// The caller is the poller, has ended the future, and takes it once.
    #[inline]
    pub(crate) unsafe fn take_scheduler(&self) -> SchedulerRef {
        self.scheduler.with_mut(|place| {
            // SAFETY: [task.scheduler] the poller alone reaches the place.
            let place = unsafe { &mut *place };
            // SAFETY: [task.scheduler] the future ends once, and nobody asks for its scheduler
            // afterwards.
            unsafe { ManuallyDrop::take(place) }
        })
    }

    /// Puts the join waker in its place.
    ///
    /// # Safety
    ///
    /// The caller is the join handle, and JOIN_WAKER is clear.
    pub(crate) unsafe fn put_joiner(&self, waker: Waker) {
        self.joiner.with_mut(|place| {
            // SAFETY: [task.joiner-slot] with JOIN_WAKER clear the place is the handle's.
            unsafe { &mut *place }.write(waker);
        });
    }

    /// Takes the join waker out of its place.
    ///
    /// # Safety
    ///
    /// The caller has cleared JOIN_WAKER, which was set, and takes the waker once.
    pub(crate) unsafe fn take_joiner(&self) -> Waker {
        // A read only: the handle may be comparing at the same time.
        self.joiner.with(|place| {
            // SAFETY: [task.joiner-slot] nobody writes the place while the caller owns the waker.
            let place = unsafe { &*place };
            // SAFETY: [task.joiner-slot] JOIN_WAKER was set, so a waker is there; it is clear now,
            // so nobody reads it out again.
            unsafe { place.assume_init_read() }
        })
    }

    /// Whether the registered join waker wakes the same task as `waker`.
    ///
    /// # Safety
    ///
    /// The caller is the join handle and has seen JOIN_WAKER set.
    pub(crate) unsafe fn joiner_wakes(&self, waker: &Waker) -> bool {
        self.joiner.with(|place| {
            // SAFETY: [task.joiner-slot] only the handle writes the place.
            let place = unsafe { &*place };
            // SAFETY: [task.joiner-slot] the handle put a waker there. Its completer may own it by
            // now, and may even have woken it; the bytes stay, and comparing reads only them.
            unsafe { place.assume_init_ref() }.will_wake(waker)
        })
    }

    /// The link of the queue that the task's runnable is in.
    #[inline]
    pub(crate) fn link(&self) -> Option<TaskPtr> {
        let address = self.wait.object.load(Relaxed);
        NonNull::new(std::ptr::with_exposed_provenance_mut(address as usize))
    }

    /// Links the runnable in front of another in a queue. Only by the owner of the runnable.
    #[inline]
    pub(crate) fn set_link(&self, next: Option<TaskPtr>) {
        let address = next.map_or(0, |next| next.as_ptr().expose_provenance());
        self.wait.set_object(address as u64);
    }

    /// One look at the header, for a model: it must not race with the task's end.
    #[inline(always)]
    pub(crate) fn touch(&self) {
        self.alive.with(|_| ());
    }
}

/// Gives a runnable to its scheduler.
#[inline]
pub(crate) fn schedule(runnable: Runnable, why: WakeCause) {
    let header = runnable.header();
    trace::wake(header.id(), why);
    // SAFETY: [task.scheduler] we own the runnable. The reference is our own, and keeps the
    // scheduler alive when the runnable has run and gone before the call is over.
    let scheduler = unsafe { header.scheduler() };
    scheduler.schedule(runnable, why);
    scheduler.lay_back();
}

/// Wakes a task through a reference that stays.
///
/// # Safety
///
/// The caller holds a reference of any kind to the task.
#[inline]
pub(crate) unsafe fn wake_by_ref(task: TaskPtr) {
    // SAFETY: [task.alive] the caller's reference.
    let header = unsafe { task.as_ref() };
    if header.state.wake_by_ref() == OnWake::Schedule {
        // SAFETY: [task.runnable] the verdict makes the runnable ours.
        schedule(unsafe { Runnable::from_ptr(task) }, WakeCause::Wake);
    }
}

/// Aborts a task through a reference that stays.
///
/// # Safety
///
/// The caller holds a reference of any kind to the task.
pub(crate) unsafe fn abort(task: TaskPtr) {
    // SAFETY: [task.alive] the caller's reference.
    let header = unsafe { task.as_ref() };
    if header.state.abort() == OnWake::Schedule {
        // SAFETY: [task.runnable] the verdict makes the runnable ours.
        schedule(unsafe { Runnable::from_ptr(task) }, WakeCause::Abort);
    }
}

/// Gives up one counted reference, and frees the task if it was the last of any kind.
///
/// # Safety
///
/// The caller holds the reference and does not use it again.
#[inline]
pub(crate) unsafe fn release(task: TaskPtr) {
    // SAFETY: [task.alive] the caller's reference, until the next line.
    let header = unsafe { task.as_ref() };
    header.touch();
    if header.state.release() == OnRelease::Free {
        // SAFETY: [task.alive] the verdict: nobody else reaches the task.
        unsafe { free(task) };
    }
}

/// Frees the task's memory.
///
/// # Safety
///
/// A verdict `Free` was given to the caller, who is the only one to reach the task.
pub(crate) unsafe fn free(task: TaskPtr) {
    // SAFETY: [task.alive] still allocated.
    let header = unsafe { task.as_ref() };
    header.alive.with_mut(|_| ());
    header.place.with_mut(|_| ());
    header.joiner.with_mut(|_| ());
    // The header's fields drop nothing: what they held was taken out on the way here.
    // SAFETY: [task.alive] nobody reaches the task, which was made with this table.
    unsafe { (header.vtable.free)(task) };
}

/// Lends a `TaskRef` to the scheduler for one call.
///
/// # Safety
///
/// The caller holds a reference of any kind for as long as the loan is used.
#[inline]
pub(crate) unsafe fn lend(task: TaskPtr) -> ManuallyDrop<TaskRef> {
    // SAFETY: [task.alive] the caller's reference; the count stays as it is, in both directions.
    ManuallyDrop::new(unsafe { TaskRef::from_ptr(task) })
}

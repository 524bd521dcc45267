//! The waker of a task: a pointer to it and one table for all tasks.
//!
//! Cloning and dropping is one read-modify-write each; nothing is allocated. Since the table is one
//! static, `will_wake` is a comparison of two pointers.

use super::header::{self, TaskPtr};
use super::verdict::OnWake;
use super::{Runnable, WakeCause, header::Header};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// A waker that the poller lends to `poll`, by its own reference.
///
/// # Safety
///
/// The caller holds a reference of any kind for as long as the loan is used.
#[inline]
pub(crate) unsafe fn lend(task: TaskPtr) -> ManuallyDrop<Waker> {
    let raw = RawWaker::new(task.as_ptr().cast_const().cast(), &TABLE);
    // SAFETY: [task.waker] the functions of `TABLE` keep the contract of a raw waker; the loan is
    // not counted, and is never dropped.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
}

/// The task that a waker's data points to.
#[inline]
unsafe fn task(data: *const ()) -> TaskPtr {
    // SAFETY: [task.waker] `data` came from a `TaskPtr`, in `lend`.
    unsafe { NonNull::new_unchecked(data.cast_mut().cast::<Header>()) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: [task.waker] the functions of `TABLE` are called with its data.
    let task = unsafe { task(data) };
    // SAFETY: [task.alive] the waker that is cloned is counted, or lent by a poller.
    unsafe { task.as_ref() }.state.retain();
    RawWaker::new(data, &TABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: [task.waker] as in `clone`.
    let task = unsafe { task(data) };
    // SAFETY: [task.alive] the waker is counted until the next line.
    let header = unsafe { task.as_ref() };
    header.touch();
    match header.state.wake_by_value() {
        OnWake::Nothing => {}
        OnWake::Schedule => {
            // SAFETY: [task.runnable] the verdict makes the runnable ours.
            let runnable = unsafe { Runnable::from_ptr(task) };
            header::schedule(runnable, WakeCause::Wake);
        }
        // SAFETY: [task.alive] the verdict: nobody else reaches the task.
        OnWake::Free => unsafe { header::free(task) },
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: [task.waker] as in `clone`.
    let task = unsafe { task(data) };
    // SAFETY: [task.alive] the waker is counted, or lent by a poller.
    unsafe { header::wake_by_ref(task) }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: [task.waker] as in `clone`.
    let task = unsafe { task(data) };
    // SAFETY: [task.alive] the waker is counted, and this is its end.
    unsafe { header::release(task) }
}

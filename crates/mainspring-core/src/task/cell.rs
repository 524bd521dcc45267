//! The whole task: the header, and the place where the future is and its result will be.

use super::header::{Header, TaskPtr};
use super::schedule::SchedulerRef;
use super::vtable::{Progress, Vtable};
use crate::payload::{Payload, absorb, contain, discard};
use crate::sync::alloc::{Layout, alloc, handle_alloc_error};
use std::future::Future;
use std::mem::{ManuallyDrop, offset_of};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// The future, then its output or the payload of its panic, in the same memory. Which of them it
/// is, the state word says. With `repr(C)` each of them begins where the place does.
#[repr(C)]
union Place<F: Future> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<F::Output>,
    panic: ManuallyDrop<Payload>,
}

/// Nobody makes a reference to the whole of it: the place is reached through the pointer alone, and
/// the header watches who does.
#[repr(C)]
struct Cell<F: Future> {
    header: Header,
    place: Place<F>,
}

/// Allocates a task and builds it in place: the future is moved once, from the caller's argument
/// to the heap.
#[inline]
pub(crate) fn allocate<F: Future, const LOCAL: bool>(
    future: F,
    scheduler: SchedulerRef,
    spawned_at: &'static Location<'static>,
) -> TaskPtr {
    let vtable = const {
        &Vtable {
            poll: poll::<F>,
            drop_future: drop_future::<F>,
            drop_output: drop_output::<F>,
            put_panic: put_panic::<F>,
            take_panic: take_panic::<F>,
            layout: Layout::new::<Cell<F>>(),
            place: offset_of!(Cell<F>, place),
            is_local: LOCAL,
        }
    };
    // SAFETY: [task.in-place] the layout of a `Cell` is not empty: it holds a header.
    let bytes = unsafe { alloc(vtable.layout) };
    let Some(cell) = NonNull::new(bytes.cast::<Cell<F>>()) else {
        handle_alloc_error(vtable.layout);
    };
    // SAFETY: [task.in-place] freshly allocated for a `Cell<F>`, so this is in bounds.
    let place = unsafe { &raw mut (*cell.as_ptr()).place };
    let future = Place {
        future: ManuallyDrop::new(future),
    };
    // SAFETY: [task.in-place] the place is allocated, aligned and ours.
    unsafe { place.write(future) };
    let header = Header::new(vtable, scheduler, spawned_at);
    // SAFETY: [task.in-place] the header is the first field of a `repr(C)` type, as above.
    unsafe { cell.cast::<Header>().write(header) };
    cell.cast()
}

/// Calls `with` with the place of a task of `F`.
///
/// # Safety
///
/// `task` was allocated for an `F`, is alive, and the caller is the one who may touch the place.
#[inline]
unsafe fn with_place<F: Future, R>(task: TaskPtr, with: impl FnOnce(*mut Place<F>) -> R) -> R {
    // SAFETY: [task.alive] the caller's contract; the header begins the `Cell<F>` it came from, and
    // the pointer has the provenance of the whole allocation.
    let place = unsafe { &raw mut (*task.as_ptr().cast::<Cell<F>>()).place };
    // SAFETY: [task.alive] the caller's contract.
    let header = unsafe { task.as_ref() };
    header.place.with_mut(|_| with(place))
}

/// Moves the output out of the place.
///
/// # Safety
///
/// `task` is alive, its output is a `T` and is in the place, which the caller may touch; nobody
/// reads it again.
#[inline]
pub(crate) unsafe fn take_output<T>(task: TaskPtr) -> T {
    // SAFETY: [task.alive] the caller's contract.
    let header = unsafe { task.as_ref() };
    let offset = header.vtable.place;
    // SAFETY: [task.in-place] within the allocation, which `allocate` made with this table.
    let place = unsafe { task.as_ptr().cast::<u8>().add(offset) };
    header.place.with_mut(|_| {
        // SAFETY: [task.output-once] the output is in the place, where a `T` is aligned, and the
        // caller takes it once.
        unsafe { place.cast::<T>().read() }
    })
}

unsafe fn poll<F: Future>(task: TaskPtr, cx: &mut Context<'_>) -> Progress {
    let poll = |place: *mut Place<F>| {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: [task.future-once] the future is in the place: the poller is us.
            let future = unsafe { &mut *place.cast::<F>() };
            // SAFETY: [task.pinned] it was built there, and is dropped there before the place is
            // used for anything else.
            unsafe { Pin::new_unchecked(future) }.poll(cx)
        }));
        match polled {
            Ok(Poll::Pending) => Progress::Pending,
            // SAFETY: [task.future-once] the future is in the place, and is not polled again.
            Ok(Poll::Ready(output)) => unsafe { replace(place, output) },
            Err(payload) => {
                // A second panic, of the destructor, says less than the first.
                // SAFETY: [task.future-once] as above.
                let second = unsafe { contain_drop(place) };
                second.into_iter().for_each(discard);
                // SAFETY: [task.future-once] the future is gone.
                unsafe { write_panic(place, payload) };
                Progress::Panic
            }
        }
    };
    // SAFETY: [task.one-poller] the caller's contract.
    unsafe { with_place(task, poll) }
}

/// Drops the future and puts its output in its place.
///
/// # Safety
///
/// The future is in the place and is not used again.
#[inline]
unsafe fn replace<F: Future>(place: *mut Place<F>, output: F::Output) -> Progress {
    // SAFETY: [task.future-once] the caller's contract.
    if let Some(payload) = unsafe { contain_drop(place) } {
        // The program failed, and that is not to be hidden behind a value.
        absorb(|| drop(output));
        // SAFETY: [task.future-once] the future is gone.
        unsafe { write_panic(place, payload) };
        return Progress::Panic;
    }
    // SAFETY: [task.future-once] the future is gone, so its place is free.
    unsafe { place.cast::<F::Output>().write(output) };
    Progress::Output
}

/// Drops the future in its place; `Some` if its destructor panicked.
///
/// # Safety
///
/// The future is in the place and is not used again.
#[inline]
unsafe fn contain_drop<F: Future>(place: *mut Place<F>) -> Option<Payload> {
    if !std::mem::needs_drop::<F>() {
        return None;
    }
    contain(|| {
        // SAFETY: [task.future-once] the caller's contract.
        unsafe { place.cast::<F>().drop_in_place() }
    })
}

/// Puts a panic's payload in the place.
///
/// # Safety
///
/// The place is empty.
unsafe fn write_panic<F: Future>(place: *mut Place<F>, payload: Payload) {
    // SAFETY: [task.future-once] the caller's contract.
    unsafe { place.cast::<Payload>().write(payload) };
}

unsafe fn drop_future<F: Future>(task: TaskPtr) -> Option<Payload> {
    let drop = |place: *mut Place<F>| {
        // SAFETY: [task.future-once] the future is in the place, and the caller drops it once.
        unsafe { contain_drop(place) }
    };
    // SAFETY: [task.one-poller] the caller's contract.
    unsafe { with_place(task, drop) }
}

unsafe fn drop_output<F: Future>(task: TaskPtr) -> Option<Payload> {
    if !std::mem::needs_drop::<F::Output>() {
        return None;
    }
    let drop = |place: *mut Place<F>| {
        contain(|| {
            // SAFETY: [task.output-once] the output is in the place, and the caller owns it.
            unsafe { place.cast::<F::Output>().drop_in_place() }
        })
    };
    // SAFETY: [task.output-once] the caller's contract.
    unsafe { with_place(task, drop) }
}

unsafe fn put_panic<F: Future>(task: TaskPtr, payload: Payload) {
    let put = |place: *mut Place<F>| {
        // SAFETY: [task.future-once] the future is gone, and the place is empty.
        unsafe { write_panic(place, payload) }
    };
    // SAFETY: [task.one-poller] the caller's contract.
    unsafe { with_place(task, put) }
}

unsafe fn take_panic<F: Future>(task: TaskPtr) -> Payload {
    let take = |place: *mut Place<F>| {
        // SAFETY: [task.output-once] the payload is in the place, and the caller takes it once.
        unsafe { place.cast::<Payload>().read() }
    };
    // SAFETY: [task.output-once] the caller's contract.
    unsafe { with_place(task, take) }
}

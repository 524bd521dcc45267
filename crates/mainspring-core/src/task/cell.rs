//! The whole task: the header, the place where the future is and its result will be, and what few
//! tasks have behind it.

use super::header::{Header, TaskPtr};
use super::name::TaskName;
use super::schedule::SchedulerRef;
use super::vtable::{Progress, Vtable};
use crate::payload::{Payload, absorb, contain, discard};
use crate::sync::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::future::Future;
use std::mem::{ManuallyDrop, offset_of};
use std::num::NonZeroUsize;
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

/// What few tasks have.
pub(crate) struct Trailer {
    pub(crate) name: TaskName,
}

/// A task with a trailer. The cell begins it, so that all but its end is as in a task without.
#[repr(C)]
struct Trailed<F: Future> {
    cell: Cell<F>,
    trailer: Trailer,
}

/// The table of a task without a trailer.
const fn plain<F: Future>(is_local: bool) -> Vtable {
    Vtable {
        poll: poll::<F>,
        drop_future: drop_future::<F>,
        drop_output: drop_output::<F>,
        put_panic: put_panic::<F>,
        take_panic: take_panic::<F>,
        free: free::<F>,
        layout: Layout::new::<Cell<F>>(),
        place: offset_of!(Cell<F>, place),
        trailer: None,
        is_local,
    }
}

/// The table of a task with a trailer.
const fn trailed<F: Future>(is_local: bool) -> Vtable {
    let mut table = plain::<F>(is_local);
    table.free = free_trailed::<F>;
    table.layout = Layout::new::<Trailed<F>>();
    table.trailer = NonZeroUsize::new(offset_of!(Trailed<F>, trailer));
    table
}

/// Allocates a task and builds it in place: the future is moved once, from the caller's argument
/// to the heap.
#[inline]
pub(crate) fn allocate<F: Future, const LOCAL: bool>(
    future: F,
    scheduler: SchedulerRef,
    spawned_at: &'static Location<'static>,
) -> TaskPtr {
    let vtable = const { &plain::<F>(LOCAL) };
    // SAFETY: [task.in-place] the table of a `Cell<F>`.
    unsafe { build(vtable, future, scheduler, spawned_at) }
}

/// As [`allocate`], with a trailer.
pub(crate) fn allocate_trailed<F: Future, const LOCAL: bool>(
    future: F,
    scheduler: SchedulerRef,
    spawned_at: &'static Location<'static>,
    trailer: Trailer,
) -> TaskPtr {
    let vtable = const { &trailed::<F>(LOCAL) };
    // SAFETY: [task.in-place] the table of a `Trailed<F>`, which a `Cell<F>` begins.
    let task = unsafe { build(vtable, future, scheduler, spawned_at) };
    // SAFETY: [task.trailer] `build` allocated a `Trailed<F>`, so this is in bounds.
    let place = unsafe { &raw mut (*task.as_ptr().cast::<Trailed<F>>()).trailer };
    // SAFETY: [task.trailer] allocated, aligned, and nobody else has seen the task.
    unsafe { place.write(trailer) };
    task
}

/// # Safety
///
/// The table is one for an `F`: its layout is that of a `Cell<F>` or of what one begins.
#[inline]
unsafe fn build<F: Future>(
    vtable: &'static Vtable,
    future: F,
    scheduler: SchedulerRef,
    spawned_at: &'static Location<'static>,
) -> TaskPtr {
    // SAFETY: [task.in-place] the layout of a `Cell` is not empty: it holds a header.
    let bytes = unsafe { alloc(vtable.layout) };
    let Some(cell) = NonNull::new(bytes.cast::<Cell<F>>()) else {
        handle_alloc_error(vtable.layout);
    };
    // SAFETY: [task.in-place] freshly allocated for a `Cell<F>` at least, so this is in bounds.
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

/// The trailer of a task, if it has one.
///
/// # Safety
///
/// The caller holds a reference of any kind for as long as it uses the trailer.
pub(crate) unsafe fn trailer<'a>(task: TaskPtr) -> Option<&'a Trailer> {
    // SAFETY: [task.alive] the caller's contract.
    let header = unsafe { task.as_ref() };
    header.touch();
    let offset = header.vtable.trailer?;
    // SAFETY: [task.trailer] the table's word: within the allocation, whose provenance the pointer
    // has.
    let trailer = unsafe { task.byte_add(offset.get()) };
    // SAFETY: [task.trailer] it was written before anybody saw the task, and is only read until the
    // task is freed, which the caller's reference forbids.
    Some(unsafe { trailer.cast::<Trailer>().as_ref() })
}

/// # Safety
///
/// `task` is a `Cell<F>` that nobody else reaches, and whose fields have been taken out.
unsafe fn free<F: Future>(task: TaskPtr) {
    // SAFETY: [task.alive] allocated so, by `build`.
    unsafe { dealloc(task.as_ptr().cast(), Layout::new::<Cell<F>>()) };
}

/// # Safety
///
/// As for [`free`], of a `Trailed<F>`.
unsafe fn free_trailed<F: Future>(task: TaskPtr) {
    let whole = task.as_ptr().cast::<Trailed<F>>();
    // SAFETY: [task.trailer] in bounds, as in `allocate_trailed`.
    let trailer = unsafe { &raw mut (*whole).trailer };
    // SAFETY: [task.trailer] it is there, nobody else reaches it, and a task is freed once.
    unsafe { trailer.drop_in_place() };
    // SAFETY: [task.alive] allocated so, by `build`.
    unsafe { dealloc(whole.cast(), Layout::new::<Trailed<F>>()) };
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

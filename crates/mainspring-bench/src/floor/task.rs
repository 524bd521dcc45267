//! The task: header, then the future or its output, in one block.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::{Pin, pin};
use std::ptr::{NonNull, null_mut};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// How many tasks run before the main future is looked at again.
const TASKS_PER_TURN: u32 = 128;
/// Blocks up to this size are recycled; larger ones go back to the allocator.
const BLOCK_BYTES: usize = 96;

struct Header {
    /// The next task in the run queue, or the next free block.
    next: Cell<*mut Header>,
    refs: Cell<u32>,
    queued: Cell<bool>,
    phase: Cell<Phase>,
    functions: &'static Functions,
    joiner: Cell<Option<Waker>>,
}

impl Header {
    fn retain(&self) {
        self.refs.set(self.refs.get() + 1);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Done,
    Taken,
}

struct Functions {
    poll: unsafe fn(*mut Header),
    drop_body: unsafe fn(*mut Header),
    block_bytes: usize,
}

#[repr(C)]
struct Task<F: Future> {
    header: Header,
    body: Body<F>,
}

#[repr(C)]
union Body<F: Future> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<F::Output>,
}

struct Queue {
    head: Cell<*mut Header>,
    tail: Cell<*mut Header>,
    free: Cell<*mut Header>,
    main_woken: Cell<bool>,
}

thread_local! {
    static QUEUE: Queue = const {
        Queue {
            head: Cell::new(null_mut()),
            tail: Cell::new(null_mut()),
            free: Cell::new(null_mut()),
            main_woken: Cell::new(false),
        }
    };
}

/// Runs `main` and every task it leads to.
///
/// # Panics
///
/// When nothing can run any more: the floor has nothing to wait for.
pub fn block_on<F: Future>(main: F) -> F::Output {
    let mut main = pin!(main);
    // SAFETY: `MAIN` ignores its data pointer; every function of the table is for this thread.
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &MAIN)) };
    let mut cx = Context::from_waker(&waker);
    QUEUE.with(|queue| {
        queue.main_woken.set(true);
        loop {
            if queue.main_woken.replace(false)
                && let Poll::Ready(output) = main.as_mut().poll(&mut cx)
            {
                return output;
            }
            let ran = queue.turn();
            assert!(ran || queue.main_woken.get(), "the floor ran dry");
        }
    })
}

/// Queues a task.
pub fn spawn<F: Future + 'static>(future: F) -> Join<F::Output> {
    const { assert!(align_of::<Body<F>>() <= align_of::<Header>()) };
    QUEUE.with(|queue| {
        let block = queue.block(size_of::<Task<F>>()).cast::<Task<F>>();
        let header = Header {
            next: Cell::new(null_mut()),
            // One for the queue, one for the handle.
            refs: Cell::new(2),
            queued: Cell::new(true),
            phase: Cell::new(Phase::Running),
            functions: &const {
                Functions {
                    poll: poll::<F>,
                    drop_body: drop_body::<F>,
                    block_bytes: size_of::<Task<F>>(),
                }
            },
            joiner: Cell::new(None),
        };
        // SAFETY: the block is ours, large enough, and aligned for anything up to 16 bytes.
        unsafe {
            block.write(Task {
                header,
                body: Body {
                    future: ManuallyDrop::new(future),
                },
            })
        };
        queue.push(block.cast());
        Join {
            task: block.cast(),
            output: PhantomData,
        }
    })
}

impl Queue {
    fn push(&self, task: *mut Header) {
        // SAFETY: a task in the queue is alive: the queue owns a count.
        unsafe { (*task).next.set(null_mut()) };
        let tail = self.tail.replace(task);
        if tail.is_null() {
            self.head.set(task);
        } else {
            // SAFETY: as above.
            unsafe { (*tail).next.set(task) };
        }
    }

    fn turn(&self) -> bool {
        for ran in 0..TASKS_PER_TURN {
            let task = self.head.get();
            if task.is_null() {
                return ran != 0;
            }
            // SAFETY: a task in the queue is alive: the queue owns a count.
            let (next, functions) = unsafe { ((*task).next.get(), (*task).functions) };
            self.head.set(next);
            if next.is_null() {
                self.tail.set(null_mut());
            }
            // SAFETY: the table belongs to this task; the queue's count passes to the call.
            unsafe { (functions.poll)(task) };
        }
        true
    }

    fn block(&self, bytes: usize) -> *mut u8 {
        let free = self.free.get();
        if bytes <= BLOCK_BYTES && !free.is_null() {
            // SAFETY: a free block keeps its link in the header's first field.
            self.free.set(unsafe { (*free).next.get() });
            return free.cast();
        }
        let layout = layout(bytes);
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc(layout) };
        if block.is_null() {
            handle_alloc_error(layout);
        }
        block
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes.max(BLOCK_BYTES), 16).expect("a small layout")
}

unsafe fn poll<F: Future>(task: *mut Header) {
    // The queue's count becomes the waker's: no counting on the way in.
    // SAFETY: the task is alive and `TASK` is the table for its pointers.
    let waker = ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(task.cast(), &TASK)) });
    // SAFETY: the header is only ever borrowed shared.
    let header = unsafe { &*task };
    header.queued.set(false);
    if header.phase.get() == Phase::Running {
        // SAFETY: while the phase is Running the body is the future; nobody else polls it.
        let body = unsafe { &mut (*task.cast::<Task<F>>()).body };
        // SAFETY: the body is the future (above).
        let future: &mut F = unsafe { &mut body.future };
        // SAFETY: the block never moves, and the future is dropped in place.
        let future = unsafe { Pin::new_unchecked(future) };
        if let Poll::Ready(output) = future.poll(&mut Context::from_waker(&waker)) {
            // SAFETY: the body is the future still, and becomes the output next.
            unsafe { ManuallyDrop::drop(&mut body.future) };
            body.output = ManuallyDrop::new(output);
            header.phase.set(Phase::Done);
            if let Some(joiner) = header.joiner.take() {
                joiner.wake();
            }
        }
    }
    // SAFETY: this gives back the queue's count.
    unsafe { release(task) };
}

unsafe fn drop_body<F: Future>(task: *mut Header) {
    let task = task.cast::<Task<F>>();
    // SAFETY: the last count is gone, so this is the only access.
    let task = unsafe { &mut *task };
    match task.header.phase.get() {
        // SAFETY: the phase says that the body is the future.
        Phase::Running => unsafe { ManuallyDrop::drop(&mut task.body.future) },
        // SAFETY: the phase says that the body is an output nobody took.
        Phase::Done => unsafe { ManuallyDrop::drop(&mut task.body.output) },
        Phase::Taken => {}
    }
    drop(task.header.joiner.take());
}

unsafe fn release(task: *mut Header) {
    // SAFETY: the caller owns a count, so the header is alive.
    let header = unsafe { &*task };
    let refs = header.refs.get() - 1;
    header.refs.set(refs);
    if refs != 0 {
        return;
    }
    let functions = header.functions;
    // SAFETY: that was the last count.
    unsafe { (functions.drop_body)(task) };
    if functions.block_bytes <= BLOCK_BYTES {
        QUEUE.with(|queue| {
            header.next.set(queue.free.get());
            queue.free.set(task);
        });
    } else {
        // SAFETY: a block of this size came from the allocator with this layout.
        unsafe { dealloc(task.cast(), layout(functions.block_bytes)) };
    }
}

/// The handle of a task of the floor.
pub struct Join<T> {
    task: *mut Header,
    output: PhantomData<T>,
}

impl<T> Unpin for Join<T> {}

impl<T> Future for Join<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // SAFETY: the handle owns a count.
        let header = unsafe { &*self.task };
        if header.phase.get() == Phase::Running {
            header.joiner.set(Some(cx.waker().clone()));
            return Poll::Pending;
        }
        assert!(
            header.phase.replace(Phase::Taken) == Phase::Done,
            "joined twice"
        );
        // SAFETY: the body starts right after the header (`spawn` checks the alignment). The
        // phase was Done: the body is an output of the type the handle was made with, and it
        // is Taken from now on, so nobody reads or drops it again.
        Poll::Ready(unsafe { self.task.add(1).cast::<T>().read() })
    }
}

impl<T> Drop for Join<T> {
    fn drop(&mut self) {
        // SAFETY: this gives back the handle's count.
        unsafe { release(self.task) };
    }
}

static TASK: RawWakerVTable = RawWakerVTable::new(
    |data| {
        let task = header(data);
        // SAFETY: the waker that is cloned owns a count.
        unsafe { task.as_ref() }.retain();
        RawWaker::new(data, &TASK)
    },
    |data| {
        let task = header(data);
        // SAFETY: the waker owns a count, which passes to the queue.
        if unsafe { task.as_ref() }.queued.replace(true) {
            // SAFETY: the task stands in the queue by another count: this one goes back.
            unsafe { release(task.as_ptr()) };
        } else {
            QUEUE.with(|queue| queue.push(task.as_ptr()));
        }
    },
    |data| {
        let task = header(data);
        // SAFETY: the waker owns a count for the length of the call.
        let header = unsafe { task.as_ref() };
        if !header.queued.replace(true) {
            header.retain();
            QUEUE.with(|queue| queue.push(task.as_ptr()));
        }
    },
    // SAFETY: the waker owns a count, given back here.
    |data| unsafe { release(header(data).as_ptr()) },
);

fn header(data: *const ()) -> NonNull<Header> {
    NonNull::new(data.cast_mut().cast()).expect("a waker of a task carries its pointer")
}

static MAIN: RawWakerVTable = RawWakerVTable::new(
    |data| RawWaker::new(data, &MAIN),
    |_| QUEUE.with(|queue| queue.main_woken.set(true)),
    |_| QUEUE.with(|queue| queue.main_woken.set(true)),
    |_| {},
);

#[cfg(test)]
mod tests {
    use super::{block_on, spawn};
    use crate::runtime::YieldOnce;

    #[test]
    fn outputs_come_back_whatever_order_they_are_joined_in() {
        let total = block_on(async {
            let joins: Vec<_> = (0..300u64)
                .map(|n| {
                    spawn(async move {
                        YieldOnce::default().await;
                        Box::new(n)
                    })
                })
                .collect();
            let mut total = 0;
            for join in joins.into_iter().rev() {
                total += *join.await;
            }
            total
        });
        assert_eq!(total, 299 * 300 / 2);
    }

    #[test]
    fn a_detached_task_runs_and_drops_its_output() {
        let seen = std::rc::Rc::new(());
        let inner = std::rc::Rc::clone(&seen);
        block_on(async move {
            drop(spawn(async move { inner }));
            YieldOnce::default().await;
            YieldOnce::default().await;
        });
        assert_eq!(std::rc::Rc::strong_count(&seen), 1);
    }
}

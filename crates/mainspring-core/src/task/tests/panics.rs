//! Panics of the user's code, wherever it may panic: contained, kept, and never silent.

use super::support::{Drops, Guard, Queue, poll_once, spawn};
use crate::sync::Arc;
use crate::task::{self, Ran, Registry, TaskId};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// What the hook was told, by task. One hook serves all tests of the process.
static TOLD: Mutex<Vec<(Option<TaskId>, String)>> = Mutex::new(Vec::new());

pub(crate) fn listen() {
    task::set_unobserved_failure_hook(|failure| {
        let told = (failure.task, failure.to_string());
        TOLD.lock().unwrap().push(told);
        // A hook that panics is contained, too.
        bang();
    });
}

pub(crate) fn told(task: TaskId) -> Vec<String> {
    let told = TOLD.lock().unwrap();
    let mine = told.iter().filter(|(id, _)| *id == Some(task));
    mine.map(|(_, text)| text.clone()).collect()
}

#[test]
fn panic_of_a_callback_is_told_with_its_place_and_without_a_task() {
    listen();
    let here = std::panic::Location::caller();
    task::report_callback_panic(here, &"dropped a plate");
    let text = format!("a callback (registered at {here}) panicked: dropped a plate");
    let told = TOLD.lock().unwrap();
    assert!(
        told.iter().any(|told| *told == (None, text.clone())),
        "{told:?}"
    );
}

fn bang() {
    resume_unwind(Box::new("bang"));
}

/// Panics when dropped.
struct Bang;

impl Drop for Bang {
    fn drop(&mut self) {
        bang();
    }
}

/// Ready at once with `Bang` or nothing, and panics in its own destructor if told so.
struct Custom {
    in_poll: bool,
    _drop: Option<Bang>,
    _counted: Guard,
}

impl Future for Custom {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
        if self.in_poll {
            resume_unwind(Box::new(String::from("in poll")));
        }
        Poll::Ready(())
    }
}

fn custom(in_poll: bool, in_drop: bool, drops: &Drops) -> Custom {
    Custom {
        in_poll,
        _drop: in_drop.then(|| Bang),
        _counted: drops.guard(),
    }
}

// B013.
// WITNESS: task.future-once, join.payload
#[test]
fn panic_in_poll_and_in_the_destructor_is_the_tasks_result() {
    for (in_poll, in_drop, message) in [
        (true, false, "in poll"),
        (true, true, "in poll"),
        (false, true, "bang"),
    ] {
        let queue = Queue::new();
        let drops = Drops::new();
        let mut join = spawn(&queue, custom(in_poll, in_drop, &drops));
        assert_eq!(queue.run_all(), [Ran::Complete]);
        assert_eq!(drops.count(), 1, "task.future-once");
        assert!(queue.with_registry(Registry::is_empty), "task.registry");
        let Poll::Ready(Err(error)) = poll_once(&mut join) else {
            panic!("a panic became an output");
        };
        assert!(error.is_panic());
        assert!(error.to_string().ends_with(&format!("panicked: {message}")));
        let payload = error.into_panic();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        assert_eq!(text.or(payload.downcast_ref().copied()), Some(message));
    }
}

// WITNESS: task.future-once
#[test]
fn panic_in_the_destructor_of_an_aborted_future_is_the_tasks_result() {
    let queue = Queue::new();
    let drops = Drops::new();
    let mut join = spawn(&queue, custom(false, true, &drops));
    join.abort();
    assert_eq!(queue.run_all(), [Ran::Complete]);
    let Poll::Ready(Err(error)) = poll_once(&mut join) else {
        panic!("an aborted task gave an output");
    };
    assert!(error.is_panic());
}

// WITNESS: task.output-once
#[test]
fn panic_that_nobody_reads_reaches_the_hook_once() {
    listen();
    let queue = Queue::new();
    let drops = Drops::new();
    // Detached before, detached after, and read.
    let before = spawn(&queue, custom(true, false, &drops));
    let before_id = before.id();
    before.detach();
    let after = spawn(&queue, custom(true, false, &drops));
    let after_id = after.id();
    let mut read = spawn(&queue, custom(true, false, &drops));
    queue.run_all();
    assert_eq!(told(before_id).len(), 1);
    assert_eq!(told(after_id), [""; 0]);
    drop(after);
    let lines = told(after_id);
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].ends_with("panicked and nobody joins it: in poll"),
        "{lines:?}"
    );
    assert!(lines[0].contains(file!()), "{lines:?}");
    let read_id = read.id();
    assert!(matches!(poll_once(&mut read), Poll::Ready(Err(_))));
    drop(read);
    assert_eq!(told(read_id), [""; 0]);
}

// WITNESS: task.output-once
#[test]
fn panic_in_the_destructor_of_an_unread_output_is_contained_and_told() {
    listen();
    let queue = Queue::new();
    let early = spawn(&queue, async { Bang });
    let late = spawn(&queue, async { Bang });
    let ids = [early.id(), late.id()];
    drop(early);
    assert_eq!(queue.run_all(), [Ran::Complete, Ran::Complete]);
    drop(late);
    assert_eq!(ids.map(|id| told(id).len()), [1, 1]);
}

// A payload whose destructor panics with a payload whose destructor panics.
// WITNESS: task.output-once
#[test]
fn payload_that_panics_when_dropped_is_contained() {
    static LEFT: AtomicUsize = AtomicUsize::new(3);
    /// No bytes: the one that is forgotten leaks none.
    struct Nested;
    impl Drop for Nested {
        fn drop(&mut self) {
            if LEFT.load(Relaxed) > 0 {
                LEFT.fetch_sub(1, Relaxed);
                resume_unwind(Box::new(Nested));
            }
        }
    }
    listen();
    let queue = Queue::new();
    let join = spawn(&queue, async { resume_unwind(Box::new(Nested)) });
    let join: crate::task::JoinHandle<()> = join;
    queue.run_all();
    drop(join);
    assert_eq!(
        LEFT.load(Relaxed),
        2,
        "the first is dropped, the second is not"
    );
}

unsafe fn clone(data: *const ()) -> RawWaker {
    RawWaker::new(data, &PANICS)
}

unsafe fn panics(_: *const ()) {
    bang();
}

/// A waker that panics when it is woken.
static PANICS: RawWakerVTable = RawWakerVTable::new(clone, panics, panics, |_| {});

// B008.
// WITNESS: task.joiner-slot
#[test]
fn panic_in_the_joiners_waker_leaves_task_and_worker_whole() {
    // SAFETY: the functions of `PANICS` ignore their data.
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &PANICS)) };
    let queue = Queue::new();
    let mut join = spawn(&queue, async { 4 });
    let polled = Pin::new(&mut join).poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    assert_eq!(queue.run_all(), [Ran::Complete]);
    assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(4))));
    assert_eq!(Arc::strong_count(&queue), 1, "task.scheduler");
}

#[test]
#[should_panic(expected = "MS0017: a join handle was polled after its output")]
fn join_handle_polled_after_its_output_panics() {
    let queue = Queue::new();
    let mut join = spawn(&queue, async {});
    queue.run_all();
    assert!(poll_once(&mut join).is_ready());
    let _ = poll_once(&mut join);
}

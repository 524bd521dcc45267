//! What a run tells, what a task knows of itself, and what it weighs.

use super::support::{Queue, poll_once, scheduler, spawn};
use crate::blocking::BlockingGroup;
use crate::poll::TaskStamp;
use crate::shutdown::Controller;
use crate::sync::Arc;
use crate::task::{self, Ran, TaskId, TaskState};
use crate::time::{Deadline, Nanos};
use crate::trace::{self, Hooks, Spawn, Wake};
use crate::wait::{self, WaitKind};
use std::future::{pending, poll_fn};
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;

#[test]
fn spawned_task_runs_and_its_output_is_joined() {
    let queue = Queue::new();
    let mut join = spawn(&queue, async { 6 * 7 });
    assert!(poll_once(&mut join).is_pending());
    assert_eq!(queue.run_one(), Some(Ran::Complete));
    assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(42))));
}

#[test]
fn task_knows_its_number_and_plain_threads_have_none() {
    let queue = Queue::new();
    assert_eq!(task::current_id(), None);
    let mut join = spawn(&queue, async { task::current_id() });
    let id = join.id();
    queue.run_all();
    assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(Some(found))) if found == id));
}

#[test]
fn numbers_are_unique_across_threads() {
    let draw = || std::thread::spawn(|| (0..3_000).map(|_| TaskId::next()).collect::<Vec<_>>());
    let threads = [draw(), draw(), draw()];
    let mut all: Vec<_> = threads
        .into_iter()
        .flat_map(|t| t.join().unwrap())
        .collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

// WITNESS: wait.torn
#[test]
fn snapshot_tells_state_polls_and_what_is_waited_for() {
    let queue = Queue::new();
    let join = spawn(
        &queue,
        poll_fn(|_| {
            wait::note(WaitKind::Receive, 77);
            Poll::<()>::Pending
        }),
    );
    let look = || queue.with_registry(|all| all.iter().next().map(|task| task.info(Nanos::ZERO)));
    let new = look().unwrap();
    assert_eq!((new.state, new.polls), (TaskState::Scheduled, 0));
    assert!(new.waits_for.is_none(), "a queued task waits for nothing");
    assert_eq!(new.spawned_at.file(), file!());
    queue.run_all();
    let waits = look().unwrap();
    assert_eq!((waits.state, waits.polls), (TaskState::Waiting, 1));
    let reason = waits.waits_for.unwrap();
    assert_eq!((reason.kind, reason.object), (WaitKind::Receive, 77));
    let line = waits.to_string();
    assert!(line.ends_with(", waiting for Receive for 0ns"), "{line}");
    join.abort();
    let aborted = look().unwrap();
    assert!(aborted.is_cancelled && aborted.waits_for.is_none());
    queue.run_all();
    assert!(look().is_none(), "task.registry: a complete task is listed");
}

// What is ready keeps nobody waiting; a future from elsewhere does not say what it waits for.
#[test]
fn task_that_waits_outside_the_family_shows_no_reason_and_its_line_says_so() {
    let queue = Queue::new();
    let shutdown = Controller::new();
    shutdown.request(Deadline::after(Duration::ZERO));
    let signal = shutdown.signal();
    let group = BlockingGroup::new();
    let join = spawn(&queue, async move {
        signal.requested().await;
        group.drained().await;
        pending::<()>().await;
    });
    let look = || queue.with_registry(|all| all.iter().next().map(|t| t.info(Nanos(5 << 30))));
    let line = look().unwrap().to_string();
    assert!(line.ends_with(", waiting to be polled"), "{line}");
    queue.run_all();
    let info = look().unwrap();
    assert_eq!((info.state, info.waits_for), (TaskState::Waiting, None));
    let line = info.to_string();
    let start = format!("task {} spawned at {}, ", join.id(), info.spawned_at);
    assert!(line.starts_with(&start), "{line}");
    assert!(
        line.ends_with("waiting for something outside the family"),
        "{line}"
    );
    queue.shut_down();
    drop(join);
}

// A task is made RUNNING, so a look at it has to tell its queue from its first poll.
#[test]
fn first_poll_is_shown_as_running_and_what_precedes_it_is_not() {
    let queue = Queue::new();
    let looking = Arc::clone(&queue);
    let look = move || looking.with_registry(|all| all.iter().next().map(|t| t.info(Nanos::ZERO)));
    let inside = look.clone();
    let mut join = spawn(
        &queue,
        poll_fn(move |_| Poll::Ready(inside().unwrap().state)),
    );
    assert_eq!(look().unwrap().state, TaskState::Scheduled);
    queue.run_all();
    assert!(matches!(
        poll_once(&mut join),
        Poll::Ready(Ok(TaskState::Running))
    ));
}

// The handle knows the output's type and not the future's, whose alignment moves the place.
// WITNESS: task.in-place
#[test]
fn output_is_found_however_future_and_output_are_aligned() {
    #[repr(align(64))]
    struct Wide(u8);
    let queue = Queue::new();
    let wide = Wide(3);
    let mut future = spawn(&queue, async move {
        task::yield_now().await;
        let wide = &wide;
        wide.0
    });
    let mut output = spawn(&queue, async { Wide(4) });
    queue.run_all();
    queue.run_all();
    assert!(matches!(poll_once(&mut future), Poll::Ready(Ok(3))));
    let Poll::Ready(Ok(found)) = poll_once(&mut output) else {
        panic!("it is complete");
    };
    assert_eq!((found.0, (&raw const found).addr() % 64), (4, 0));
}

#[test]
fn join_of_a_pending_task_says_whom_it_waits_for() {
    let queue = Queue::new();
    let inner = spawn(&queue, pending::<()>());
    let id = inner.id();
    let outer = spawn(&queue, inner);
    queue.run_all();
    let infos =
        queue.with_registry(|all| all.iter().map(|t| t.info(Nanos::ZERO)).collect::<Vec<_>>());
    let outer_info = infos.iter().find(|info| info.id == outer.id()).unwrap();
    let reason = outer_info.waits_for.unwrap();
    assert_eq!((reason.kind, reason.object), (WaitKind::Join, id.as_u64()));
    queue.shut_down();
}

/// A future of a given size whose address is checked at each poll.
struct Pinned<const N: usize>([u8; N], *const u8);

// SAFETY: the pointer is compared, never followed.
unsafe impl<const N: usize> Send for Pinned<N> {}

impl<const N: usize> Future for Pinned<N> {
    type Output = [u8; N];

    fn poll(self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<[u8; N]> {
        // SAFETY: nothing is moved out.
        let this = unsafe { self.get_unchecked_mut() };
        if this.1.is_null() {
            this.1 = this.0.as_ptr();
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        assert_eq!(this.1, this.0.as_ptr(), "task.pinned");
        Poll::Ready(this.0)
    }
}

// WITNESS: task.pinned, task.in-place, task.output-once
#[test]
fn futures_of_every_size_and_their_outputs_survive() {
    fn survives<const N: usize>() {
        let queue = Queue::new();
        let bytes: [u8; N] = std::array::from_fn(|i| i as u8);
        let mut join = spawn(&queue, Pinned(bytes, std::ptr::null()));
        assert_eq!(queue.run_all(), [Ran::Rescheduled, Ran::Complete]);
        let Poll::Ready(Ok(output)) = poll_once(&mut join) else {
            panic!("no output");
        };
        assert_eq!(output, bytes);
    }
    survives::<0>();
    survives::<1>();
    survives::<16>();
    survives::<100>();
    survives::<4_096>();
}

#[repr(align(64))]
struct Aligned(u64);

// WITNESS: task.in-place
#[test]
fn future_and_output_of_large_alignment_are_aligned() {
    let queue = Queue::new();
    let held = Aligned(5);
    let mut join = spawn(&queue, async move {
        let held = held;
        task::yield_now().await;
        assert_eq!(std::ptr::from_ref(&held).addr() % 64, 0, "task.in-place");
        held
    });
    queue.run_all();
    let Poll::Ready(Ok(output)) = poll_once(&mut join) else {
        panic!("no output");
    };
    assert_eq!(output.0, 5);
}

// WITNESS: task.in-place
#[cfg(target_pointer_width = "64")]
#[test]
fn task_of_a_small_future_is_its_header_and_sixteen_bytes() {
    let queue = Queue::new();
    let two_words = (0_u64, 0_u64);
    let future = poll_fn(move |_| Poll::Ready(two_words.0 + two_words.1));
    assert_eq!(size_of_val(&future), 16);
    let (runnable, _join) = task::create(future, scheduler(&queue));
    assert_eq!(runnable.header().vtable.layout.size(), 104);
    assert_eq!(size_of::<crate::task::Runnable>(), size_of::<usize>());
    assert_eq!(size_of::<crate::task::SchedulerRef>(), size_of::<usize>());
}

// WITNESS: task.lifetime
#[test]
fn unchecked_task_may_borrow_what_outlives_it() {
    let queue = Queue::new();
    let text = String::from("borrowed");
    let borrowed = &text;
    // SAFETY: the runnable is run to its end below, on this thread, while `text` lives.
    let (runnable, mut join) =
        unsafe { task::create_unchecked(async move { borrowed.len() }, scheduler(&queue)) };
    queue.accept(runnable);
    queue.run_all();
    assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(8))));
}

/// What happened to one task, in order.
#[derive(Debug)]
struct Record(Mutex<Vec<(u64, &'static str)>>);

impl Record {
    fn note(&self, task: u64, what: &'static str) {
        self.0.lock().unwrap().push((task, what));
    }
}

impl Hooks for Record {
    fn spawn(&self, spawn: Spawn) {
        self.note(spawn.task.as_u64(), "spawn");
    }

    fn wake(&self, wake: Wake) {
        self.note(wake.task.as_u64(), "wake");
    }

    fn poll_begin(&self, stamp: TaskStamp) {
        self.note(stamp.task, "begin");
    }

    fn poll_end(&self, stamp: TaskStamp, _ran: Ran) {
        self.note(stamp.task, "end");
    }
}

static RECORD: Record = Record(Mutex::new(Vec::new()));

#[test]
fn hooks_see_a_tasks_life_while_they_are_on() {
    let queue = Queue::new();
    trace::install(&RECORD).unwrap();
    assert_eq!(trace::install(&RECORD), Err(trace::AlreadyInstalled));
    let unseen = queue.clone();
    trace::enable(true);
    let (runnable, join) = task::create(task::yield_now(), scheduler(&queue));
    let id = join.id().as_u64();
    queue.accept(runnable);
    queue.run_all();
    trace::enable(false);
    drop(Arc::clone(&unseen));
    let record = RECORD.0.lock().unwrap();
    let mine: Vec<_> = record.iter().filter(|(task, _)| *task == id).collect();
    let names: Vec<_> = mine.iter().map(|(_, what)| *what).collect();
    assert_eq!(
        names,
        ["spawn", "wake", "begin", "wake", "end", "begin", "end"]
    );
}

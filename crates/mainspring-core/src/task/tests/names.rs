//! Names: shown wherever the task is, and gone with its memory.

use super::support::{Queue, poll_once, scheduler};
use crate::sync::Arc;
use crate::task::{
    self, JoinError, JoinHandle, LocalSchedule, Options, Runnable, Schedule, SchedulerRef,
    TaskName, TaskRef, WakeCause,
};
use crate::time::Nanos;
use std::borrow::Cow;
use std::future::{Future, pending, poll_fn};
use std::rc::Rc;
use std::task::Poll;

/// A queue that is at home everywhere: the tests here stay on one thread.
struct Here(Arc<Queue>);

impl Schedule for Here {
    fn schedule(&self, runnable: Runnable, why: WakeCause) {
        self.0.schedule(runnable, why);
    }

    fn retire(&self, task: &TaskRef) {
        self.0.retire(task);
    }
}

// SAFETY: only one thread ever reaches one.
unsafe impl LocalSchedule for Here {
    fn is_home(&self) -> bool {
        true
    }
}

/// A name whose holders can be counted.
fn name() -> std::sync::Arc<str> {
    std::sync::Arc::from("worker 7")
}

fn named(name: &std::sync::Arc<str>) -> Options {
    Options::new().name(std::sync::Arc::clone(name))
}

fn holders(name: &std::sync::Arc<str>) -> usize {
    std::sync::Arc::strong_count(name) - 1
}

fn error_of<T>(join: &mut JoinHandle<T>) -> JoinError {
    match poll_once(join) {
        Poll::Ready(Err(error)) => error,
        _ => panic!("the task was to fail"),
    }
}

// WITNESS: task.trailer
#[test]
fn name_is_shown_by_the_handle_the_snapshot_and_the_error() {
    let queue = Queue::new();
    let options = Options::new().name("accept");
    let (runnable, mut join) = task::create_with(pending::<()>(), scheduler(&queue), options);
    let task = runnable.task().clone();
    assert_eq!((join.name(), task.name()), (Some("accept"), Some("accept")));
    assert!(format!("{runnable:?} {task:?}").contains("accept"));
    queue.accept(runnable);
    queue.run_all();
    let info = task.info(Nanos::ZERO);
    let begins = format!("task {} \"accept\" spawned at {}", info.id, file!());
    assert!(info.to_string().starts_with(&begins), "{info}");
    join.abort();
    queue.run_all();
    let error = error_of(&mut join);
    assert_eq!(error.task_name(), Some("accept"));
    assert_eq!(error.task_id(), info.id);
    assert_eq!(error.spawned_at().line(), info.spawned_at.line());
    let begins = format!("task {} \"accept\" (spawned at {}", info.id, file!());
    assert!(error.to_string().starts_with(&begins), "{error}");
    drop(join);
    assert_eq!(task.name(), Some("accept"), "task.trailer: gone too early");
}

// WITNESS: task.trailer
#[test]
fn task_without_a_name_shows_none() {
    let queue = Queue::new();
    let options = Options::new();
    let (runnable, mut join) = task::create_with(pending::<()>(), scheduler(&queue), options);
    assert_eq!((join.name(), runnable.task().name()), (None, None));
    let info = runnable.task().info(Nanos::ZERO);
    assert_eq!(info.name, None);
    let begins = format!("task {} spawned at ", info.id);
    assert!(info.to_string().starts_with(&begins), "{info}");
    drop(runnable);
    assert_eq!(error_of(&mut join).task_name(), None);
}

// WITNESS: task.trailer
#[test]
fn panic_that_nobody_reads_is_reported_with_the_name() {
    super::panics::listen();
    let queue = Queue::new();
    let options = Options::new().name(String::from("odd \"one\""));
    let future = poll_fn(|_| -> Poll<()> { std::panic::resume_unwind(Box::new("lost")) });
    let (runnable, join) = task::create_with(future, scheduler(&queue), options);
    let id = join.id();
    join.detach();
    queue.accept(runnable);
    queue.run_all();
    let told = super::panics::told(id);
    let begins = format!("task {id} \"odd \\\"one\\\"\" (spawned at ");
    assert!(told.len() == 1 && told[0].starts_with(&begins), "{told:?}");
}

// WITNESS: task.trailer, task.alive
#[test]
fn name_lives_as_long_as_the_memory_and_is_dropped_once() {
    let queue = Queue::new();
    let name = name();
    let (runnable, mut join) = task::create_with(async { 5 }, scheduler(&queue), named(&name));
    queue.accept(runnable);
    let abort = join.abort_handle();
    queue.run_all();
    assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(5))));
    drop(join);
    assert_eq!(holders(&name), 1, "task.trailer: the abort handle holds it");
    drop(abort);
    assert_eq!(holders(&name), 0, "task.trailer: leaked");
}

// WITNESS: task.trailer
#[test]
fn error_keeps_the_name_and_not_the_task() {
    let queue = Queue::new();
    let name = name();
    let options = named(&name);
    let (runnable, mut join) = task::create_with(pending::<()>(), scheduler(&queue), options);
    drop(runnable);
    let error = error_of(&mut join);
    drop(join);
    assert_eq!((holders(&name), error.task_name()), (1, Some("worker 7")));
    drop(error);
    assert_eq!(holders(&name), 0);
}

// WITNESS: task.trailer, task.lifetime, task.home
#[test]
fn local_and_unchecked_tasks_have_names_too() {
    let queue = Queue::new();
    let home = || SchedulerRef::local(Arc::new(Here(Arc::clone(&queue))));
    let name = name();
    let rc = Rc::new(());
    let local = async move { drop(rc) };
    let (first, a) = task::create_local_with(local, home(), named(&name));
    // SAFETY: made, run and dropped on this thread.
    let (second, b) =
        unsafe { task::create_local_unchecked_with(pending::<()>(), home(), named(&name)) };
    let borrowed = String::from("borrowed");
    let borrows = async { borrowed.len() };
    // SAFETY: run to its end below, while `borrowed` lives.
    let (third, c) =
        unsafe { task::create_unchecked_with(borrows, scheduler(&queue), named(&name)) };
    for task in [first.task(), second.task(), third.task()] {
        assert_eq!(task.name(), Some("worker 7"));
    }
    assert_eq!(
        (a.name(), b.name(), c.name()),
        (first.task().name(), a.name(), b.name())
    );
    assert_eq!(holders(&name), 3);
    [first, second, third]
        .into_iter()
        .for_each(|runnable| queue.accept(runnable));
    queue.run_all();
    drop((a, c));
    assert_eq!(holders(&name), 1, "task.trailer: only one of three waits");
    queue.shut_down();
    drop(b);
    assert_eq!(holders(&name), 0, "task.trailer: leaked");
}

/// A future of an odd size whose alignment is larger than the header's.
#[repr(align(64))]
struct Aligned([u8; 65]);

impl Future for Aligned {
    type Output = u8;

    fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<u8> {
        Poll::Ready(self.0.iter().sum())
    }
}

// WITNESS: task.trailer, task.in-place
#[test]
fn trailer_stands_clear_of_a_large_place() {
    let queue = Queue::new();
    let name = name();
    let future = Aligned([1; 65]);
    let (runnable, mut join) = task::create_with(future, scheduler(&queue), named(&name));
    queue.accept(runnable);
    queue.run_all();
    assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(65))));
    assert_eq!(join.name(), Some("worker 7"));
}

// WITNESS: task.in-place, task.trailer
#[cfg(target_pointer_width = "64")]
#[test]
fn only_named_tasks_pay_for_their_name() {
    let queue = Queue::new();
    let size = |options| {
        let (runnable, join) = task::create_with(pending::<()>(), scheduler(&queue), options);
        join.detach();
        runnable.header().vtable.layout.size()
    };
    let unnamed = size(Options::new());
    let (runnable, _join) = task::create(pending::<()>(), scheduler(&queue));
    assert_eq!(runnable.header().vtable.layout.size(), unnamed);
    assert_eq!(
        size(Options::new().name("n")),
        unnamed + size_of::<TaskName>()
    );
    assert_eq!((size_of::<TaskName>(), size_of::<JoinError>()), (24, 32));
}

#[test]
fn names_are_made_of_what_there_is() {
    let cow: Cow<'static, str> = Cow::Owned("a".into());
    let names = [TaskName::from("a"), "a".to_owned().into(), cow.into()];
    assert!(names.iter().all(|name| name == &TaskName::new("a")));
    assert_eq!(TaskName::from(Cow::Borrowed("b")).to_string(), "b");
    assert_eq!(format!("{:?}", names[1]), "\"a\"");
}

// WITNESS: task.trailer
#[test]
fn location_is_the_callers_with_options_too() {
    let queue = Queue::new();
    let home = SchedulerRef::local(Arc::new(Here(Arc::clone(&queue))));
    let line = line!() + 1;
    let (a, _a) = task::create_with(pending::<()>(), scheduler(&queue), Options::new().name("a"));
    let (b, _b) = task::create_local_with(pending::<()>(), home, Options::new().name("b"));
    assert_eq!(a.task().spawned_at().line(), line);
    assert_eq!(b.task().spawned_at().line(), line + 1);
    assert_eq!(b.task().spawned_at().file(), file!());
}

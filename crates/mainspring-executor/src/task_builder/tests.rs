use crate::{LocalExecutor, TaskBuilder, block_on};
use mainspring_core::spawn;
use mainspring_core::task::JoinHandle;
use std::future::pending;
use std::panic::Location;
use std::rc::Rc;

/// Where the builder says that a task was spawned: its file and its line.
fn place<T>(task: JoinHandle<T>) -> (&'static str, u32) {
    task.abort();
    let location: &Location<'_> = match block_on(task) {
        Err(error) => error.spawned_at(),
        Ok(_) => panic!("it was to be aborted"),
    };
    (location.file(), location.line())
}

#[test]
fn name_and_place_are_those_of_the_call_in_each_form() {
    let executor = LocalExecutor::new();
    let spawner = executor.spawner();
    let named = || TaskBuilder::new().name("named");
    let (first, tasks) = executor.block_on(async {
        let local = spawn::current_local().unwrap();
        let first = line!() + 1;
        let a = named().spawn(pending::<()>());
        let b = named().try_spawn(pending::<()>()).ok().unwrap();
        let c = named().spawn_on(&spawner, pending::<()>());
        let d = named().spawn_local(pending::<()>());
        let e = named().try_spawn_local(pending::<()>()).ok().unwrap();
        let f = named().spawn_local_on(&local, pending::<()>());
        (first, [a, b, c, d, e, f])
    });
    for task in executor.tasks() {
        assert_eq!(task.name.as_deref(), Some("named"));
    }
    drop(executor);
    for (task, line) in tasks.into_iter().zip(first..) {
        assert_eq!(task.name(), Some("named"));
        assert_eq!(place(task), (file!(), line));
    }
}

#[test]
fn builder_without_a_name_spawns_a_plain_task() {
    let executor = LocalExecutor::new();
    let seven = executor.block_on(async {
        let task = TaskBuilder::default().spawn_local(std::future::ready(Rc::new(7)));
        assert_eq!(task.name(), None);
        task.await
    });
    assert_eq!(seven.ok().as_deref(), Some(&7));
}

#[test]
fn outside_an_executor_the_future_comes_back() {
    let future = TaskBuilder::new().try_spawn(async { 6 }).unwrap_err();
    assert_eq!(block_on(future), 6);
    let future = TaskBuilder::new().try_spawn_local(async { 7 }).unwrap_err();
    assert_eq!(block_on(future), 7);
}

#[test]
#[should_panic(expected = "MS0001: `spawn_local` was called outside an executor")]
fn outside_an_executor_spawning_panics_with_a_code() {
    TaskBuilder::new().spawn_local(async {}).detach();
}

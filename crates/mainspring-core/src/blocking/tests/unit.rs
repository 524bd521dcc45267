use crate::blocking::{
    self, Blocking, BlockingError, BlockingGroup, JobState, enter, set_thread_limit, stats,
};
use crate::park::Parker;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};

fn wait<F: Future>(future: F) -> F::Output {
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(parker.unparker()));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => parker.park(),
        }
    }
}

fn is_ready<F: Future>(future: F) -> bool {
    pin!(future)
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

#[test]
fn job_runs_on_a_thread_of_its_class() {
    let name = blocking::run(Blocking::Syscall, || {
        std::thread::current().name().map(ToOwned::to_owned)
    });
    assert_eq!(wait(name).ok().flatten().as_deref(), Some("ms-syscall"));
    assert!(stats(Blocking::Syscall).threads >= 1);
}

// WITNESS: group.counted, group.told
#[test]
fn group_names_its_jobs_waits_for_them_and_for_no_abandonable_one() {
    let (group, other) = (BlockingGroup::new(), BlockingGroup::new());
    let (open, gate) = mpsc::channel::<()>();
    let (hang_up, hung) = mpsc::channel::<()>();
    let entered = enter(&group);
    let task = blocking::run(Blocking::Syscall, move || gate.recv().is_ok());
    let hanging = blocking::run(Blocking::Abandonable, move || hung.recv().is_err());
    drop(entered);
    assert_eq!((group.len(), other.len()), (2, 0));
    let [first, second] = group.jobs()[..] else {
        panic!("two jobs: {group:?}");
    };
    assert_eq!(
        (first.class, second.class),
        (Blocking::Syscall, Blocking::Abandonable)
    );
    assert!(
        first
            .submitted_at
            .file()
            .ends_with("blocking/tests/unit.rs")
    );
    assert!(first.to_string().starts_with("Syscall job submitted at"));
    assert!(!is_ready(group.drained()));
    assert!(is_ready(other.drained()));
    open.send(()).unwrap();
    wait(group.drained());
    assert_eq!(group.len(), 1, "the abandonable one is left");
    assert_eq!(wait(task).ok(), Some(true));
    drop(hang_up);
    assert_eq!(wait(hanging).ok(), Some(true));
    assert!(group.is_empty(), "group.counted");
}

#[test]
fn closed_group_refuses_new_jobs_and_lets_running_ones_end() {
    let group = BlockingGroup::new();
    let (open, gate) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    let running = group.run(Blocking::Syscall, move || {
        begun.send(()).unwrap();
        gate.recv().is_ok()
    });
    begins.recv().unwrap();
    assert_eq!(group.jobs()[0].state, JobState::Running);
    assert!(group.close().is_empty());
    let refused = wait(group.run(Blocking::Syscall, || ()));
    assert!(matches!(refused, Err(BlockingError::Closed)));
    assert!(refused.is_err_and(|error| !error.is_transient()));
    open.send(()).unwrap();
    assert_eq!(wait(running).ok(), Some(true));
}

#[test]
fn close_fails_what_is_queued_and_leaves_other_groups_alone() {
    let (group, other) = (BlockingGroup::new(), BlockingGroup::new());
    set_thread_limit(Blocking::Compute, 0);
    let (open, gate) = mpsc::channel::<()>();
    // Fills the one thread of the lane; who else computes in this process waits meanwhile.
    let (begun, begins) = mpsc::channel();
    let gated = other.run(Blocking::Compute, move || {
        begun.send(()).unwrap();
        gate.recv().is_ok()
    });
    begins.recv().unwrap();
    let line = line!() + 1;
    let queued = group.run(Blocking::Compute, || 1);
    let theirs = other.run(Blocking::Compute, || 2);
    let refused = group.close();
    assert_eq!(refused.len(), 1);
    assert_eq!(
        (refused[0].submitted_at.line(), refused[0].state),
        (line, JobState::Queued)
    );
    assert!(matches!(wait(queued), Err(BlockingError::Closed)));
    open.send(()).unwrap();
    assert_eq!(wait(gated).ok(), Some(true));
    assert_eq!(wait(theirs).ok(), Some(2));
}

#[test]
fn waker_of_a_drain_may_look_at_the_group() {
    struct Looks(BlockingGroup, Mutex<Option<usize>>);
    impl std::task::Wake for Looks {
        fn wake(self: Arc<Self>) {
            *self.1.lock().unwrap() = Some(self.0.len());
        }
    }
    let group = BlockingGroup::with_runner(drop);
    let later = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&later);
    let runs_later = BlockingGroup::with_runner(move |job| kept.lock().unwrap().push(job));
    let task = runs_later.run(Blocking::Syscall, || 5);
    let looks = Arc::new(Looks(runs_later.clone(), Mutex::new(None)));
    let mut drained = pin!(runs_later.drained());
    let waker = Waker::from(Arc::clone(&looks));
    assert!(
        drained
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let job = later.lock().unwrap().pop();
    job.into_iter().for_each(blocking::Job::run);
    assert_eq!(*looks.1.lock().unwrap(), Some(0), "group.told");
    assert!(is_ready(drained));
    assert_eq!(wait(task).ok(), Some(5));
    // A job that its runner drops is cancelled.
    let dropped = wait(group.run(Blocking::Syscall, || 6));
    assert!(matches!(dropped, Err(BlockingError::Cancelled)));
    assert!(group.is_empty());
}

/// Notes, when it is woken, whether the group it knows of is settled.
struct Looks {
    group: BlockingGroup,
    seen: Mutex<Vec<bool>>,
}

impl std::task::Wake for Looks {
    fn wake(self: Arc<Self>) {
        let settled = self
            .group
            .poll_settled(&mut Context::from_waker(Waker::noop()));
        let mut seen = self.seen.lock().expect("no panic");
        seen.push(settled.is_ready());
    }
}

// WITNESS: group.settled
#[test]
fn group_is_settled_when_whoever_waits_was_told_on_every_path() {
    let jobs = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&jobs);
    let group = BlockingGroup::with_runner(move |job| taken.lock().expect("no panic").push(job));
    let looks = || {
        Arc::new(Looks {
            group: group.clone(),
            seen: Mutex::new(Vec::new()),
        })
    };
    let paths: [fn(blocking::Job); 2] = [blocking::Job::run, drop];
    for end in paths {
        let (waiter, watcher) = (looks(), looks());
        let mut task = std::pin::pin!(group.run(Blocking::Abandonable, || 1));
        let wakers = [&waiter, &watcher].map(|looks| Waker::from(Arc::clone(looks)));
        assert!(
            task.as_mut()
                .poll(&mut Context::from_waker(&wakers[0]))
                .is_pending()
        );
        let mut cx = Context::from_waker(&wakers[1]);
        assert!(group.poll_settled(&mut cx).is_pending());
        assert!(group.poll_settled(&mut cx).is_pending(), "and is told once");
        let job = jobs.lock().expect("no panic").pop().expect("a job");
        end(job);
        // The first was called while the job was unsettled, the second afterwards.
        assert_eq!(*waiter.seen.lock().expect("no panic"), [false]);
        assert_eq!(*watcher.seen.lock().expect("no panic"), [true]);
        assert!(group.poll_settled(&mut cx).is_ready() && group.is_empty());
    }
}

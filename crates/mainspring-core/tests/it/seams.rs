use crate::executor::{Threads, block_on};
use mainspring_core::blocking::{self, Blocking, BlockingGroup};
use mainspring_core::load::{self, Load};
use mainspring_core::microtask::{self, Job, MicrotaskQueue};
use mainspring_core::readiness::{self, Interest, NoReactor, Readiness, Registration};
use mainspring_core::shutdown::{self, Controller};
use mainspring_core::spawn::{self, Spawner};
use mainspring_core::time::{Deadline, Nanos};
use mainspring_core::{CancelSafe, assert_cancel_safe, random};
use std::io;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

#[test]
fn nobody_is_current_on_a_plain_thread() {
    assert!(spawn::current().is_none());
    assert!(spawn::current_local().is_none());
    assert!(microtask::current().is_none());
    assert!(load::delay().is_none());
    assert!(!shutdown::signal().is_requested());
    let refused = readiness::register(0, Interest::READABLE, |_| {});
    let error = refused.err().and_then(io::Error::into_inner);
    assert!(error.is_some_and(|error| error.is::<NoReactor>()));
}

#[test]
fn foreign_spawner_runs_tasks_cleanups_and_microtasks() {
    let _entered = spawn::enter(&Spawner::new(Threads));
    let spawner = spawn::current().expect("entered above");
    let task = spawner.spawn(async { blocking::run(Blocking::Compute, || 20).await });
    let cleanup = spawner.spawn_cleanup(async { 1 }, Duration::from_secs(600));
    let (sender, receiver) = mpsc::channel();
    let home = microtask::current().expect("the spawner stands in");
    for number in 0..50 {
        let sender = sender.clone();
        home.queue(move || assert!(sender.send(number).is_ok()));
    }
    drop(sender);
    assert_eq!(
        receiver.iter().collect::<Vec<_>>(),
        (0..50).collect::<Vec<_>>()
    );
    assert_eq!(block_on(task).ok().and_then(Result::ok), Some(20));
    assert_eq!(block_on(cleanup).ok().and_then(Result::ok), Some(1));
}

#[derive(Default)]
struct Loop(Mutex<Vec<Job>>, Mutex<Vec<Job>>);

impl MicrotaskQueue for Loop {
    fn queue(&self, job: Job) {
        self.0.lock().unwrap().push(job);
    }

    fn at_checkpoint(&self, job: Job) {
        self.1.lock().unwrap().push(job);
    }
}

#[test]
fn event_loop_comes_before_the_spawner_as_the_home_of_microtasks() {
    let event_loop = Arc::new(Loop::default());
    let _spawner = spawn::enter(&Spawner::new(Threads));
    let queue: Arc<dyn MicrotaskQueue> = event_loop.clone();
    let _entered = microtask::enter(queue);
    let home = microtask::current().expect("entered above");
    home.queue(|| {});
    home.at_checkpoint(|| {});
    let counts = (
        event_loop.0.lock().unwrap().len(),
        event_loop.1.lock().unwrap().len(),
    );
    assert_eq!(counts, (1, 1));
}

struct Measured;

impl Load for Measured {
    fn delay(&self) -> Option<Nanos> {
        Some(Nanos(7))
    }
}

#[test]
fn load_is_that_of_the_entered_worker() {
    let entered = load::enter(Arc::new(Measured));
    assert_eq!(load::delay(), Some(Nanos(7)));
    drop(entered);
    assert_eq!(load::delay(), None);
}

/// Reports every source as ready at once, and counts who is registered.
#[derive(Default)]
struct AlwaysReady(Arc<Mutex<usize>>);

struct Counted(Arc<Mutex<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        *self.0.lock().unwrap() -= 1;
    }
}

impl Readiness for AlwaysReady {
    fn register(
        &self,
        _source: readiness::RawSource,
        interest: Interest,
        mut callback: readiness::Callback,
    ) -> io::Result<Registration> {
        callback(interest);
        *self.0.lock().unwrap() += 1;
        Ok(Registration::new(Counted(Arc::clone(&self.0))))
    }
}

#[test]
fn readiness_is_reported_by_the_entered_reactor() {
    let count = Arc::new(Mutex::new(0));
    let _entered = readiness::enter(Arc::new(AlwaysReady(Arc::clone(&count))));
    let (sender, receiver) = mpsc::channel();
    let both = Interest::READABLE | Interest::WRITABLE;
    let registered = readiness::register(3, both, move |ready| assert!(sender.send(ready).is_ok()));
    assert!(
        receiver
            .recv()
            .is_ok_and(|ready| ready.is_readable() && ready.is_writable())
    );
    assert_eq!(*count.lock().unwrap(), 1);
    drop(registered);
    assert_eq!(*count.lock().unwrap(), 0);
}

#[test]
fn shutdown_requested_elsewhere_ends_a_wait() {
    let controller = Controller::new();
    let _entered = shutdown::enter(&controller.signal());
    let wait = shutdown::signal().requested();
    let deadline = Deadline::after(Duration::from_secs(5));
    let requesting = std::thread::spawn(move || controller.request(deadline));
    assert_eq!(block_on(wait), deadline);
    assert!(requesting.join().is_ok());
}

#[test]
fn group_of_a_runtime_counts_what_its_workers_submit() {
    let group = BlockingGroup::new();
    let entered = blocking::enter(&group);
    let (open, gate) = mpsc::channel::<()>();
    let task = blocking::run(Blocking::Syscall, move || gate.recv().is_ok());
    drop(entered);
    assert!(group.jobs()[0].submitted_at.file().ends_with("seams.rs"));
    assert_eq!(open.send(()), Ok(()));
    block_on(group.drained());
    assert_eq!(block_on(task).ok(), Some(true));
    assert!(group.is_empty());
}

#[test]
fn vouched_future_is_cancel_safe_and_seeds_replay() {
    fn race<A: CancelSafe, B: CancelSafe>(_: A, _: B) -> bool {
        A::KEEPS_PLACE && B::KEEPS_PLACE
    }
    let group = BlockingGroup::new();
    assert!(race(assert_cancel_safe(async {}), group.drained()));
    let _seeded = random::enter(9);
    let drawn = random::next_u64();
    let _again = random::enter(9);
    assert_eq!(random::next_u64(), drawn);
}

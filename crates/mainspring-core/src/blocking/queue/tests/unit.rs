use super::support::{lane, poll, submit, value, wait};
use crate::blocking::queue::{Lane, LaneStats, OnSubmit, start};
use crate::blocking::{Blocking, BlockingError, BlockingGroup, BlockingTask, OnCancelJob};
use crate::park::Parker;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A job that has begun, and ends when it is told.
fn gate(lane: &'static Lane, group: &BlockingGroup) -> (mpsc::Sender<()>, BlockingTask<bool>) {
    let (open, gate) = mpsc::channel();
    let (begun, begins) = mpsc::channel();
    let gated = submit(lane, group, move || {
        begun.send(()).unwrap();
        gate.recv().is_ok()
    });
    begins.recv().unwrap();
    (open, gated)
}

// WITNESS: blocking.served
#[test]
fn one_thread_serves_in_order_of_submission() {
    let (lane, group) = (lane(1, start), BlockingGroup::new());
    let order = Arc::new(Mutex::new(Vec::new()));
    let (open, gated) = gate(lane, &group);
    let tasks: Vec<_> = (0..10)
        .map(|i| {
            let order = Arc::clone(&order);
            submit(lane, &group, move || order.lock().unwrap().push(i))
        })
        .collect();
    assert_eq!(lane.stats().threads, 1);
    open.send(()).unwrap();
    assert!(value(wait(gated)));
    tasks.into_iter().for_each(|task| value(wait(task)));
    assert_eq!(*order.lock().unwrap(), (0..10).collect::<Vec<_>>());
    assert_eq!(lane.stats().running, 0, "blocking.counted");
}

// WITNESS: blocking.counted, group.counted
#[test]
fn cancelled_and_dropped_jobs_never_run_and_count_nowhere() {
    let (lane, group) = (lane(1, start), BlockingGroup::new());
    let (open, gated) = gate(lane, &group);
    let ran = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let ran = Arc::clone(&ran);
        tasks.push(submit(lane, &group, move || ran.fetch_add(1, Relaxed)));
    }
    let mut cancelled = tasks.remove(0);
    assert_eq!(cancelled.cancel(), OnCancelJob::Cancelled);
    assert_eq!(cancelled.cancel(), OnCancelJob::TooLate);
    assert!(matches!(wait(cancelled), Err(BlockingError::Cancelled)));
    drop(tasks.remove(0));
    assert_eq!((lane.stats().queued, group.len()), (1, 2));
    tasks.remove(0).detach();
    open.send(()).unwrap();
    assert!(value(wait(gated)));
    wait(group.drained());
    assert_eq!(ran.load(Relaxed), 1, "only the detached one");
    assert_eq!(Arc::strong_count(&ran), 1, "a closure is left");
}

static STARTED: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

fn start_joinable(lane: &'static Lane) -> io::Result<()> {
    let thread = thread::Builder::new().spawn(move || lane.serve())?;
    STARTED.lock().unwrap().push(thread);
    Ok(())
}

// WITNESS: blocking.counted
#[test]
fn threads_of_a_burst_retire_and_every_gauge_is_zero() {
    let (lane, group) = (lane(16, start_joinable), BlockingGroup::new());
    let all_here = Arc::new(Barrier::new(17));
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let all_here = Arc::clone(&all_here);
            submit(lane, &group, move || all_here.wait().is_leader())
        })
        .collect();
    all_here.wait();
    tasks.into_iter().for_each(|task| {
        value(wait(task));
    });
    for thread in STARTED.lock().unwrap().drain(..) {
        assert!(thread.join().is_ok());
    }
    assert_eq!(lane.stats(), LaneStats::default(), "blocking.counted");
    assert!(group.is_empty());
}

#[test]
fn last_to_sit_down_is_woken_first() {
    let lane = lane(3, |_| Ok(()));
    let group = BlockingGroup::new();
    let (early, late) = (Parker::new(), Parker::new());
    let mut state = lane.state.lock();
    state.threads = 2;
    state.seats.insert(1, early.unparker());
    state.seats.insert(2, late.unparker());
    state.next = 3;
    drop(state);
    let _task = submit(lane, &group, || ());
    late.park();
    assert_eq!(lane.stats().idle, 1);
    assert!(lane.state.lock().seats.contains_key(&1));
}

#[test]
fn raised_limit_starts_what_the_old_one_held_up() {
    let (lane, group) = (lane(1, start), BlockingGroup::new());
    let (open, gated) = gate(lane, &group);
    let tasks: Vec<_> = (0..3).map(|i| submit(lane, &group, move || i)).collect();
    lane.set_thread_limit(2);
    let sum: i32 = tasks.into_iter().map(|task| value(wait(task))).sum();
    assert_eq!(sum, 3);
    open.send(()).unwrap();
    assert!(value(wait(gated)));
    lane.set_thread_limit(0);
    assert_eq!(value(wait(submit(lane, &group, || 1))), 1);
}

static REFUSE: AtomicBool = AtomicBool::new(false);

// WITNESS: blocking.served, blocking.counted
#[test]
fn refused_thread_leaves_the_job_to_those_that_live() {
    let start_unless_refused = |lane: &'static Lane| {
        if REFUSE.load(Relaxed) {
            return Err(io::Error::from_raw_os_error(11));
        }
        start(lane)
    };
    let (lane, group) = (lane(8, start_unless_refused), BlockingGroup::new());
    let (open, gated) = gate(lane, &group);
    REFUSE.store(true, Relaxed);
    let tasks: Vec<_> = (0..4).map(|i| submit(lane, &group, move || i)).collect();
    assert_eq!(
        lane.stats().threads,
        1,
        "blocking.counted: a refused thread counts"
    );
    open.send(()).unwrap();
    assert!(value(wait(gated)));
    let sum: i32 = tasks.into_iter().map(|task| value(wait(task))).sum();
    assert_eq!(sum, 6);
}

// WITNESS: blocking.counted
#[test]
fn refused_first_thread_fails_the_job_with_the_systems_error() {
    let refuse = |_: &'static Lane| Err(io::Error::from_raw_os_error(11));
    let (lane, group) = (lane(8, refuse), BlockingGroup::new());
    let result = wait(submit(lane, &group, || ()));
    let Err(BlockingError::NoThread(error)) = &result else {
        panic!("not refused: {result:?}");
    };
    assert_eq!(error.raw_os_error(), Some(11));
    assert!(result.is_err_and(|error| error.is_transient()));
    assert_eq!(lane.stats(), LaneStats::default(), "blocking.counted");
    assert!(group.is_empty());
}

#[test]
fn waker_and_closure_may_use_the_lane_when_they_run_and_are_dropped() {
    struct Looks(&'static Lane, Arc<AtomicUsize>);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.1.fetch_add(self.0.stats().queued + 1, Relaxed);
        }
    }
    let (lane, group) = (lane(1, start), BlockingGroup::new());
    let looked = Arc::new(AtomicUsize::new(0));
    let (open, gated) = gate(lane, &group);
    let (dropped, kept) = (Looks(lane, looked.clone()), Looks(lane, looked.clone()));
    drop(submit(lane, &group, move || drop(dropped)));
    assert_eq!(looked.load(Relaxed), 1, "dropped under the lock");
    let nested = submit(lane, &group, move || {
        drop(kept);
        lane.stats().running
    });
    open.send(()).unwrap();
    assert!(value(wait(gated)));
    assert_eq!(value(wait(nested)), 1);
}

#[test]
fn panics_of_jobs_results_and_wakers_take_no_thread_down() {
    struct PanicsInDrop;
    impl Drop for PanicsInDrop {
        fn drop(&mut self) {
            panic!("on purpose, in drop");
        }
    }
    struct PanicsInWake;
    impl std::task::Wake for PanicsInWake {
        fn wake(self: Arc<Self>) {
            panic!("on purpose, in wake");
        }
    }
    let (lane, group) = (lane(1, start), BlockingGroup::new());
    let (open, gated) = gate(lane, &group);
    let panics = submit(lane, &group, || panic!("on purpose"));
    submit(lane, &group, || PanicsInDrop).detach();
    let mut woken = pin!(submit(lane, &group, || 3));
    assert!(poll(woken.as_mut(), &Waker::from(Arc::new(PanicsInWake))).is_pending());
    let last = submit(lane, &group, || 4);
    assert_eq!(lane.stats().threads, 1);
    open.send(()).unwrap();
    assert!(value(wait(gated)));
    let Err(error) = wait(panics);
    let said = error.to_string();
    assert!(said.ends_with(") panicked: on purpose"), "{said}");
    let BlockingError::Panicked {
        payload,
        submitted_at,
    } = error
    else {
        panic!("the job did not panic, but: {error}");
    };
    assert!(said.contains(&submitted_at.to_string()), "{said}");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose"));
    assert_eq!(value(wait(last)), 4);
    assert_eq!(value(wait(woken)), 3);
}

// WITNESS: blocking.served
#[test]
fn two_submits_at_the_moment_of_retirement_always_run() {
    let (lane, group) = (lane(2, start), BlockingGroup::new());
    let together = Arc::new(Barrier::new(2));
    let rounds = |together: Arc<Barrier>, group: BlockingGroup| {
        move || {
            for i in 0..1_000 {
                together.wait();
                assert_eq!(value(wait(submit(lane, &group, move || i))), i);
            }
        }
    };
    let other = thread::spawn(rounds(Arc::clone(&together), group.clone()));
    rounds(together, group.clone())();
    assert!(other.join().is_ok());
    assert!(group.is_empty());
}

// WITNESS: blocking.served
#[test]
fn submit_wakes_before_it_starts_and_starts_before_it_waits() {
    let lane = Lane::with(Blocking::Compute, 1, Duration::ZERO, |_| Ok(()));
    let group = BlockingGroup::new();
    let parker = Parker::new();
    let job = || {
        let ticket = group.ticket(Blocking::Compute, std::panic::Location::caller());
        let (job, _) = crate::blocking::job::new(|| (), ticket.unwrap());
        crate::blocking::queue::Queued { group: 1, job }
    };
    let mut state = lane.state.lock();
    assert!(matches!(state.submit(job()), (_, OnSubmit::Start)));
    assert!(matches!(state.submit(job()), (_, OnSubmit::Wait)));
    state.queue.clear();
    state.seats.insert(99, parker.unparker());
    assert!(matches!(state.submit(job()), (_, OnSubmit::Wake(_))));
    drop(state);
    assert_eq!(lane.take_out_group(1).len(), 1);
    assert_eq!(lane.take_out_group(2).len(), 0);
}

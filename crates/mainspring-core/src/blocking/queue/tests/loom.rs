//! Threads of these lanes retire as soon as they find nothing to do, so that every hand-over races
//! with a retirement. A job that nobody looks at shows as a deadlock.

use super::support::{lane, submit, value, wait};
use crate::blocking::queue::{LaneStats, start};
use crate::blocking::{BlockingGroup, OnCancelJob};
use loom::thread;

fn bounded(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

// WITNESS: blocking.served, blocking.counted
#[test]
fn submit_racing_retirement_is_served() {
    bounded(|| {
        let (lane, group) = (lane(2, start), BlockingGroup::new());
        let first = submit(lane, &group, || 1);
        let second = submit(lane, &group, || 2);
        assert_eq!(value(wait(first)) + value(wait(second)), 3);
        assert!(group.is_empty(), "group.counted");
        assert_eq!(lane.stats().running, 0, "blocking.counted");
    });
}

// WITNESS: blocking.served
#[test]
fn two_submits_racing_the_only_threads_retirement_are_served() {
    bounded(|| {
        let (lane, group) = (lane(1, start), BlockingGroup::new());
        let theirs = group.clone();
        let other = thread::spawn(move || value(wait(submit(lane, &theirs, || 1))));
        assert_eq!(value(wait(submit(lane, &group, || 2))), 2);
        assert_eq!(other.join().unwrap(), 1);
    });
}

// WITNESS: blocking.counted
#[test]
fn cancel_racing_a_thread_takes_the_job_out_or_lets_it_run() {
    bounded(|| {
        let (lane, group) = (lane(1, start), BlockingGroup::new());
        let mut task = submit(lane, &group, || 1);
        let verdict = task.cancel();
        let ran = wait(task).is_ok();
        assert_eq!(ran, verdict == OnCancelJob::TooLate);
        let LaneStats {
            running, queued, ..
        } = lane.stats();
        assert_eq!((running, queued), (0, 0), "blocking.counted");
    });
}

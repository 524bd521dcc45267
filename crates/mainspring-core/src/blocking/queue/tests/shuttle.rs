//! Several threads submit, cancel and let go, while the limit changes and threads retire as soon as
//! they find nothing to do.

use super::support::{lane, submit, value, wait};
use crate::blocking::queue::{Lane, LaneStats};
use crate::blocking::{BlockingGroup, OnCancelJob};
use crate::sync::thread::{Builder, JoinHandle, spawn};
use crate::sync::{below, explore};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// The threads of an execution, behind the scheduler's back.
static STARTED: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

fn started() -> Option<JoinHandle<()>> {
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    started.pop()
}

/// One start in eight fails, as where the system has no more threads to give.
fn start(lane: &'static Lane) -> io::Result<()> {
    if below(8) == 0 {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let thread = Builder::new().spawn(move || lane.serve())?;
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    started.push(thread);
    Ok(())
}

/// Submits some jobs; how many of them have to have run. (Those that are refused for want of a
/// thread have not.)
fn use_lane(lane: &'static Lane, group: &BlockingGroup, ran: &Arc<AtomicUsize>) -> (usize, usize) {
    let (mut has_run, mut may_have_run) = (0, 0);
    for number in 0..2 {
        let ran = Arc::clone(ran);
        let mut task = submit(lane, group, move || {
            ran.fetch_add(1, Relaxed);
            number
        });
        match below(4) {
            0 => {
                let verdict = task.cancel();
                let result = wait(task);
                has_run += usize::from(result.is_ok());
                assert!(result.is_err() || verdict == OnCancelJob::TooLate);
            }
            1 => {
                drop(task);
                may_have_run += 1;
            }
            2 => {
                task.detach();
                may_have_run += 1;
            }
            _ => match wait(task) {
                Ok(value) => {
                    assert_eq!(value, number);
                    has_run += 1;
                }
                Err(error) => assert!(error.is_transient(), "{error}"),
            },
        }
    }
    (has_run, may_have_run)
}

// WITNESS: blocking.served, blocking.counted, group.counted
#[test]
fn every_job_ends_once_and_every_gauge_is_zero_in_the_end() {
    explore(|| {
        let (lane, group) = (lane(2, start), BlockingGroup::new());
        let ran = Arc::new(AtomicUsize::new(0));
        let users = [(); 2].map(|()| {
            let (group, ran) = (group.clone(), Arc::clone(&ran));
            spawn(move || use_lane(lane, &group, &ran))
        });
        lane.set_thread_limit(1 + below(3) as usize);
        let (mut has_run, mut may_have_run) = use_lane(lane, &group, &ran);
        for user in users {
            let (more, maybe) = user.join().unwrap();
            has_run += more;
            may_have_run += maybe;
        }
        wait(group.drained());
        while let Some(thread) = started() {
            thread.join().unwrap();
        }
        let possible = has_run..=has_run + may_have_run;
        assert!(possible.contains(&ran.load(Relaxed)), "of {possible:?}");
        assert_eq!(lane.stats(), LaneStats::default(), "blocking.counted");
        assert!(group.is_empty(), "group.counted");
    });
}

#[test]
fn one_thread_serves_whoever_comes_while_it_retires() {
    explore(|| {
        let start: fn(&'static Lane) -> io::Result<()> = |lane| {
            let thread = Builder::new().spawn(move || lane.serve())?;
            drop(thread);
            Ok(())
        };
        let (lane, group) = (lane(1, start), BlockingGroup::new());
        let users = [1, 2].map(|number| {
            let group = group.clone();
            spawn(move || value(wait(submit(lane, &group, move || number))))
        });
        let sum = value(wait(submit(lane, &group, || 3)));
        let rest: i32 = users.map(|it| it.join().unwrap()).iter().sum();
        assert_eq!(sum + rest, 6);
    });
}

//! Drivers of one domain on modelled threads. All deadlines are in virtual time, so that nothing
//! waits but for being told: whoever is not told when it should be is a deadlock.

use crate::clock::{self, ClockHold};
use crate::driver::TimerDriver;
use crate::judge::Judge;
use loom::thread;
use mainspring_core::blocking::{self, Blocking, BlockingGroup};
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, DriverHandle, ThreadDriver, Until};
use mainspring_core::park::Parker;
use mainspring_core::time::{
    Clock, Domain, ManualClock, Nanos, OnRegister, Phase, TimerClass, TimerEntry, TimersRef,
    current_timers, now,
};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn explore(preemptions: impl Into<Option<usize>>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions.into();
    builder.check(model);
}

/// A thread of the domain.
struct Worker {
    _entered: Entered,
    driver: TimerDriver<ThreadDriver>,
}

impl Worker {
    fn of(domain: &Domain) -> Self {
        let _made = domain.enter();
        let driver = TimerDriver::new(ThreadDriver::new());
        Self {
            _entered: driver.handle().enter(),
            driver,
        }
    }

    fn handle(&self) -> Arc<dyn DriverHandle> {
        self.driver.handle()
    }

    fn park(&mut self) {
        let turn = self.driver.park(Until::Forever);
        let _turn = turn.expect("the thread's driver does not fail");
    }

    fn park_until_fired(&mut self, entry: &TimerEntry) {
        while entry.phase() != Phase::Fired {
            self.park();
        }
    }
}

fn arm_with(timers: TimersRef, deadline: Nanos) -> Pin<Box<TimerEntry>> {
    let mut entry = Box::pin(TimerEntry::new(TimerClass::Precise));
    let armed = entry.as_mut().arm(timers, deadline, Waker::noop());
    assert!(matches!(armed, OnRegister::Armed));
    entry
}

/// Arms with the driver of this thread.
fn arm(deadline: Nanos) -> Pin<Box<TimerEntry>> {
    arm_with(current_timers().expect("entered"), deadline)
}

fn paused() -> Domain {
    let domain = Domain::new();
    domain.pause();
    domain
}

// WITNESS: judge.awake, judge.next, judge.no-hang
#[test]
fn clock_moves_from_deadline_to_deadline_when_both_threads_sleep() {
    explore(3, || {
        let domain = paused();
        let start = domain.now();
        let (first, second) = (start.saturating_add(HOUR), start.saturating_add(2 * HOUR));
        let mut worker = Worker::of(&domain);
        let here = Parker::new();
        let arrived = here.unparker();
        let other = thread::spawn({
            let domain = domain.clone();
            move || {
                let mut worker = Worker::of(&domain);
                arrived.unpark();
                let entry = arm(first);
                assert_eq!(now(), start, "the other is awake, or we are");
                worker.park_until_fired(&entry);
                assert_eq!(now(), first);
            }
        });
        let entry = arm(second);
        here.park();
        assert_eq!(now(), start, "this thread is awake");
        worker.park_until_fired(&entry);
        assert_eq!(now(), second);
        other.join().unwrap();
    });
}

// WITNESS: judge.awake, judge.no-hang
#[test]
fn clock_stands_until_who_was_told_has_woken_up_and_a_thread_may_leave() {
    explore(3, || {
        let domain = paused();
        let start = domain.now();
        let mut worker = Worker::of(&domain);
        let entry = arm(start.saturating_add(HOUR));
        let teller = {
            let (domain, handle) = (domain.clone(), worker.handle());
            let here = Parker::new();
            let arrived = here.unparker();
            let teller = thread::spawn(move || {
                let other = Worker::of(&domain);
                arrived.unpark();
                handle.unpark();
                drop(other);
            });
            here.park();
            teller
        };
        worker.park();
        assert_eq!(now(), start, "told by a thread that was awake until then");
        worker.park_until_fired(&entry);
        assert_eq!(now(), start.saturating_add(HOUR));
        teller.join().unwrap();
    });
}

// WITNESS: judge.told, timer-driver.not-lost
#[test]
fn unpark_racing_a_paused_park_is_never_lost() {
    explore(None, || {
        let domain = paused();
        let mut worker = Worker::of(&domain);
        let word = ManualClock::new(Nanos(1));
        let teller = thread::spawn({
            let (word, handle) = (word.clone(), worker.handle());
            move || {
                word.set(Nanos(2));
                handle.unpark();
            }
        });
        while word.now() != Nanos(2) {
            worker.park();
        }
        teller.join().unwrap();
    });
}

// WITNESS: clock.held, judge.no-hang
#[test]
fn end_of_a_hold_is_noticed_and_what_was_told_before_it_comes_first() {
    explore(3, || {
        let domain = paused();
        let start = domain.now();
        let mut worker = Worker::of(&domain);
        let entry = arm(start.saturating_add(HOUR));
        let hold = ClockHold::take().expect("a driver");
        let word = ManualClock::new(Nanos(1));
        let other = thread::spawn({
            let (word, handle) = (word.clone(), worker.handle());
            move || {
                word.set(Nanos(2));
                handle.unpark();
                drop(hold);
            }
        });
        while word.now() != Nanos(2) {
            worker.park();
            assert_eq!(now(), start, "overtaken by the clock");
        }
        worker.park_until_fired(&entry);
        assert_eq!(now(), start.saturating_add(HOUR));
        other.join().unwrap();
    });
}

// WITNESS: judge.awake
#[test]
fn wake_from_outside_comes_first_whichever_thread_judges() {
    explore(2, || {
        let domain = paused();
        let start = domain.now();
        let mut worker = Worker::of(&domain);
        let hold = ClockHold::take().expect("a driver");
        let entry = arm(start.saturating_add(2 * HOUR));
        let word = ManualClock::new(Nanos(1));
        let here = Parker::new();
        let arrived = here.unparker();
        let other = thread::spawn({
            let (domain, word) = (domain.clone(), word.clone());
            move || {
                let mut worker = Worker::of(&domain);
                let _entry = arm(start.saturating_add(HOUR));
                let handle = worker.handle();
                let outside = thread::spawn({
                    let word = word.clone();
                    move || {
                        word.set(Nanos(2));
                        handle.unpark();
                        drop(hold);
                    }
                });
                arrived.unpark();
                while word.now() != Nanos(2) {
                    worker.park();
                    assert_eq!(now(), start, "overtaken by the clock");
                }
                outside.join().unwrap();
            }
        });
        here.park();
        worker.park_until_fired(&entry);
        assert_eq!(now(), start.saturating_add(2 * HOUR));
        other.join().unwrap();
    });
}

/// A waker that unparks a driver.
struct Tells(Arc<dyn DriverHandle>);

impl Wake for Tells {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

// WITNESS: judge.no-hang
#[test]
fn blocking_job_that_ends_is_noticed_and_its_result_comes_before_the_clock_moves() {
    explore(3, || {
        let domain = paused();
        let start = domain.now();
        let mut worker = Worker::of(&domain);
        let entry = arm(start.saturating_add(HOUR));
        let (submit, jobs) = std::sync::mpsc::channel();
        let group = BlockingGroup::with_runner(move |job| submit.send(job).expect("heard"));
        let _entered = blocking::enter(&group);
        let mut task = pin!(group.run(Blocking::Syscall, || ()));
        // On this thread, and there already: nothing is waited for.
        let job = jobs.try_recv().expect("submitted");
        let other = thread::spawn(move || job.run());
        let waker = Waker::from(Arc::new(Tells(worker.handle())));
        let mut cx = Context::from_waker(&waker);
        while task.as_mut().poll(&mut cx).is_pending() {
            worker.park();
            assert_eq!(now(), start, "overtaken by the clock");
        }
        worker.park_until_fired(&entry);
        assert_eq!(now(), start.saturating_add(HOUR));
        other.join().unwrap();
    });
}

// WITNESS: judge.no-hang
#[test]
fn job_that_nobody_waits_for_keeps_the_clock_and_gives_it_back() {
    explore(None, || {
        let domain = paused();
        let start = domain.now();
        let mut worker = Worker::of(&domain);
        let entry = arm(start.saturating_add(HOUR));
        let (submit, jobs) = std::sync::mpsc::channel();
        let group = BlockingGroup::with_runner(move |job| submit.send(job).expect("heard"));
        let _entered = blocking::enter(&group);
        group.run(Blocking::Syscall, || ()).detach();
        let job = jobs.try_recv().expect("submitted");
        let other = thread::spawn(move || job.run());
        worker.park_until_fired(&entry);
        assert!(group.poll_settled(&mut Context::from_waker(Waker::noop())) == Poll::Ready(()));
        other.join().unwrap();
    });
}

// WITNESS: judge.next, judge.no-hang
#[test]
fn timer_that_a_thread_outside_arms_is_noticed() {
    explore(None, || {
        let domain = paused();
        let start = domain.now();
        let mut worker = Worker::of(&domain);
        let far = arm(start.saturating_add(3 * HOUR));
        let timers = current_timers().expect("entered");
        let other = thread::spawn(move || arm_with(timers, start.saturating_add(HOUR)));
        worker.park();
        let near = other.join().unwrap();
        worker.park_until_fired(&near);
        drop((near, far));
    });
}

// WITNESS: judge.no-hang
#[test]
fn timer_armed_from_outside_while_a_sleeper_looks_is_noticed() {
    explore(2, || {
        let domain = paused();
        let start = domain.now();
        let mut worker = Worker::of(&domain);
        let handle = worker.handle();
        let here = Parker::new();
        let arrived = here.unparker();
        let other = thread::spawn({
            let domain = domain.clone();
            move || {
                let mut worker = Worker::of(&domain);
                let timers = current_timers().expect("entered");
                let arm = move || arm_with(timers, start.saturating_add(HOUR));
                let outside = thread::spawn(arm);
                arrived.unpark();
                while now() == start {
                    worker.park();
                }
                handle.unpark();
                drop(outside.join().unwrap());
            }
        });
        here.park();
        while now() == start {
            worker.park();
        }
        other.join().unwrap();
    });
}

// WITNESS: judge.no-hang
#[test]
fn pause_reaches_a_thread_that_waits_for_the_real_time() {
    explore(None, || {
        let domain = Domain::new();
        let mut worker = Worker::of(&domain);
        let due = now().saturating_add(HOUR);
        let entry = arm(due);
        let other = thread::spawn({
            let domain = domain.clone();
            move || {
                let _worker = Worker::of(&domain);
                clock::pause().expect("a driver");
            }
        });
        worker.park_until_fired(&entry);
        assert_eq!(now(), due);
        other.join().unwrap();
    });
}

// WITNESS: judge.no-hang
#[test]
fn resume_reaches_a_thread_that_sleeps_in_paused_time() {
    explore(None, || {
        let domain = paused();
        let mut worker = Worker::of(&domain);
        let _hold = ClockHold::take().expect("a driver");
        let entry = arm(now().saturating_add(Duration::from_nanos(1)));
        let other = thread::spawn({
            let domain = domain.clone();
            move || Judge::of(&domain).resume(&domain)
        });
        worker.park_until_fired(&entry);
        other.join().unwrap();
    });
}

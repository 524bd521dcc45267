//! The wait in the kernel is `loom::thread::park`, whose token is the poll's waker. Work is handed
//! over through a [`ManualClock`], whose accesses are relaxed.

use crate::backend::notify::{Notify, OnNotify, OnSleep};
use loom::sync::Arc;
use loom::thread::{self, Thread};
use mainspring_core::time::{Clock, ManualClock, Nanos};

fn turn(word: &Notify) {
    if word.fall_asleep() == OnSleep::Wait {
        thread::park();
        word.wake_up();
    }
}

fn unpark(word: &Notify, owner: &Thread) {
    if word.notify() == OnNotify::Kick {
        owner.unpark();
    }
}

// WITNESS: notify.token, notify.kick, notify.pass
#[test]
fn notification_racing_sleep_is_never_slept_through() {
    loom::model(|| {
        let word = Arc::new(Notify::new());
        let work = ManualClock::new(Nanos(0));
        let (theirs, given, owner) = (Arc::clone(&word), work.clone(), thread::current());
        let other = thread::spawn(move || {
            given.set(Nanos(1));
            unpark(&theirs, &owner);
            given.set(Nanos(2));
            unpark(&theirs, &owner);
        });
        while work.now() != Nanos(2) {
            turn(&word);
        }
        other.join().unwrap();
    });
}

// WITNESS: notify.token, notify.pass
#[test]
fn two_notifiers_are_both_heard() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let word = Arc::new(Notify::new());
        let jobs = [ManualClock::new(Nanos(0)), ManualClock::new(Nanos(0))];
        let notifiers = jobs.clone().map(|job| {
            let (theirs, owner) = (Arc::clone(&word), thread::current());
            thread::spawn(move || {
                job.set(Nanos(1));
                unpark(&theirs, &owner);
            })
        });
        while jobs.iter().any(|job| job.now() != Nanos(1)) {
            turn(&word);
        }
        for notifier in notifiers {
            notifier.join().unwrap();
        }
    });
}

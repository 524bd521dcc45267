//! A wait whose end is brought forward while it falls asleep.

use crate::pool::limits::{Limits, Moments, Waited};
use loom::thread;
use mainspring_core::completion;
use mainspring_core::sync::Arc;
use mainspring_core::time::{Deadline, Nanos};
use std::future::pending;

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn past() -> Moments {
    Moments {
        grace: Deadline::from_nanos(Nanos(1)),
        deadline: Deadline::from_nanos(Nanos(1)),
    }
}

// WITNESS: limits.hastened
#[test]
fn wait_without_a_limit_ends_when_one_is_set() {
    explore(3, || {
        let limits = Arc::new(Limits::default());
        let other = thread::spawn({
            let limits = limits.clone();
            move || limits.hasten(past())
        });
        // Nobody else ends it: if the limit is missed it sleeps for ever.
        let waited = limits.wait(pending(), |moments| moments.deadline);
        assert_eq!(waited, Waited::TooLong, "limits.hastened");
        other.join().unwrap();
    });
}

// WITNESS: limits.hastened, limits.earliest
#[test]
fn event_and_two_who_hasten_meet_a_wait() {
    explore(1, || {
        let limits = Arc::new(Limits::default());
        let (completer, event) = completion::<()>();
        let hastens = {
            let limits = limits.clone();
            move || {
                limits.hasten(past());
                // Less pressing: nothing moves back.
                limits.hasten(Moments::default());
            }
        };
        // Nobody listens any more if the other was faster.
        let happens = move || {
            let _ = completer.complete(());
        };
        let threads = [thread::spawn(hastens), thread::spawn(happens)];
        let happened = async { assert!(event.await.is_ok()) };
        let _ = limits.wait(happened, |moments| moments.grace);
        for thread in threads {
            thread.join().unwrap();
        }
        let waited = limits.wait(pending(), |moments| moments.grace);
        assert_eq!(waited, Waited::TooLong, "limits.earliest");
    });
}

use crate::pool::limits::{Limits, Moments, Waited};
use mainspring_core::time::{self, Deadline};
use std::future::{pending, ready};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn after(grace_ms: u64, deadline_ms: u64) -> Moments {
    let moment = |ms| Deadline::from_nanos(time::now().saturating_add(Duration::from_millis(ms)));
    Moments {
        grace: moment(grace_ms),
        deadline: moment(deadline_ms),
    }
}

// WITNESS: limits.earliest
#[test]
fn moments_come_nearer_one_by_one_and_never_go_away() {
    let limits = Limits::default();
    assert!(limits.look().grace.is_never());
    let (first, second) = (after(10_000, 90_000), after(20_000, 50_000));
    limits.hasten(first);
    limits.hasten(second);
    limits.hasten(Moments::default());
    let moments = limits.look();
    assert_eq!(moments.grace, first.grace, "limits.earliest");
    assert_eq!(moments.deadline, second.deadline, "limits.earliest");
}

#[test]
fn what_has_happened_counts_also_after_the_moment() {
    let limits = Limits::default();
    limits.hasten(after(0, 0));
    let waited = limits.wait(ready(()), |moments| moments.deadline);
    assert_eq!(waited, Waited::Happened);
    let waited = limits.wait(pending(), |moments| moments.deadline);
    assert_eq!(waited, Waited::TooLong);
}

// WITNESS: limits.hastened
#[test]
fn wait_of_an_hour_ends_when_somebody_has_less_patience() {
    let limits = Arc::new(Limits::default());
    limits.hasten(after(3_600_000, 3_600_000));
    let other = thread::spawn({
        let limits = Arc::clone(&limits);
        move || limits.hasten(after(0, 1))
    });
    let waited = limits.wait(pending(), |moments| moments.deadline);
    assert_eq!(waited, Waited::TooLong, "limits.hastened");
    assert!(other.join().is_ok());
}

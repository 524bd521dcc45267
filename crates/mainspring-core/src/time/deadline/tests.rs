use super::Deadline;
use crate::time::{Nanos, now};
use std::time::{Duration, Instant};

#[test]
fn deadline_too_far_to_express_never_comes() {
    let never = Deadline::after(Duration::MAX);
    assert!(never.is_never());
    assert_eq!(never, Deadline::default());
    assert!(!never.has_passed(Nanos::MAX));
    assert_eq!(never.remaining(Nanos::MAX), Duration::MAX);
    assert_eq!(never.instant(), None);
}

#[test]
fn deadline_in_the_past_has_passed_and_leaves_nothing() {
    let deadline = Deadline::from_nanos(Nanos(10));
    assert!(deadline.has_passed(Nanos(10)));
    assert_eq!(deadline.remaining(Nanos(u64::MAX)), Duration::ZERO);
    assert_eq!(deadline.remaining(Nanos(4)), Duration::from_nanos(6));
    assert!(!deadline.has_passed(Nanos(9)));
}

#[test]
fn earliest_is_the_earlier_and_never_is_the_latest() {
    let (early, late) = (
        Deadline::from_nanos(Nanos(1)),
        Deadline::from_nanos(Nanos(2)),
    );
    assert_eq!(late.earliest(early), early);
    assert_eq!(Deadline::never().earliest(late), late);
}

#[test]
fn deadline_keeps_its_instant() {
    let instant = Instant::now();
    let deadline = Deadline::from(instant);
    assert_eq!(deadline.instant(), Some(instant));
    assert!(deadline.has_passed(now()));
    assert_eq!(format!("{:?}", Deadline::never()), "Deadline(never)");
}

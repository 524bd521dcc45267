use super::{POLLS_MAX, Pace};
use mainspring_core::time::Nanos;

// WITNESS: pace.bounds
#[test]
fn turn_of_slow_polls_is_one_poll_and_recovers() {
    let mut pace = Pace::new();
    assert_eq!(pace.begin(Nanos(0)), POLLS_MAX);
    pace.end(Nanos(0), 1, true);
    assert_eq!(pace.begin(Nanos(5_000_000)), 1, "pace.bounds: a 5 ms poll");
    pace.end(Nanos(5_000_000), 1, true);
    assert_eq!(pace.begin(Nanos(5_000_050)), POLLS_MAX);
}

#[test]
fn turn_aims_at_two_hundred_microseconds() {
    let mut pace = Pace::new();
    let began = Nanos(1_000);
    pace.begin(began);
    pace.end(began, 60, true);
    assert_eq!(pace.begin(Nanos(1_000 + 60 * 10_000)), 20);
}

#[test]
fn turn_that_ran_dry_says_nothing_about_the_next() {
    let mut pace = Pace::new();
    pace.begin(Nanos(0));
    pace.end(Nanos(0), 3, false);
    assert_eq!(pace.begin(Nanos(u64::MAX)), POLLS_MAX);
}

#[test]
fn look_at_the_driver_is_no_polls_time() {
    let mut pace = Pace::new();
    pace.begin(Nanos(0));
    pace.end(Nanos(0), 10, true);
    pace.over(Nanos(100_000));
    assert_eq!(pace.begin(Nanos(9_000_000)), 20);
}

// WITNESS: pace.bounds
#[test]
fn clock_that_steps_back_is_harmless() {
    let mut pace = Pace::new();
    pace.begin(Nanos(1_000));
    pace.end(Nanos(1_000), 61, true);
    assert_eq!(pace.begin(Nanos(0)), POLLS_MAX);
}

use super::ThreadDriver;
use crate::driver::{Driver, Until};
use crate::time::{self, Nanos};
use std::time::Duration;

// CORRECTION: 19
// WITNESS: driver.clamp
#[test]
fn overdue_deadline_waits_not_at_all_where_the_printed_form_waits_for_ever() {
    // The printed form: milliseconds left as a signed number, handed to a wait for which a
    // negative one means "for ever"; and an empty heap looked at as if it had a top.
    let printed = |expiry_ms: i64, now_ms: i64| expiry_ms - now_ms;
    let (overdue, now) = (Nanos(90_000_000), Nanos(100_000_000));
    assert!(printed(90, 100) < 0, "the printed form clamps after all");
    assert_eq!(Until::At(overdue).limit(|| now), Some(Duration::ZERO));
    assert_eq!(Until::Now.limit(|| now), Some(Duration::ZERO));
    assert_eq!(Until::Forever.limit(|| now), None);
    // Something else to do caps the wait to nothing, whatever is armed.
    assert_eq!(Until::Now.cap(Some(Nanos::MAX)), Until::Now);
    // And the driver does return.
    let turn = ThreadDriver::new().park(Until::At(Nanos::ZERO));
    assert!(turn.is_ok());
}

#[test]
fn unpark_since_the_last_park_makes_the_next_return_at_once() {
    let mut driver = ThreadDriver::new();
    driver.handle().unpark();
    assert!(driver.park(Until::Forever).is_ok());
}

#[test]
fn park_until_a_deadline_reports_a_time_not_before_it() {
    let mut driver = ThreadDriver::new();
    let deadline = time::now().saturating_add(Duration::from_millis(1));
    let now = driver.park(Until::At(deadline)).map(|turn| turn.now);
    assert!(now.is_ok_and(|now| now >= deadline));
}

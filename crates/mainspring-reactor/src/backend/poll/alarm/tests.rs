use super::{Alarm, monotonic};
use crate::backend::poll::registry::ALARM;
use mainspring_core::time::Nanos;
use mio::{Events, Poll};
use std::time::Duration;

/// Long enough for a ringing that is under way, so that a missing one fails instead of hanging.
const AMPLE: Duration = Duration::from_secs(60);

// The printed form hands the wait to epoll, which counts milliseconds: what is left of one is cut
// off, the wait ends early, and the loop spins until the deadline. Here the rest is the timer's,
// which is set to the moment itself: it has come when it rings.
// CORRECTION: 20
// WITNESS: alarm.set
#[test]
fn fraction_of_a_millisecond_is_waited_for_whole_where_the_printed_form_cuts_it_off() {
    let printed_ms = |left: Duration| left.as_millis() as u64;
    let mut poll = Poll::new().unwrap();
    let mut alarm = Alarm::new(poll.registry()).unwrap();
    let mut events = Events::with_capacity(4);
    for (deadline, ns) in (1..).zip([1, 999_999, 1_000_001, 2_500_000]) {
        let left = Duration::from_nanos(ns);
        assert!(Duration::from_millis(printed_ms(left)) < left);
        let due = monotonic().unwrap() + left;
        assert_eq!(alarm.wait(Nanos(deadline), left).unwrap(), None);
        poll.poll(&mut events, Some(AMPLE)).unwrap();
        let now = monotonic().unwrap();
        assert!(events.iter().any(|event| event.token() == ALARM));
        assert!(now >= due, "it rang {:?} early", due - now);
        alarm.rang();
    }
}

#[test]
fn whole_milliseconds_are_left_to_the_poll() {
    let poll = Poll::new().unwrap();
    let mut alarm = Alarm::new(poll.registry()).unwrap();
    for left in [0, 1, 20].map(Duration::from_millis) {
        assert_eq!(alarm.wait(Nanos(7), left).unwrap(), Some(left));
        assert_eq!(alarm.set, None, "alarm.set: nothing was asked of the timer");
    }
}

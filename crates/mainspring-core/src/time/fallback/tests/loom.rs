use super::model::named;
use crate::time::{Nanos, OnRegister, Phase, TimerClass, TimerEntry};
use crate::wake_batch::WakeBatch;
use loom::thread;
use std::task::Waker;

// WITNESS: fallback.earliest
#[test]
fn arming_earlier_racing_the_threads_sleep_is_served() {
    loom::model(|| {
        let (fallback, name) = named();
        let mut far = Box::pin(TimerEntry::new(TimerClass::Normal));
        let armed = far.as_mut().arm(name, Nanos(100), Waker::noop());
        assert!(matches!(armed, OnRegister::Armed));
        // In a model no limit ever passes: the thread wakes because it is told, or never.
        let thread = thread::spawn(move || {
            let mut due = WakeBatch::new();
            while fallback.turn(|| Nanos(10), &mut due) == 0 {}
        });
        let mut near = Box::pin(TimerEntry::new(TimerClass::Normal));
        let armed = near.as_mut().arm(name, Nanos(10), Waker::noop());
        assert!(matches!(armed, OnRegister::Armed));
        thread.join().unwrap();
        assert_eq!(near.phase(), Phase::Fired);
    });
}

// WITNESS: fallback.earliest
#[test]
fn earlier_reset_racing_the_threads_sleep_is_served() {
    loom::model(|| {
        let (fallback, name) = named();
        let mut entry = Box::pin(TimerEntry::new(TimerClass::Normal));
        let armed = entry.as_mut().arm(name, Nanos(100), Waker::noop());
        assert!(matches!(armed, OnRegister::Armed));
        let thread = thread::spawn(move || {
            let mut due = WakeBatch::new();
            while fallback.turn(|| Nanos(10), &mut due) == 0 {}
        });
        entry.as_mut().reset(None, Nanos(10));
        thread.join().unwrap();
        assert_eq!(entry.phase(), Phase::Fired);
    });
}

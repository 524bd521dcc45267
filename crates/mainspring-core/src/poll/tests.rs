use super::{BUDGET_UNITS, Polling, TaskStamp, budget, note_yield, replace_budget, stamp};
use crate::wait::{self, WaitKind, WaitSlot};

const FIRST: TaskStamp = TaskStamp { task: 1, polls: 1 };
const SECOND: TaskStamp = TaskStamp { task: 2, polls: 9 };

// WITNESS: poll.nested
#[test]
fn nested_poll_sees_its_own_record_and_restores_the_outer_one() {
    let outer = Polling::begin(Some(FIRST), None);
    replace_budget(Some(5));
    note_yield();
    let inner = Polling::begin(Some(SECOND), None);
    assert_eq!(stamp(), Some(SECOND));
    assert_eq!(budget(), Some(BUDGET_UNITS));
    assert!(
        !inner.end().yielded,
        "poll.nested: the outer poll's yield leaked inwards"
    );
    assert_eq!(stamp(), Some(FIRST));
    assert_eq!(budget(), Some(5));
    assert!(outer.end().yielded);
    assert_eq!(stamp(), None);
}

// WITNESS: poll.nested
#[test]
fn unwinding_poll_restores_the_outer_record() {
    let caught = std::panic::catch_unwind(|| {
        let _polling = Polling::begin(Some(FIRST), None);
        panic!("on purpose");
    });
    assert!(caught.is_err());
    assert_eq!(stamp(), None);
}

// WITNESS: poll.slot-alive
#[test]
fn wait_slot_is_reached_only_during_its_own_poll() {
    let slot = WaitSlot::new();
    let polling = Polling::begin(Some(FIRST), Some(&slot));
    wait::note(WaitKind::Timer, 7);
    let _left = polling.end();
    wait::note(WaitKind::Lock, 8);
    assert_eq!(slot.reason(crate::time::Nanos::ZERO).kind, WaitKind::Timer);
}

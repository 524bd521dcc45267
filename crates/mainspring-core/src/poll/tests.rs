use super::{
    BUDGET_UNITS, Plain, Polling, Root, TaskStamp, budget, has_yielded, is_active, note_yield,
    replace_budget, root, stamp,
};
use crate::task;
use crate::wait::{self, WaitKind, WaitSlot};

const FIRST: TaskStamp = TaskStamp { task: 1, polls: 1 };
const SECOND: TaskStamp = TaskStamp { task: 2, polls: 9 };

// WITNESS: poll.nested
#[test]
fn nested_poll_sees_its_own_record_and_restores_the_outer_one() {
    let (first, second) = (WaitSlot::of(FIRST), WaitSlot::of(SECOND));
    let outer = Plain::begin(&first);
    replace_budget(Some(5));
    note_yield();
    let inner = Polling::begin(Some(&second));
    assert_eq!(stamp(), Some(SECOND));
    assert_eq!(budget(), Some(BUDGET_UNITS));
    assert!(
        !has_yielded(),
        "poll.nested: the outer poll's yield leaked inwards"
    );
    drop(inner);
    assert_eq!(stamp(), Some(FIRST));
    assert_eq!(budget(), Some(5));
    assert!(has_yielded());
    drop(outer);
    assert_eq!((stamp(), budget(), is_active()), (None, None, false));
    assert!(has_yielded(), "the poller asks after the poll");
}

// WITNESS: poll.nested
#[test]
fn root_polled_in_a_task_is_nobody_and_leaves_the_task_as_it_was() {
    let first = WaitSlot::of(FIRST);
    let outer = Plain::begin(&first);
    let inside = root(|| (stamp(), is_active(), budget()));
    assert_eq!(inside, (None, true, Some(BUDGET_UNITS)));
    assert_eq!(stamp(), Some(FIRST));
    drop(outer);
}

// WITNESS: poll.nested
#[test]
fn root_of_a_block_on_has_one_number_for_all_its_polls_and_is_no_task() {
    let (mut root, mut other) = (Root::new(), Root::new());
    let first = root.poll(stamp).unwrap();
    let second = root.poll(stamp).unwrap();
    assert_eq!((first.task, first.polls + 1), (second.task, second.polls));
    assert_eq!(root.poll(task::current_id), None);
    // One inside the other, as a `block_on` written elsewhere may be: each is itself.
    let (inside, after) = root.poll(|| {
        replace_budget(Some(5));
        let inside = other.poll(|| (stamp().unwrap().task, budget()));
        assert_eq!(budget(), Some(5));
        (inside, stamp().unwrap().task)
    });
    assert_eq!((inside.1, after), (Some(BUDGET_UNITS), first.task));
    assert_ne!(inside.0, first.task);
    assert_eq!((stamp(), is_active()), (None, false));
    // A task inside a root is a task.
    let slot = WaitSlot::of(FIRST);
    let inside = root.poll(|| {
        let _polling = Polling::begin(Some(&slot));
        task::current_id().map(task::TaskId::as_u64)
    });
    assert_eq!(inside, Some(FIRST.task));
    let polling = Plain::begin(&slot);
    assert_eq!(
        task::current_id().map(task::TaskId::as_u64),
        Some(FIRST.task)
    );
    drop(polling);
}

// WITNESS: poll.nested, poll.slot-alive
#[test]
fn root_whose_poll_unwinds_leaves_nothing_and_keeps_its_number() {
    let mut root = Root::new();
    let before = root.poll(stamp).unwrap();
    let mut inside = Root::new();
    let unwound = std::panic::AssertUnwindSafe(|| {
        root.poll(|| inside.poll(|| panic!("on purpose")));
    });
    assert!(std::panic::catch_unwind(unwound).is_err());
    assert_eq!((stamp(), is_active(), budget()), (None, false, None));
    assert_eq!(root.poll(stamp).unwrap().task, before.task);
}

#[test]
fn yield_outside_a_poll_does_not_make_one() {
    note_yield();
    assert!(!is_active());
    let slot = WaitSlot::of(FIRST);
    let polling = Plain::begin(&slot);
    assert!(is_active() && !has_yielded());
    drop(polling);
}

#[test]
fn budget_that_is_not_there_is_not_consumed_and_one_that_is_ends_at_zero() {
    for _ in 0..3 {
        crate::budget::consume();
    }
    assert_eq!(budget(), None);
    root(|| {
        replace_budget(Some(1));
        for _ in 0..3 {
            crate::budget::consume();
        }
        assert_eq!(budget(), Some(0));
    });
    assert_eq!(budget(), None);
}

// WITNESS: poll.nested
#[test]
fn unwinding_poll_restores_the_outer_record() {
    let caught = std::panic::catch_unwind(|| {
        let slot = WaitSlot::of(FIRST);
        let _polling = Plain::begin(&slot);
        panic!("on purpose");
    });
    assert!(caught.is_err());
    assert_eq!(stamp(), None);
}

// WITNESS: poll.slot-alive
#[test]
fn wait_slot_is_reached_only_during_its_own_poll() {
    let slot = WaitSlot::of(FIRST);
    let polling = Polling::begin(Some(&slot));
    wait::note(WaitKind::Timer, 7);
    drop(polling);
    wait::note(WaitKind::Lock, 8);
    let reason = slot.reason(crate::time::Nanos::ZERO).unwrap();
    assert_eq!(reason.kind, WaitKind::Timer);
}

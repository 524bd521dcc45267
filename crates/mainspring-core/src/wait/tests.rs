use super::{SINCE_BITS, SINCE_SHIFT, WaitKind, WaitSlot};
use crate::task::TaskId;
use crate::time::Nanos;
use std::time::Duration;

// WITNESS: wait.one-writer
#[test]
fn note_keeps_the_poll_counter_and_begin_poll_forgets_the_reason() {
    let slot = WaitSlot::new(TaskId::next());
    slot.begin_poll();
    assert_eq!(slot.polls(), 1);
    slot.note(WaitKind::Receive, 42, Nanos::ZERO);
    assert_eq!(slot.polls(), 1, "wait.one-writer");
    let reason = slot.reason(Nanos::ZERO).unwrap();
    assert_eq!((reason.kind, reason.object), (WaitKind::Receive, 42));
    slot.begin_poll();
    assert_eq!(slot.polls(), 2);
    assert_eq!(slot.reason(Nanos::ZERO), None);
}

// WITNESS: wait.torn
#[test]
fn elapsed_survives_the_wrap_of_the_stamp() {
    let slot = WaitSlot::new(TaskId::next());
    slot.begin_poll();
    let period_ns = 1 << (SINCE_BITS + SINCE_SHIFT);
    let noted = Nanos(3 * period_ns - (1 << SINCE_SHIFT));
    slot.note(WaitKind::Timer, 0, noted);
    let later = Nanos(3 * period_ns + (1 << SINCE_SHIFT));
    assert_eq!(
        slot.reason(later).unwrap().elapsed,
        Duration::from_nanos(2 << SINCE_SHIFT)
    );
}

#[test]
fn poll_counter_wraps_without_touching_the_kind() {
    let slot = WaitSlot::new(TaskId::next());
    slot.word.store(u64::from(u32::MAX), super::Relaxed);
    slot.begin_poll();
    assert_eq!(slot.polls(), 0);
    assert_eq!(slot.reason(Nanos::ZERO), None);
}

#[test]
fn every_kind_survives_its_number() {
    for (number, kind) in WaitKind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, number);
        assert_eq!(WaitKind::from_u8(number as u8), kind);
    }
    assert_eq!(WaitKind::from_u8(200), WaitKind::Unknown);
}

// A slot without a note has no stamp to measure from: there is no wait to be told.
#[test]
fn nothing_noted_is_no_reason_at_any_time() {
    let slot = WaitSlot::new(TaskId::next());
    for now in [Nanos::ZERO, Nanos(3_170_000_000), Nanos::MAX] {
        assert_eq!(slot.reason(now), None);
    }
    for kind in WaitKind::ALL {
        slot.begin_poll();
        slot.note(kind, 7, Nanos::ZERO);
        let told = slot.reason(Nanos::ZERO).map(|reason| reason.kind);
        assert_eq!(told, (kind != WaitKind::Unknown).then_some(kind));
    }
}

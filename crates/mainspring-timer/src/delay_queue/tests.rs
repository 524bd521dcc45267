use super::{DelayQueue, Key};
use crate::driver::tests::rig::{Rig, Woken};
use crate::geometry::TICK_NS;
use mainspring_core::CancelSafe;
use mainspring_core::driver::Until;
use mainspring_core::time::{self, Nanos};
use proptest::prelude::*;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);

fn poll<T>(queue: &mut DelayQueue<T>, woken: &Arc<Woken>) -> Poll<Option<T>> {
    let waker = Waker::from(Arc::clone(woken));
    let polled = queue.poll_expired(&mut Context::from_waker(&waker));
    polled.map(|expired| expired.map(super::Expired::into_value))
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u64),
    Reset(usize, u64),
    Remove(usize),
    /// Moves the clock and takes out whatever has come.
    Wait(u64),
    Clear,
}

fn op() -> impl Strategy<Value = Op> {
    let span = || (0u32..50, any::<u64>()).prop_map(|(shift, random)| random >> 14 >> shift);
    prop_oneof![
        8 => span().prop_map(Op::Insert),
        4 => Just(Op::Insert(0)),
        4 => (any::<usize>(), span()).prop_map(|(rank, delay)| Op::Reset(rank, delay)),
        2 => any::<usize>().prop_map(|rank| Op::Reset(rank, 0)),
        3 => any::<usize>().prop_map(Op::Remove),
        6 => span().prop_map(Op::Wait),
        1 => Just(Op::Clear),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    // WITNESS: delay-queue.key
    #[test]
    fn any_schedule_expires_like_a_sorted_list(ops in prop::collection::vec(op(), 1..60)) {
        let rig = Rig::new();
        let woken = Woken::new();
        let mut queue = DelayQueue::new();
        let mut truth: Vec<(u64, Key, u64)> = Vec::new();
        let mut old = Vec::new();
        for (number, op) in (0u64..).zip(ops) {
            let after = |delay: u64| time::now().saturating_add(Duration::from_nanos(delay)).0;
            match op {
                Op::Insert(delay) => {
                    let key = queue.insert(number, Duration::from_nanos(delay));
                    truth.push((after(delay), key, number));
                }
                Op::Reset(rank, delay) if !truth.is_empty() => {
                    let rank = rank % truth.len();
                    truth[rank].0 = after(delay);
                    prop_assert!(queue.reset(truth[rank].1, Duration::from_nanos(delay)));
                }
                Op::Remove(rank) if !truth.is_empty() => {
                    let (_, key, value) = truth.swap_remove(rank % truth.len());
                    prop_assert_eq!(queue.remove(key), Some(value));
                    old.push(key);
                }
                Op::Wait(duration) => {
                    rig.clock.advance(Duration::from_nanos(duration));
                    let now = time::now().0;
                    while let Poll::Ready(Some(value)) = poll(&mut queue, &woken) {
                        let rank = truth.iter().position(|entry| entry.2 == value);
                        let (deadline, key, _) = truth.swap_remove(rank.expect("in the model"));
                        prop_assert!(deadline <= now, "early");
                        old.push(key);
                    }
                    prop_assert!(truth.iter().all(|entry| entry.0.saturating_add(TICK_NS) > now));
                }
                Op::Clear => {
                    queue.clear();
                    old.extend(truth.drain(..).map(|entry| entry.1));
                }
                _ => {}
            }
            prop_assert_eq!(queue.len(), truth.len());
            for &(_, key, value) in &truth {
                prop_assert_eq!(queue.value(key), Some(&value));
            }
            for &key in &old {
                prop_assert!(queue.value(key).is_none() && !queue.reset(key, MS));
            }
        }
    }
}

#[test]
fn values_come_out_in_time_and_then_the_queue_is_empty() {
    let mut rig = Rig::new();
    let mut queue = DelayQueue::new();
    let start = time::now();
    for (value, delay) in [
        ("late", 30 * MS),
        ("soon", 2 * MS),
        ("past", Duration::ZERO),
    ] {
        queue.insert(value, delay);
    }
    queue.insert_at("long ago", Instant::now() - Duration::from_secs(1));
    queue.insert("never", Duration::MAX);
    let mut values = Vec::new();
    for _ in 0..4 {
        let expired = rig.block_on(queue.next()).expect("not empty");
        assert!(expired.deadline_nanos() <= time::now());
        values.push(expired.into_value());
    }
    values[..2].sort_unstable();
    assert_eq!(values, ["long ago", "past", "soon", "late"]);
    assert!(time::now().since(start) < 31 * MS);
    queue.clear();
    assert_eq!(rig.block_on(queue.next()), None);
}

// WITNESS: delay-queue.told
#[test]
fn waiting_task_is_told_of_what_it_would_sleep_past() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    let mut queue = DelayQueue::new();
    let far = queue.insert(1, Duration::from_secs(100));
    assert!(poll(&mut queue, &woken).is_pending());
    queue.insert(2, Duration::from_secs(200));
    assert_eq!(woken.count(), 0, "later than what it waits for");
    queue.insert(3, MS);
    assert_eq!(woken.count(), 1, "earlier");
    assert!(poll(&mut queue, &woken).is_pending());
    assert_eq!(rig.park(Until::Forever).woken, 1, "the sleep moved, too");
    assert_eq!(poll(&mut queue, &woken), Poll::Ready(Some(3)));
    assert!(poll(&mut queue, &woken).is_pending());
    assert!(queue.reset(far, Duration::ZERO));
    assert_eq!(woken.count(), 3, "reset to what has come");
    assert_eq!(poll(&mut queue, &woken), Poll::Ready(Some(1)));
    assert!(poll(&mut queue, &woken).is_pending());
    queue.clear();
    assert_eq!(woken.count(), 4, "cleared");
    assert_eq!(poll(&mut queue, &woken), Poll::Ready(None));
    let last = queue.insert(4, MS);
    assert!(poll(&mut queue, &woken).is_pending());
    assert_eq!(queue.remove(last), Some(4));
    assert_eq!(woken.count(), 5, "the last one was removed");
    assert_eq!(poll(&mut queue, &woken), Poll::Ready(None));
}

#[test]
fn value_may_be_reset_and_removed_when_its_time_has_come() {
    let mut rig = Rig::new();
    let woken = Woken::new();
    let mut queue = DelayQueue::new();
    let keys: Vec<_> = (0..4).map(|value| queue.insert(value, MS)).collect();
    assert!(poll(&mut queue, &woken).is_pending());
    let _ = rig.park(Until::At(Nanos(time::now().0 + 2_000_000)));
    rig.clock.advance(MS);
    assert!(queue.reset(keys[0], Duration::from_secs(1)));
    assert_eq!(queue.remove(keys[1]), Some(1));
    let mut out = Vec::new();
    while let Poll::Ready(Some(value)) = poll(&mut queue, &woken) {
        out.push(value);
    }
    assert_eq!(out, [2, 3]);
    if let Some(value) = queue.value_mut(keys[0]) {
        *value = 10;
    }
    rig.clock.advance(Duration::from_secs(2));
    assert_eq!(poll(&mut queue, &woken), Poll::Ready(Some(10)));
}

#[test]
fn dropped_queue_frees_its_waker_and_its_timer() {
    let rig = Rig::new();
    let woken = Woken::new();
    let mut queue = DelayQueue::new();
    queue.insert((), MS);
    assert!(poll(&mut queue, &woken).is_pending());
    assert_eq!(rig.armed(), 1);
    drop(queue);
    assert_eq!((rig.armed(), Arc::strong_count(&woken)), (0, 1));
}

#[test]
fn dropped_next_leaves_the_value_for_the_one_after() {
    fn safe<F: CancelSafe>(future: F) -> F {
        assert!(F::KEEPS_PLACE);
        future
    }
    let mut rig = Rig::new();
    let mut queue = DelayQueue::new();
    queue.insert(7, MS);
    {
        let mut cx = Context::from_waker(Waker::noop());
        let next = std::pin::pin!(safe(queue.next()));
        assert!(next.poll(&mut cx).is_pending());
    }
    let expired = rig.block_on(queue.next());
    assert_eq!(expired.map(super::Expired::into_value), Some(7));
    assert!(rig.block_on(queue.next()).is_none());
}

use crate::geometry::TICK_NS;
use crate::store::Slab;
use crate::wheel::{Progress, Wheel};
use mainspring_core::time::Nanos;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn wheel_of(now: Nanos, deadlines: &[Nanos]) -> Wheel<Slab<Nanos>> {
    let mut wheel = Wheel::new(Slab::new(), now);
    for &deadline in deadlines {
        let id = wheel.store_mut().add(deadline);
        wheel.insert(deadline, id);
    }
    wheel
}

fn fired(wheel: &mut Wheel<Slab<Nanos>>, now: Nanos) -> Vec<Nanos> {
    let mut fired = Vec::new();
    let progress = wheel.advance(now, 128, |wheel, id| {
        fired.extend(wheel.store_mut().take(id))
    });
    assert_eq!(progress, Progress::Done);
    fired
}

#[test]
fn past_and_present_deadlines_fire_at_once() {
    let now = Nanos(10 * TICK_NS + 5);
    let mut wheel = wheel_of(now, &[Nanos::ZERO, Nanos(10 * TICK_NS)]);
    assert!(wheel.next() <= Some(now));
    assert_eq!(fired(&mut wheel, now).len(), 2);
    assert_eq!(wheel.next(), None);
}

#[test]
fn the_end_of_time_fires_only_when_the_clock_saturates() {
    let last_tick = Nanos(u64::MAX - (TICK_NS - 1));
    let mut wheel = wheel_of(Nanos::ZERO, &[Nanos::MAX, Nanos(u64::MAX - 1), last_tick]);
    assert!(fired(&mut wheel, Nanos(u64::MAX - 1)).is_empty());
    assert_eq!(wheel.next(), Some(Nanos::MAX));
    assert_eq!(fired(&mut wheel, Nanos::MAX).len(), 3);
}

// WITNESS: wheel.never-early
#[test]
fn clock_that_goes_back_fires_nothing_until_it_has_caught_up() {
    let mut wheel = wheel_of(Nanos(100 * TICK_NS), &[Nanos(60 * TICK_NS)]);
    assert!(fired(&mut wheel, Nanos(40 * TICK_NS)).is_empty());
    assert!(fired(&mut wheel, Nanos(99 * TICK_NS)).is_empty());
    assert_eq!(
        fired(&mut wheel, Nanos(100 * TICK_NS)),
        [Nanos(60 * TICK_NS)]
    );
}

#[test]
fn callback_that_always_inserts_a_due_entry_is_bounded() {
    let mut wheel = wheel_of(Nanos::ZERO, &[Nanos::ZERO]);
    let mut calls = 0;
    let progress = wheel.advance(Nanos(TICK_NS), 128, |wheel, id| {
        calls += 1;
        wheel.insert(Nanos::ZERO, id);
    });
    assert_eq!((progress, calls, wheel.len()), (Progress::More, 128, 1));
}

#[test]
fn callback_that_panics_leaves_the_wheel_whole() {
    let mut wheel = wheel_of(Nanos::ZERO, &[Nanos(1), Nanos(2), Nanos(1 << 40)]);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        wheel.advance(Nanos(TICK_NS), 128, |_, _| panic!("user code"))
    }));
    assert!(outcome.is_err());
    assert_eq!(wheel.len(), 2);
    assert_eq!(fired(&mut wheel, Nanos(TICK_NS)), [Nanos(2)]);
    assert_eq!(fired(&mut wheel, Nanos::MAX), [Nanos(1 << 40)]);
}

// An entry that left the open slot for a lower level must not be lost when what remains in the
// slot is removed, nor fire before it when something is inserted into the gap.
// WITNESS: wheel.above-cursor
#[test]
fn open_slot_emptied_by_removal_keeps_what_it_has_moved() {
    let slot = 1u64 << 24;
    let mut wheel = wheel_of(Nanos::ZERO, &[]);
    let ids: Vec<u32> = [slot + 3 * TICK_NS, slot + 2 * TICK_NS, slot]
        .map(|deadline| {
            let id = wheel.store_mut().add(Nanos(deadline));
            wheel.insert(Nanos(deadline), id);
            id
        })
        .to_vec();
    let now = Nanos(slot + TICK_NS);
    let progress = wheel.advance(now, 1, |_, _| panic!("nothing fires yet"));
    assert_eq!(progress, Progress::More);
    for id in &ids[1..] {
        assert!(wheel.remove(*id));
    }
    let id = wheel.store_mut().add(Nanos(slot + 1));
    wheel.insert(Nanos(slot + 1), id);
    assert_eq!(fired(&mut wheel, now), [Nanos(slot + 1)]);
    assert_eq!(wheel.next(), Some(Nanos(slot + 3 * TICK_NS)));
    assert_eq!(fired(&mut wheel, Nanos(slot + 3 * TICK_NS)).len(), 1);
}

#[test]
fn restarted_wheel_fires_by_the_new_clock() {
    let mut wheel = wheel_of(Nanos::ZERO, &[Nanos(1 << 50)]);
    assert_eq!(fired(&mut wheel, Nanos(1 << 60)).len(), 1);
    wheel.restart(Nanos(5));
    let id = wheel.store_mut().add(Nanos(7));
    wheel.insert(Nanos(7), id);
    assert_eq!(fired(&mut wheel, Nanos(TICK_NS)), [Nanos(7)]);
}

#[test]
fn pop_empties_the_wheel_whatever_the_deadlines() {
    let mut wheel = wheel_of(Nanos(7), &[Nanos(0), Nanos(9), Nanos(1 << 30), Nanos::MAX]);
    let mut count = 0;
    while wheel.pop().is_some() {
        count += 1;
    }
    assert_eq!((count, wheel.len(), wheel.next()), (4, 0, None));
}

#[test]
#[should_panic(expected = "MS0018: the entry is in a wheel already")]
fn insert_refuses_an_entry_that_is_linked() {
    let mut wheel = wheel_of(Nanos::ZERO, &[Nanos(5)]);
    wheel.insert(Nanos(6), 0);
}

#[test]
fn wheel_is_built_on_a_small_stack() {
    std::thread::Builder::new()
        .stack_size(128 << 10)
        .spawn(|| assert!(wheel_of(Nanos::ZERO, &[Nanos(3)]).next().is_some()))
        .expect("a thread")
        .join()
        .expect("no overflow");
}

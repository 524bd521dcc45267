//! Rounds, and what a dropped member does to them.

use crate::Barrier;
use crate::barrier::{Wait, WaitResult};
use crate::parked::tests::hooks::{Touch, hooked};
use crate::parked::tests::threads::send_sync;
use crate::parked::tests::wakers::{counted, poll, tasks};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;

fn arrives(wait: Pin<&mut Wait<'_>>) -> Option<bool> {
    match poll(wait, Waker::noop()) {
        Poll::Ready(passed) => Some(passed.is_leader()),
        Poll::Pending => None,
    }
}

// WITNESS: barrier.round
#[test]
fn round_is_complete_with_the_last_who_leads() {
    let barrier = Barrier::new(3);
    let [a, b] = tasks();
    let mut first = pin!(barrier.wait());
    let mut second = pin!(barrier.wait());
    let mut third = pin!(barrier.wait());
    assert!(poll(first.as_mut(), &a.1).is_pending());
    assert!(poll(first.as_mut(), &a.1).is_pending(), "arrives once");
    assert!(poll(second.as_mut(), &b.1).is_pending());
    assert_eq!(arrives(third.as_mut()), Some(true));
    assert_eq!((a.0.calls(), b.0.calls()), (1, 1));
    let mut next = pin!(barrier.wait());
    assert_eq!(arrives(next.as_mut()), None, "of the next round");
    assert_eq!(arrives(first.as_mut()), Some(false));
    assert_eq!(arrives(second.as_mut()), Some(false));
    assert_eq!(arrives(third.as_mut()), Some(true), "again");
    assert_eq!(arrives(next.as_mut()), None);
}

// WITNESS: barrier.round
#[test]
fn dropped_member_leaves_the_count_unless_its_round_is_complete() {
    let barrier = Barrier::new(2);
    let mut dropped = Box::pin(barrier.wait());
    assert_eq!(arrives(dropped.as_mut()), None);
    drop(dropped);
    let mut first = Box::pin(barrier.wait());
    assert_eq!(arrives(first.as_mut()), None);
    assert_eq!(arrives(pin!(barrier.wait())), Some(true));
    drop(first);
    assert_eq!(arrives(pin!(barrier.wait())), None, "it had passed");
}

// S19
#[test]
fn barrier_for_one_or_none_lets_everybody_pass() {
    for parties in [0, 1] {
        let barrier = Barrier::new(parties);
        for _ in 0..2 {
            assert_eq!(arrives(pin!(barrier.wait())), Some(true));
        }
    }
    assert_eq!(arrives(pin!(Barrier::new(usize::MAX).wait())), None);
}

#[test]
fn threads_pass_in_rounds_with_one_leader_each() {
    let barrier = Arc::new(Barrier::new(3));
    let members = [(); 3].map(|()| {
        let barrier = Arc::clone(&barrier);
        thread::spawn(move || {
            (0..50)
                .map(|_| barrier.wait_blocking().is_leader())
                .collect()
        })
    });
    let rounds: Vec<Vec<bool>> = members.map(|member| member.join().unwrap()).into();
    for round in 0..50 {
        assert_eq!(rounds.iter().filter(|member| member[round]).count(), 1);
    }
}

// S5, B124, B127
#[test]
fn waker_that_comes_back_or_panics_harms_nobody() {
    let barrier = Arc::new(Barrier::new(3));
    let waker = {
        let barrier = Arc::clone(&barrier);
        hooked(move |touch| {
            assert_eq!(arrives(pin!(barrier.wait())), None, "and leaves");
            assert_ne!(touch, Touch::Wake, "on purpose");
        })
    };
    let (counter, other) = counted();
    let mut first = Box::pin(barrier.wait());
    let mut second = pin!(barrier.wait());
    assert!(poll(first.as_mut(), &waker).is_pending());
    assert!(poll(second.as_mut(), &other).is_pending());
    let mut last = Box::pin(barrier.wait());
    let panicked = catch_unwind(AssertUnwindSafe(|| arrives(last.as_mut())));
    assert!(panicked.is_err());
    drop(last);
    assert_eq!(counter.calls(), 1);
    assert_eq!(arrives(second.as_mut()), Some(false));
    assert_eq!(arrives(first.as_mut()), Some(false));
    assert_eq!(arrives(pin!(barrier.wait())), None, "a new round");
}

#[test]
fn threads_and_forms_are_as_promised() {
    assert_eq!(send_sync!(Barrier), (true, true));
    assert_eq!(send_sync!(Wait<'static>), (true, true));
    assert_eq!(send_sync!(WaitResult), (true, true));
    static BARRIER: Barrier = Barrier::new(2);
    assert!(format!("{BARRIER:?}").contains("parties: 2"));
    assert!(format!("{:?}", BARRIER.wait()).contains("passed: None"));
}

#[derive(Clone, Debug)]
enum Op {
    Come,
    Poll(prop::sample::Index),
    Drop(prop::sample::Index),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    New,
    Here,
    Passed(bool),
}

proptest! {
    // WITNESS: barrier.round
    #[test]
    fn any_schedule_is_that_of_the_model(
        parties in 0_usize..5,
        ops in prop::collection::vec(prop_oneof![
            3 => Just(Op::Come),
            6 => any::<prop::sample::Index>().prop_map(Op::Poll),
            2 => any::<prop::sample::Index>().prop_map(Op::Drop),
        ], 1..80),
    ) {
        let barrier = Barrier::new(parties);
        let mut members: Vec<(Pin<Box<Wait<'_>>>, Place)> = Vec::new();
        for op in ops {
            match op {
                Op::Come => members.push((Box::pin(barrier.wait()), Place::New)),
                Op::Poll(index) if !members.is_empty() => {
                    let at = index.index(members.len());
                    if members[at].1 == Place::New {
                        members[at].1 = Place::Here;
                        let is_here = |place: &Place| *place == Place::Here;
                        let here = members.iter().filter(|(_, place)| is_here(place)).count();
                        if here >= parties {
                            for (_, place) in members.iter_mut().filter(|(_, p)| is_here(p)) {
                                *place = Place::Passed(false);
                            }
                            members[at].1 = Place::Passed(true);
                        }
                    }
                    let expected = match members[at].1 {
                        Place::Passed(is_leader) => Some(is_leader),
                        _ => None,
                    };
                    prop_assert_eq!(arrives(members[at].0.as_mut()), expected);
                }
                Op::Drop(index) if !members.is_empty() => {
                    let at = index.index(members.len());
                    drop(members.swap_remove(at));
                }
                _ => {}
            }
        }
    }
}

//! Tokens, waits and their moments.

use crate::WaitGroup;
use crate::parked::tests::hooks::{Touch, hooked};
use crate::parked::tests::threads::send_sync;
use crate::parked::tests::wakers::{counted, poll, tasks};
use crate::wait_group::{Wait, Worker};
use mainspring_core::CancelSafe;
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Waker;
use std::thread;
use std::time::Duration;

#[test]
fn wait_is_over_when_the_last_token_has_gone() {
    let group = WaitGroup::new();
    assert!(poll(pin!(group.wait()), Waker::noop()).is_ready(), "none");
    let first = group.worker();
    let second = first.clone();
    let [a, b] = tasks();
    let mut one = pin!(group.wait());
    let mut two = pin!(group.wait());
    assert!(poll(one.as_mut(), &a.1).is_pending());
    assert!(poll(two.as_mut(), &b.1).is_pending());
    drop(first);
    assert_eq!((a.0.calls(), group.workers()), (0, 1));
    assert!(poll(one.as_mut(), &a.1).is_pending());
    drop(second);
    assert_eq!((a.0.calls(), b.0.calls()), (1, 1));
    assert!(poll(one.as_mut(), &a.1).is_ready());
    assert!(poll(one.as_mut(), &a.1).is_ready(), "again");
    assert!(poll(two.as_mut(), &b.1).is_ready());
}

// WITNESS: wait-group.zero
#[test]
fn late_token_is_the_next_waits() {
    let group = WaitGroup::new();
    let first = group.worker();
    let mut early = pin!(group.wait());
    let mut unpolled = pin!(group.wait());
    assert!(poll(early.as_mut(), Waker::noop()).is_pending());
    drop(first);
    let late = group.worker();
    let mut next = pin!(group.wait());
    assert!(poll(next.as_mut(), Waker::noop()).is_pending());
    assert!(poll(unpolled.as_mut(), Waker::noop()).is_pending());
    assert!(
        poll(early.as_mut(), Waker::noop()).is_ready(),
        "it had its moment"
    );
    drop(late);
    assert!(poll(next.as_mut(), Waker::noop()).is_ready());
    assert!(poll(unpolled.as_mut(), Waker::noop()).is_ready());
}

#[test]
fn token_goes_with_a_task_that_panics() {
    let group = WaitGroup::new();
    let worker = group.worker();
    let panicking = thread::spawn(move || {
        let _worker = worker;
        std::panic::resume_unwind(Box::new(()));
    });
    group.wait_blocking();
    assert!(panicking.join().is_err());
    let held = group.worker();
    assert!(!group.wait_timeout(Duration::ZERO));
    drop(group);
    drop(held);
}

// S5, B124, S11, B127
#[test]
fn waker_that_comes_back_or_panics_harms_nobody() {
    let group = Arc::new(WaitGroup::new());
    let waker = {
        let group = Arc::clone(&group);
        hooked(move |touch| {
            let again = group.worker();
            let _ = poll(pin!(group.wait()), Waker::noop());
            drop(again);
            assert_ne!(touch, Touch::Wake, "on purpose");
        })
    };
    let (counter, other) = counted();
    let worker = group.worker();
    let mut first = Box::pin(group.wait());
    let mut second = pin!(group.wait());
    assert!(poll(first.as_mut(), &waker).is_pending());
    assert!(poll(second.as_mut(), &other).is_pending());
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(worker)));
    assert!(panicked.is_err());
    assert_eq!((counter.calls(), group.workers()), (1, 0));
    assert!(poll(second.as_mut(), &other).is_ready());
    assert!(poll(first.as_mut(), &waker).is_ready());
}

#[test]
fn threads_and_classes_are_as_promised() {
    fn is_cancel_safe<F: CancelSafe>() {}
    is_cancel_safe::<Wait<'_>>();
    assert_eq!(send_sync!(WaitGroup), (true, true));
    assert_eq!(send_sync!(Worker), (true, true));
    assert_eq!(send_sync!(Wait<'static>), (true, true));
    let group = WaitGroup::default();
    let worker = group.worker();
    assert_eq!(
        format!("{group:?} {worker:?}"),
        "WaitGroup { workers: 1 } Worker { workers: 1 }"
    );
}

#[derive(Clone, Debug)]
enum Op {
    Join,
    Leave,
    Come,
    Poll(prop::sample::Index),
    Drop(prop::sample::Index),
}

proptest! {
    // WITNESS: wait-group.zero
    #[test]
    fn any_schedule_is_that_of_the_model(ops in prop::collection::vec(prop_oneof![
        2 => Just(Op::Join),
        3 => Just(Op::Leave),
        3 => Just(Op::Come),
        4 => any::<prop::sample::Index>().prop_map(Op::Poll),
        1 => any::<prop::sample::Index>().prop_map(Op::Drop),
    ], 1..80)) {
        let group = WaitGroup::new();
        let mut tokens: Vec<Worker> = Vec::new();
        // Whether it waits, and whether there was a moment without a token since.
        let mut waits: Vec<(Pin<Box<Wait<'_>>>, bool, bool)> = Vec::new();
        for op in ops {
            match op {
                Op::Join => tokens.push(group.worker()),
                Op::Leave => {
                    let had_one = tokens.pop().is_some();
                    if had_one && tokens.is_empty() {
                        waits.iter_mut().for_each(|wait| wait.2 |= wait.1);
                    }
                }
                Op::Come => waits.push((Box::pin(group.wait()), false, false)),
                Op::Poll(index) if !waits.is_empty() => {
                    let at = index.index(waits.len());
                    let (wait, is_waiting, is_over) = &mut waits[at];
                    *is_waiting = true;
                    *is_over |= tokens.is_empty();
                    prop_assert_eq!(poll(wait.as_mut(), Waker::noop()).is_ready(), *is_over);
                }
                Op::Drop(index) if !waits.is_empty() => {
                    let at = index.index(waits.len());
                    drop(waits.swap_remove(at));
                }
                _ => {}
            }
            prop_assert_eq!(group.workers(), tokens.len());
        }
    }
}

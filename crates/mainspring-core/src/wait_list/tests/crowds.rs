//! Thousands of offers at once: what a search for one costs, and that it finds the right one.

use super::kinds::{Acquire, Notified, Permits, Stored, notify, release};
use crate::poll::{Polling, TaskStamp};
use crate::wait::WaitSlot;
use crate::wait_list::{From, Holds, WaitList, Why, visits};
use proptest::prelude::*;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

fn poll_in<F: Future + ?Sized>(task: u64, future: Pin<&mut F>) -> Poll<F::Output> {
    let slot = WaitSlot::of(TaskStamp { task, polls: 0 });
    let _polling = Polling::begin(Some(&slot));
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// More than any search may need in the mean, and far less than there are offers.
const STEPS_MAX: u64 = 40;

/// Tasks that no other test polls: the end of such a poll revokes what was offered to them.
const FIRST_TASK: u64 = 1 << 40;

/// The entries looked at while `f` runs, with so many waiters, for each.
fn steps_each(waiters: u64, f: impl FnOnce()) -> u64 {
    let before = visits();
    f();
    (visits() - before) / waiters
}

/// Every task is granted what it waits for in one go, and waits once more: `turns` times.
fn crowd<L: Holds + Copy, F: Future>(
    tasks: u64,
    list: L,
    wait: impl Fn(L) -> F,
    grant_all: impl Fn(),
) -> u64 {
    let mut waits: Vec<_> = (0..tasks).map(|_| Box::pin(wait(list))).collect();
    for (task, future) in (FIRST_TASK..).zip(&mut waits) {
        assert!(poll_in(task, future.as_mut()).is_pending());
    }
    steps_each(tasks, || {
        grant_all();
        for (task, future) in (FIRST_TASK..).zip(&mut waits) {
            assert!(poll_in(task, future.as_mut()).is_ready());
            future.set(wait(list));
            assert!(poll_in(task, future.as_mut()).is_pending());
        }
    })
}

// WITNESS: index.path, index.offer
#[test]
fn who_waits_again_does_not_look_through_the_offers_of_all_the_others() {
    for tasks in [100, 3_000] {
        let list = WaitList::<Stored>::default();
        let all = || (0..tasks).for_each(|_| notify(&list, From::Oldest));
        let steps = crowd(tasks, &list, Notified::new, all);
        assert!(steps < STEPS_MAX, "{tasks} notifications: {steps} each");
        for list in [Permits::list(0), Permits::revocable(0)] {
            let all = || release(&list, tasks as usize);
            let steps = crowd(tasks, &list, |list| Acquire::new(list, 1), all);
            assert!(steps < STEPS_MAX, "{tasks} permits: {steps} each");
        }
    }
}

// WITNESS: index.path, index.offer
#[test]
fn offers_of_one_task_are_as_many_as_they_may_be() {
    const WAITS: usize = 1_000;
    let list = Permits::list(0);
    let mut unpolled: Vec<_> = (0..WAITS)
        .map(|_| Box::pin(Acquire::new(&list, 1)))
        .collect();
    for future in &mut unpolled {
        assert!(poll_in(1, future.as_mut()).is_pending());
    }
    release(&list, WAITS);
    let steps = steps_each(WAITS as u64, || {
        // One of another task looks, and waits: by then all of them are indexed.
        let mut other = Box::pin(Acquire::new(&list, 1));
        assert!(poll_in(2, other.as_mut()).is_pending());
        for _ in 0..WAITS / 2 {
            let mut driven = Box::pin(Acquire::new(&list, 1));
            assert_eq!(
                poll_in(1, driven.as_mut()),
                Poll::Ready(Why::Offered(From::Oldest))
            );
        }
    });
    // They hang below each other for the length of what tells the task.
    assert!(steps < 400, "{steps} each");
    unpolled.clear();
    assert_eq!(list.kind().available(), WAITS / 2);
}

#[derive(Clone, Debug)]
enum Step {
    Wait { task: u64 },
    Release,
    Poll(prop::sample::Index),
    Drop(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1..40_u64).prop_map(|task| Step::Wait { task }),
        2 => Just(Step::Release),
        2 => any::<prop::sample::Index>().prop_map(Step::Poll),
        1 => any::<prop::sample::Index>().prop_map(Step::Drop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    // WITNESS: index.path, index.offer
    /// A poll is answered if and only if there is an offer to its task, and permits are conserved.
    #[test]
    fn offer_is_found_by_its_task_and_by_no_other(steps in prop::collection::vec(step(), 1..250)) {
        let list = Permits::list(0);
        let mut waits = Vec::new();
        let (mut released, mut taken) = (0, 0);
        let offered_to = |task| {
            let offers = list.diagnose().offers;
            offers.iter().any(|offer| offer.task == Some(task))
        };
        for step in steps {
            match step {
                Step::Wait { task } => {
                    let mut future = Box::pin(Acquire::new(&list, 1));
                    let is_served = offered_to(task) || list.kind().available() > 0;
                    let is_ready = poll_in(task, future.as_mut()).is_ready();
                    prop_assert_eq!(is_ready, is_served);
                    taken += usize::from(is_ready);
                    if !is_ready {
                        waits.push((task, future));
                    }
                }
                Step::Release => {
                    released += 1;
                    release(&list, 1);
                }
                Step::Poll(which) if !waits.is_empty() => {
                    let at = which.index(waits.len());
                    let (task, future) = &mut waits[at];
                    let was_offered = offered_to(*task);
                    if poll_in(*task, future.as_mut()).is_ready() {
                        taken += 1;
                        waits.swap_remove(at);
                    } else {
                        prop_assert!(!was_offered);
                    }
                }
                Step::Drop(which) if !waits.is_empty() => {
                    waits.swap_remove(which.index(waits.len()));
                }
                Step::Poll(_) | Step::Drop(_) => {}
            }
            let offers = list.diagnose().offers.len();
            prop_assert_eq!(offers + taken + list.kind().available(), released);
        }
        drop(waits);
        prop_assert_eq!(list.kind().available() + taken, released);
    }
}

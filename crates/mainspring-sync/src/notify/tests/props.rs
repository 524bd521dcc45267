//! Random operations against a model in plain vectors.

use crate::Notify;
use crate::notify::Notified;
use crate::parked::tests::wakers::{Counter, counted, poll};
use mainspring_core::wait_list::From;
use proptest::prelude::*;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Waker;

#[derive(Clone, Debug)]
enum Op {
    Come(usize),
    Poll(prop::sample::Index),
    Enable(prop::sample::Index),
    Drop(prop::sample::Index),
    One(bool),
    All,
}

fn op() -> impl Strategy<Value = Op> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (0_usize..3).prop_map(Op::Come),
        4 => index().prop_map(Op::Poll),
        1 => index().prop_map(Op::Enable),
        2 => index().prop_map(Op::Drop),
        4 => any::<bool>().prop_map(Op::One),
        1 => Just(Op::All),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    New,
    Waiting,
    Offered(From),
    Kept,
    Released,
    Done,
}

struct Waiter<'a> {
    future: Pin<Box<Notified<'a>>>,
    waker: Waker,
    counter: Arc<Counter>,
    id: usize,
    place: Place,
    releases: usize,
    has_waker: bool,
    wakes: usize,
}

#[derive(Default)]
struct Model {
    queue: Vec<usize>,
    has_permit: bool,
    releases: usize,
}

impl Model {
    fn signal(&mut self, waiters: &mut [Waiter<'_>], from: From) {
        let next = match from {
            _ if self.queue.is_empty() => None,
            From::Oldest => Some(self.queue.remove(0)),
            From::Newest => self.queue.pop(),
        };
        match waiters.iter_mut().find(|waiter| Some(waiter.id) == next) {
            Some(waiter) => {
                waiter.place = Place::Offered(from);
                waiter.wakes += usize::from(waiter.has_waker);
            }
            None => self.has_permit = true,
        }
    }

    /// What a first look finds.
    fn look(&mut self, waiter: &Waiter<'_>) -> Option<Place> {
        if waiter.releases != self.releases {
            Some(Place::Released)
        } else if self.has_permit {
            self.has_permit = false;
            Some(Place::Kept)
        } else {
            self.queue.push(waiter.id);
            None
        }
    }

    fn all(&mut self, waiters: &mut [Waiter<'_>]) {
        self.releases += 1;
        self.queue.clear();
        for waiter in waiters.iter_mut().filter(|w| w.place == Place::Waiting) {
            waiter.place = Place::Released;
            waiter.wakes += usize::from(waiter.has_waker);
        }
    }
}

fn step<'a>(op: Op, notify: &'a Notify, model: &mut Model, waiters: &mut Vec<Waiter<'a>>) {
    let at = |index: prop::sample::Index, waiters: &Vec<Waiter<'_>>| {
        (!waiters.is_empty()).then(|| index.index(waiters.len()))
    };
    match op {
        Op::Come(_) => {
            let (counter, waker) = counted();
            waiters.push(Waiter {
                future: Box::pin(notify.notified()),
                waker,
                counter,
                id: waiters.last().map_or(0, |last| last.id + 1),
                place: Place::New,
                releases: model.releases,
                has_waker: false,
                wakes: 0,
            });
        }
        Op::Poll(index) => {
            let Some(at) = at(index, waiters) else { return };
            let waiter = &mut waiters[at];
            let is_ready = match waiter.place {
                Place::New => model.look(waiter).is_some(),
                place => place != Place::Waiting,
            };
            let found = poll(waiter.future.as_mut(), &waiter.waker);
            assert_eq!(found.is_ready(), is_ready);
            waiter.has_waker = true;
            waiter.place = if is_ready {
                Place::Done
            } else {
                Place::Waiting
            };
        }
        Op::Enable(index) => {
            let Some(at) = at(index, waiters) else { return };
            let waiter = &mut waiters[at];
            if waiter.place == Place::New {
                waiter.place = model.look(waiter).unwrap_or(Place::Waiting);
                let is_ready = waiter.place != Place::Waiting;
                assert_eq!(waiter.future.as_mut().enable(), is_ready);
            } else {
                let _ = waiter.future.as_mut().enable();
            }
        }
        Op::Drop(index) => {
            let Some(at) = at(index, waiters) else { return };
            let waiter = waiters.remove(at);
            model.queue.retain(|id| *id != waiter.id);
            match waiter.place {
                Place::Offered(from) => model.signal(waiters, from),
                Place::Kept => model.signal(waiters, From::Oldest),
                _ => {}
            }
            drop(waiter.future);
        }
        Op::One(false) => {
            model.signal(waiters, From::Oldest);
            notify.notify_one();
        }
        Op::One(true) => {
            model.signal(waiters, From::Newest);
            notify.notify_last();
        }
        Op::All => {
            model.all(waiters);
            notify.notify_all();
        }
    }
}

proptest! {
    // WITNESS: notify.once, notify.waits, notify.releases
    #[test]
    fn any_schedule_is_that_of_the_model(ops in prop::collection::vec(op(), 1..120)) {
        let notify = Notify::new();
        let (mut model, mut waiters) = (Model::default(), Vec::new());
        for op in ops {
            step(op, &notify, &mut model, &mut waiters);
            for waiter in &waiters {
                prop_assert_eq!(waiter.counter.calls(), waiter.wakes);
            }
            let shown = format!("{notify:?}");
            let has_permit = format!("has_permit: {}", model.has_permit);
            prop_assert!(shown.contains(&has_permit), "{}", shown);
            prop_assert_eq!(notify.diagnose().waiting, model.queue.len());
        }
    }

    /// Several futures a task, which take over what the others leave unpolled.
    // WITNESS: notify.waits, notify.once
    #[test]
    fn shared_tasks_lose_nothing(ops in prop::collection::vec(op(), 1..120)) {
        let notify = Notify::new();
        let tasks = [counted().1, counted().1, counted().1];
        let mut waiters: Vec<(Pin<Box<Notified<'_>>>, usize)> = Vec::new();
        let (mut sent, mut received) = (0, 0);
        for op in ops {
            match op {
                Op::Come(task) => waiters.push((Box::pin(notify.notified()), task)),
                Op::Poll(index) if !waiters.is_empty() => {
                    let at = index.index(waiters.len());
                    let (future, task) = &mut waiters[at];
                    if poll(future.as_mut(), &tasks[*task]).is_ready() {
                        received += 1;
                        drop(waiters.swap_remove(at));
                    }
                }
                Op::Drop(index) if !waiters.is_empty() => {
                    let at = index.index(waiters.len());
                    drop(waiters.swap_remove(at));
                }
                Op::One(newest) => {
                    sent += 1;
                    if newest { notify.notify_last() } else { notify.notify_one() }
                }
                _ => {}
            }
            let found = notify.diagnose();
            let shown = format!("{notify:?}");
            let has_permit = shown.contains("has_permit: true");
            prop_assert!(!has_permit || found.waiting == 0, "stored, and somebody sleeps");
            let held = found.offers.len() + usize::from(has_permit);
            prop_assert!(received + held <= sent);
        }
        let held = notify.diagnose().offers.len();
        drop(waiters);
        let left = poll(pin!(notify.notified()), Waker::noop()).is_ready();
        prop_assert!(held == 0 || left, "an offer went with its future");
    }
}

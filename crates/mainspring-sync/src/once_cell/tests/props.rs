//! Random schedules of initialisers against a model in plain vectors.

use crate::OnceCell;
use crate::parked::tests::wakers::{counted, poll};
use proptest::prelude::*;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Poll, Waker};

/// What an initialiser does when it is polled.
#[derive(Clone, Copy, Debug)]
enum Does {
    Wait,
    Make,
    Fail,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Come,
    Poll(usize, Does),
    Drop(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let does = prop_oneof![6 => Just(Does::Wait), 1 => Just(Does::Make), 2 => Just(Does::Fail)];
    prop_oneof![
        3 => Just(Op::Come),
        6 => (0_usize..6, does).prop_map(|(at, does)| Op::Poll(at, does)),
        2 => (0_usize..6).prop_map(Op::Drop),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    New,
    Waiting,
    Offered,
    Making,
}

struct Waiter<'a> {
    future: Pin<Box<dyn Future<Output = Result<&'a usize, ()>> + 'a>>,
    /// A task of its own.
    waker: Waker,
    id: usize,
    place: Place,
}

#[derive(Default)]
struct Model {
    /// In the order of arrival.
    queue: Vec<usize>,
    is_taken: bool,
    value: Option<usize>,
}

impl Model {
    fn pass_on(&mut self, waiters: &mut [Waiter<'_>]) {
        self.is_taken = !self.queue.is_empty();
        if self.is_taken {
            let next = self.queue.remove(0);
            let next = waiters.iter_mut().find(|waiter| waiter.id == next);
            next.expect("it is in the queue").place = Place::Offered;
        }
    }

    /// What the poll of a waiter comes to.
    fn poll(
        &mut self,
        at: usize,
        does: Does,
        waiters: &mut [Waiter<'_>],
    ) -> Poll<Result<usize, ()>> {
        if let Some(value) = self.value {
            return Poll::Ready(Ok(value));
        }
        let waiter = &mut waiters[at];
        match waiter.place {
            Place::New if self.is_taken => {
                self.queue.push(waiter.id);
                waiter.place = Place::Waiting;
                return Poll::Pending;
            }
            Place::Waiting => return Poll::Pending,
            Place::New | Place::Offered | Place::Making => {}
        }
        self.is_taken = true;
        waiter.place = Place::Making;
        match does {
            Does::Wait => Poll::Pending,
            Does::Make => {
                self.value = Some(waiter.id);
                Poll::Ready(Ok(waiter.id))
            }
            Does::Fail => {
                self.pass_on(waiters);
                Poll::Ready(Err(()))
            }
        }
    }
}

fn initialiser(id: usize, does: &Cell<Does>) -> impl Future<Output = Result<usize, ()>> {
    poll_fn(move |_| match does.get() {
        Does::Wait => Poll::Pending,
        Does::Make => Poll::Ready(Ok(id)),
        Does::Fail => Poll::Ready(Err(())),
    })
}

proptest! {
    // WITNESS: once-cell.right, set-once.init
    #[test]
    fn any_schedule_is_that_of_the_model(ops in prop::collection::vec(op(), 1..80)) {
        let cell = OnceCell::new();
        let does = &Cell::new(Does::Wait);
        let mut model = Model::default();
        let mut waiters: Vec<Waiter<'_>> = Vec::new();
        for (id, op) in ops.into_iter().enumerate() {
            match op {
                Op::Come => waiters.push(Waiter {
                    future: Box::pin(cell.get_or_try_init(move || initialiser(id, does))),
                    waker: counted().1,
                    id,
                    place: Place::New,
                }),
                Op::Poll(at, what) if !waiters.is_empty() => {
                    let at = at % waiters.len();
                    does.set(what);
                    let expected = model.poll(at, what, &mut waiters);
                    let waiter = &mut waiters[at];
                    let found = poll(waiter.future.as_mut(), &waiter.waker);
                    prop_assert_eq!(found.map_ok(|value| *value), expected);
                    if expected.is_ready() {
                        drop(waiters.swap_remove(at));
                    }
                }
                Op::Drop(at) if !waiters.is_empty() => {
                    let gone = waiters.swap_remove(at % waiters.len());
                    model.queue.retain(|id| *id != gone.id);
                    let had_right = matches!(gone.place, Place::Offered | Place::Making);
                    if model.value.is_none() && had_right {
                        model.pass_on(&mut waiters);
                    }
                    drop(gone);
                }
                _ => {}
            }
            prop_assert_eq!(cell.get().copied(), model.value);
            if model.value.is_none() && model.is_taken {
                prop_assert!(cell.set(0).is_err_and(|error| error.is_transient()));
            }
        }
    }
}

//! Random operations on the wait list against a model in plain vectors.

use super::kinds::{Acquire, Notified, Permits, Stored, notify, release};
use crate::poll::{Polling, TaskStamp};
use crate::wait::WaitSlot;
use crate::wait_list::{From, WaitList, Why};
use proptest::prelude::*;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// A waker that counts, by its own reference count nothing, by its calls everything.
#[derive(Default)]
pub(super) struct Counter(std::sync::atomic::AtomicUsize);

impl Counter {
    pub(super) fn calls(&self) -> usize {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// A new waiter of one of four tasks.
    Come(u64),
    Poll(prop::sample::Index),
    Drop(prop::sample::Index),
    WakeOne(bool),
    WakeAll,
}

fn op() -> impl Strategy<Value = Op> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (0u64..4).prop_map(Op::Come),
        4 => index().prop_map(Op::Poll),
        2 => index().prop_map(Op::Drop),
        4 => any::<bool>().prop_map(Op::WakeOne),
        1 => Just(Op::WakeAll),
    ]
}

fn end(newest: bool) -> From {
    if newest { From::Newest } else { From::Oldest }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Waiting,
    Offered(From),
    Lapsed,
    Released,
}

/// What the list should be: waiters in the order of arrival, each with its place.
#[derive(Default)]
struct Model {
    waiters: Vec<(u64, u64, Place)>,
    /// Waiters in the order in which they were offered something.
    offers: Vec<u64>,
    stored: bool,
    wakes: usize,
}

impl Model {
    fn at(&mut self, id: u64) -> &mut (u64, u64, Place) {
        self.waiters
            .iter_mut()
            .find(|waiter| waiter.0 == id)
            .unwrap()
    }

    fn notify(&mut self, from: From) {
        let mut waiting = self
            .waiters
            .iter_mut()
            .filter(|waiter| waiter.2 == Place::Waiting);
        let next = match from {
            From::Oldest => waiting.next(),
            From::Newest => waiting.next_back(),
        };
        match next {
            Some(waiter) => {
                waiter.2 = Place::Offered(from);
                self.offers.push(waiter.0);
                self.wakes += 1;
            }
            None => self.stored = true,
        }
    }

    fn remove(&mut self, id: u64) {
        self.waiters.retain(|waiter| waiter.0 != id);
        self.offers.retain(|offer| *offer != id);
    }

    /// Another waiter of the same task that was offered something loses it to `id`.
    fn take_over(&mut self, id: u64, task: u64) -> Option<From> {
        let mut offers = self.offers.iter();
        let loser = *offers.find(|other| {
            self.waiters
                .iter()
                .any(|w| w.0 == **other && w.1 == task && w.0 != id)
        })?;
        let Place::Offered(from) = std::mem::replace(&mut self.at(loser).2, Place::Lapsed) else {
            unreachable!();
        };
        self.offers.retain(|offer| *offer != loser);
        Some(from)
    }

    /// What is offered to others of that task: it takes one of them over, and which is not said.
    fn rivals(&self, id: u64, task: u64) -> Vec<(u64, From)> {
        let others = self.waiters.iter().filter(|w| w.0 != id && w.1 == task);
        let offered = others.filter_map(|w| match w.2 {
            Place::Offered(from) => Some((w.0, from)),
            _ => None,
        });
        offered.collect()
    }

    /// What polling a waiter should give.
    fn poll(&mut self, id: u64) -> Poll<Why> {
        let (_, task, place) = *self.at(id);
        let is_first = self
            .waiters
            .iter()
            .find(|w| w.2 == Place::Waiting)
            .map(|w| w.0)
            == Some(id);
        let why = match place {
            Place::Offered(from) => Some(Why::Offered(from)),
            Place::Released => Some(Why::Released),
            Place::Lapsed if std::mem::take(&mut self.stored) => Some(Why::Again),
            Place::Waiting if is_first && std::mem::take(&mut self.stored) => Some(Why::Again),
            Place::Lapsed | Place::Waiting => self.take_over(id, task).map(Why::Offered),
        };
        match why {
            Some(why) => {
                self.remove(id);
                Poll::Ready(why)
            }
            None => {
                self.at(id).2 = Place::Waiting;
                Poll::Pending
            }
        }
    }

    fn come(&mut self, id: u64, task: u64) -> Poll<Why> {
        if std::mem::take(&mut self.stored) {
            return Poll::Ready(Why::First);
        }
        if let Some(from) = self.take_over(id, task) {
            return Poll::Ready(Why::Offered(from));
        }
        self.waiters.push((id, task, Place::Waiting));
        Poll::Pending
    }

    fn drop(&mut self, id: u64) {
        let place = self.at(id).2;
        self.remove(id);
        if let Place::Offered(from) = place {
            self.notify(from);
        }
    }

    fn wake_all(&mut self) {
        for waiter in &mut self.waiters {
            match waiter.2 {
                Place::Waiting => self.wakes += 1,
                Place::Lapsed => {}
                _ => continue,
            }
            waiter.2 = Place::Released;
        }
    }
}

type Live = (u64, u64, Pin<Box<Notified<Arc<WaitList<Stored>>>>>);

struct World {
    list: Arc<WaitList<Stored>>,
    live: Vec<Live>,
    model: Model,
    wakers: Vec<(Arc<Counter>, Waker)>,
    next: u64,
}

impl World {
    fn new() -> Self {
        let wakers = (0..4).map(|_| {
            let counter = Arc::new(Counter::default());
            (Arc::clone(&counter), Waker::from(counter))
        });
        Self {
            list: Arc::default(),
            live: Vec::new(),
            model: Model::default(),
            wakers: wakers.collect(),
            next: 0,
        }
    }

    fn poll(&mut self, at: usize) -> Poll<Why> {
        let (_, task, future) = &mut self.live[at];
        let waker = &self.wakers[*task as usize].1;
        let poll = future.as_mut().poll(&mut Context::from_waker(waker));
        if poll.is_ready() {
            self.live.remove(at);
        }
        poll
    }

    fn drop_waiter(&mut self, id: u64) {
        self.model.drop(id);
        self.live.retain(|live| live.0 != id);
    }

    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let rivals = match op {
            Op::Come(task) => self.model.rivals(self.next + 1, *task),
            Op::Poll(at) if !self.live.is_empty() => {
                let (id, task, _) = &self.live[at.index(self.live.len())];
                self.model.rivals(*id, *task)
            }
            _ => Vec::new(),
        };
        if rivals.iter().any(|rival| rival.1 != rivals[0].1) {
            // What comes of that depends on whose offer is taken over.
            return Ok(());
        }
        match op {
            Op::Come(task) => {
                self.next += 1;
                let future = Box::pin(Notified::new(Arc::clone(&self.list)));
                self.live.push((self.next, *task, future));
                let expected = self.model.come(self.next, *task);
                prop_assert_eq!(self.poll(self.live.len() - 1), expected);
            }
            Op::Poll(at) if !self.live.is_empty() => {
                let at = at.index(self.live.len());
                let expected = self.model.poll(self.live[at].0);
                prop_assert_eq!(self.poll(at), expected);
            }
            Op::Drop(at) if !self.live.is_empty() => {
                let at = at.index(self.live.len());
                self.model.drop(self.live[at].0);
                drop(self.live.remove(at));
            }
            Op::WakeOne(newest) => {
                self.model.notify(end(*newest));
                notify(&self.list, end(*newest));
            }
            Op::WakeAll => {
                self.model.wake_all();
                self.list.wake_all();
            }
            Op::Poll(_) | Op::Drop(_) => {}
        }
        if rivals.len() > 1 {
            // One of them may have lost its offer. When all have gone it does not matter which.
            for (id, _) in rivals {
                self.drop_waiter(id);
            }
        }
        let wakes: usize = self.wakers.iter().map(|(counter, _)| counter.calls()).sum();
        prop_assert_eq!(wakes, self.model.wakes, "wakes");
        let diagnosis = self.list.diagnose();
        let count = |place| self.model.waiters.iter().filter(|w| w.2 == place).count();
        prop_assert_eq!(diagnosis.waiting, count(Place::Waiting));
        prop_assert_eq!(diagnosis.lapsed, count(Place::Lapsed));
        prop_assert_eq!(diagnosis.offers.len(), self.model.offers.len());
        Ok(())
    }
}

proptest! {
    // WITNESS: wait-list.order, wait-list.hand-on, wait-list.newcomers, wait-list.woken
    #[test]
    fn any_operations_agree_with_plain_vectors(
        ops in proptest::collection::vec(op(), 0..160),
    ) {
        let mut world = World::new();
        for op in &ops {
            world.apply(op)?;
        }
        world.live.clear();
        let held = world.wakers.iter().map(|(counter, _)| Arc::strong_count(counter)).max();
        prop_assert_eq!(held, Some(2), "wakers are given back");
    }
}

#[derive(Clone, Debug)]
enum PermitOp {
    Acquire { task: u64, permits: usize },
    Poll(prop::sample::Index),
    Drop(prop::sample::Index),
    Release,
    EmptyPoll(u64),
}

fn permit_op() -> impl Strategy<Value = PermitOp> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (1u64..4, 1usize..5)
            .prop_map(|(task, permits)| PermitOp::Acquire { task, permits }),
        3 => index().prop_map(PermitOp::Poll),
        2 => index().prop_map(PermitOp::Drop),
        3 => Just(PermitOp::Release),
        2 => (1u64..4).prop_map(PermitOp::EmptyPoll),
    ]
}

type Acquiring = Pin<Box<Acquire<Arc<WaitList<Permits>>>>>;

struct Semaphore {
    list: Arc<WaitList<Permits>>,
    total: usize,
    held: Vec<usize>,
    waiting: Vec<(u64, usize, Acquiring)>,
}

impl Semaphore {
    fn poll(&mut self, at: usize) {
        let (task, permits, future) = &mut self.waiting[at];
        let stamp = TaskStamp {
            task: *task,
            polls: 0,
        };
        let slot = WaitSlot::of(stamp);
        let polling = Polling::begin(Some(&slot));
        let poll = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        if poll.is_ready() {
            self.held.push(*permits);
            self.waiting.remove(at);
        }
        drop(polling);
    }

    fn apply(&mut self, op: &PermitOp) {
        match op {
            PermitOp::Acquire { task, permits } => {
                let future = Box::pin(Acquire::new(Arc::clone(&self.list), *permits));
                self.waiting.push((*task, *permits, future));
                self.poll(self.waiting.len() - 1);
            }
            PermitOp::Poll(at) if !self.waiting.is_empty() => {
                self.poll(at.index(self.waiting.len()));
            }
            PermitOp::Drop(at) if !self.waiting.is_empty() => {
                drop(self.waiting.remove(at.index(self.waiting.len())));
            }
            PermitOp::Release => {
                if let Some(permits) = self.held.pop() {
                    release(&self.list, permits);
                }
            }
            PermitOp::EmptyPoll(task) => {
                let stamp = TaskStamp {
                    task: *task,
                    polls: 0,
                };
                drop(Polling::begin(Some(&WaitSlot::of(stamp))));
            }
            PermitOp::Poll(_) | PermitOp::Drop(_) => {}
        }
    }
}

proptest! {
    // WITNESS: wait-list.hand-on, wait-list.revoke
    #[test]
    fn permits_are_conserved_and_never_lie_idle(
        total in 1usize..6,
        is_revocable in any::<bool>(),
        ops in proptest::collection::vec(permit_op(), 0..120),
    ) {
        let list = if is_revocable { Permits::revocable(total) } else { Permits::list(total) };
        let mut world = Semaphore {
            list: Arc::new(list),
            total,
            held: Vec::new(),
            waiting: Vec::new(),
        };
        for op in &ops {
            world.apply(op);
            let taken = world.held.iter().sum::<usize>() + world.list.kind().available();
            prop_assert!(taken <= world.total, "more permits than there are");
        }
        world.waiting.clear();
        let held: usize = world.held.iter().sum();
        prop_assert_eq!(held + world.list.kind().available(), world.total);
        prop_assert!(world.list.diagnose().offers.is_empty());
    }
}

//! Random operations on a semaphore, against a model that looks at everybody each time.

use crate::semaphore::tests::support::{Tasks, counted, poll};
use crate::semaphore::{AcquireOwned, OwnedPermit, Semaphore};
use mainspring_core::task::yield_now;
use proptest::prelude::*;
use proptest::sample::Index;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

#[derive(Clone, Debug)]
enum Op {
    Acquire(usize),
    Poll(Index),
    Drop(Index),
    Release(Index),
    Try(usize),
    Add(usize),
    Forget(usize),
    ForgetHeld(Index),
    Resize(usize),
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    let index = any::<Index>;
    prop_oneof![
        60 => (1usize..6).prop_map(Op::Acquire),
        30 => index().prop_map(Op::Poll),
        20 => index().prop_map(Op::Drop),
        40 => index().prop_map(Op::Release),
        20 => (1usize..6).prop_map(Op::Try),
        6 => (0usize..3).prop_map(Op::Add),
        4 => (0usize..3).prop_map(Op::Forget),
        4 => index().prop_map(Op::ForgetHeld),
        10 => (0usize..8).prop_map(Op::Resize),
        1 => Just(Op::Close),
    ]
}

/// What a poll or a `try_acquire` should come to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Got,
    Waits,
    Closed,
    TooLarge,
}

#[derive(Debug, Default)]
struct Model {
    capacity: usize,
    largest: usize,
    debt: usize,
    free: usize,
    is_strict: bool,
    is_closed: bool,
    /// Name, wish, and what went past, in the order of arrival.
    queue: Vec<(usize, usize, usize)>,
    offered: Vec<usize>,
}

impl Model {
    fn bound(&self) -> usize {
        if self.is_strict { 0 } else { self.capacity }
    }

    fn settle(&mut self) {
        let paid = self.free.min(self.debt);
        self.free -= paid;
        self.debt -= paid;
        while let Some(&(_, first, passed)) = self.queue.first() {
            let (free, bound) = (self.free, self.bound());
            let fits =
                |at: usize, wanted: usize| wanted <= free && (at == 0 || passed + wanted <= bound);
            let mut places = self.queue.iter().enumerate();
            let Some(at) = places.position(|(at, waits)| fits(at, waits.1)) else {
                return;
            };
            let (name, wanted, _) = self.queue.remove(at);
            self.free -= wanted;
            self.offered.push(name);
            if at > 0 {
                self.queue[0].2 += wanted;
                assert!(first > self.free);
            }
        }
    }

    fn ask(&mut self, wanted: usize) -> Outcome {
        if self.is_closed {
            return Outcome::Closed;
        }
        if wanted > self.largest {
            return Outcome::TooLarge;
        }
        let bound = self.bound();
        let may_pass = match self.queue.first_mut() {
            None => wanted <= self.free,
            Some(first) if wanted <= self.free && first.2 + wanted <= bound => {
                first.2 += wanted;
                true
            }
            Some(_) => false,
        };
        if !may_pass {
            return Outcome::Waits;
        }
        self.free -= wanted;
        Outcome::Got
    }

    fn poll(&mut self, name: usize) -> Outcome {
        if let Some(at) = self.offered.iter().position(|other| *other == name) {
            self.offered.remove(at);
            return Outcome::Got;
        }
        if self.queue.iter().any(|waits| waits.0 == name) {
            return Outcome::Waits;
        }
        Outcome::Closed
    }

    fn leave(&mut self, name: usize, wanted: usize) {
        if let Some(at) = self.offered.iter().position(|other| *other == name) {
            self.offered.remove(at);
            self.free += wanted;
        }
        self.queue.retain(|waits| waits.0 != name);
        self.settle();
    }

    fn forget(&mut self, permits: usize) {
        let paid = permits.min(self.debt);
        self.debt -= paid;
        self.capacity -= permits - paid;
    }

    fn resize(&mut self, capacity: usize) {
        if capacity < self.capacity {
            self.debt += self.capacity - capacity;
        } else {
            self.free += capacity - self.capacity;
        }
        self.capacity = capacity;
        self.largest = self.largest.max(capacity);
        self.settle();
    }
}

struct Waits {
    name: usize,
    wanted: usize,
    waker: Waker,
    future: Pin<Box<AcquireOwned>>,
}

struct World {
    semaphore: Arc<Semaphore>,
    waiting: Vec<Waits>,
    held: Vec<OwnedPermit>,
    model: Model,
    /// All wakers ever, so that none has the address of another.
    wakers: Vec<Waker>,
}

impl World {
    fn new(permits: usize, is_strict: bool, is_revocable: bool) -> Self {
        let semaphore = match is_strict {
            true => Semaphore::strict(permits),
            false => Semaphore::new(permits),
        };
        let semaphore = match is_revocable {
            true => semaphore.revocable(),
            false => semaphore,
        };
        Self {
            semaphore: Arc::new(semaphore),
            waiting: Vec::new(),
            held: Vec::new(),
            model: Model {
                capacity: permits,
                largest: if permits == 0 { usize::MAX } else { permits },
                free: permits,
                is_strict,
                ..Model::default()
            },
            wakers: Vec::new(),
        }
    }

    fn poll(&mut self, at: usize) -> Outcome {
        let waits = &mut self.waiting[at];
        let outcome = match poll(waits.future.as_mut(), &waits.waker) {
            Poll::Pending => return Outcome::Waits,
            Poll::Ready(Ok(permit)) => {
                assert_eq!(permit.permits(), waits.wanted);
                self.held.push(permit);
                Outcome::Got
            }
            Poll::Ready(Err(error)) if error.is_closed() => Outcome::Closed,
            Poll::Ready(Err(_)) => Outcome::TooLarge,
        };
        self.waiting.remove(at);
        outcome
    }

    fn acquire(&mut self, name: usize, wanted: usize) -> (Outcome, Outcome) {
        let (_, waker) = counted();
        self.wakers.push(waker.clone());
        self.waiting.push(Waits {
            name,
            wanted,
            waker,
            future: Box::pin(self.semaphore.acquire_owned(wanted)),
        });
        let expected = self.model.ask(wanted);
        if expected == Outcome::Waits {
            self.model.queue.push((name, wanted, 0));
        }
        (self.poll(self.waiting.len() - 1), expected)
    }

    fn try_acquire(&mut self, wanted: usize) -> (Outcome, Outcome) {
        let outcome = match self.semaphore.try_acquire_owned(wanted) {
            Ok(permit) => {
                self.held.push(permit);
                Outcome::Got
            }
            Err(error) if error.is_closed() => Outcome::Closed,
            Err(error) if error.is_too_large() => Outcome::TooLarge,
            Err(_) => Outcome::Waits,
        };
        (outcome, self.model.ask(wanted))
    }

    fn apply(&mut self, name: usize, op: &Op) -> Result<(), TestCaseError> {
        let mut outcomes = (Outcome::Got, Outcome::Got);
        match op {
            Op::Acquire(wanted) => outcomes = self.acquire(name, *wanted),
            Op::Try(wanted) => outcomes = self.try_acquire(*wanted),
            Op::Poll(at) if !self.waiting.is_empty() => {
                let at = at.index(self.waiting.len());
                let expected = self.model.poll(self.waiting[at].name);
                outcomes = (self.poll(at), expected);
            }
            Op::Drop(at) if !self.waiting.is_empty() => {
                let waits = self.waiting.remove(at.index(self.waiting.len()));
                self.model.leave(waits.name, waits.wanted);
            }
            Op::Release(at) if !self.held.is_empty() => {
                let permit = self.held.remove(at.index(self.held.len()));
                self.model.free += permit.permits();
                drop(permit);
                self.model.settle();
            }
            Op::ForgetHeld(at) if !self.held.is_empty() => {
                let permit = self.held.remove(at.index(self.held.len()));
                self.model.forget(permit.permits());
                permit.forget();
            }
            Op::Add(permits) => {
                self.semaphore.add(*permits).unwrap();
                self.model.resize(self.model.capacity + permits);
            }
            Op::Forget(permits) => {
                let gone = self.model.free.min(*permits);
                prop_assert_eq!(self.semaphore.forget(*permits), gone);
                self.model.free -= gone;
                self.model.forget(gone);
            }
            Op::Resize(capacity) => {
                self.semaphore.resize(*capacity).unwrap();
                self.model.resize(*capacity);
            }
            Op::Close => {
                self.semaphore.close();
                self.model.is_closed = true;
                self.model.queue.clear();
            }
            Op::Poll(_) | Op::Drop(_) | Op::Release(_) | Op::ForgetHeld(_) => {}
        }
        prop_assert_eq!(outcomes.0, outcomes.1);
        self.compare()
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let (semaphore, model) = (&self.semaphore, &self.model);
        prop_assert_eq!(semaphore.available(), model.free);
        prop_assert_eq!(semaphore.capacity(), model.capacity);
        prop_assert_eq!(semaphore.is_closed(), model.is_closed);
        let diagnosis = semaphore.diagnose();
        prop_assert_eq!(diagnosis.waiting, model.queue.len());
        prop_assert_eq!(diagnosis.offers.len(), model.offered.len());
        let held: usize = self.held.iter().map(OwnedPermit::permits).sum();
        let is_offered = |waits: &&Waits| model.offered.contains(&waits.name);
        let waiting = self.waiting.iter().filter(is_offered);
        let offered: usize = waiting.map(|waits| waits.wanted).sum();
        prop_assert_eq!(model.free + held + offered, model.capacity + model.debt);
        Ok(())
    }
}

/// A task, and what it asked for.
type Asked = (usize, Pin<Box<AcquireOwned>>);

proptest! {
    // WITNESS: semaphore.conserved, semaphore.sticky, ledger.overtaking, ledger.total
    #[test]
    fn any_operations_agree_with_the_naive_model(
        permits in 0usize..7,
        is_strict in any::<bool>(),
        is_revocable in any::<bool>(),
        ops in proptest::collection::vec(op(), 0..120),
    ) {
        let mut world = World::new(permits, is_strict, is_revocable);
        for (name, op) in ops.iter().enumerate() {
            world.apply(name, op)?;
        }
    }

    // Several futures of one task each, so that offers are taken over.
    // WITNESS: semaphore.conserved
    #[test]
    fn permits_are_conserved_when_offers_are_taken_over(
        permits in 1usize..6,
        ops in proptest::collection::vec((op(), 0usize..3), 0..120),
    ) {
        let tasks: [Waker; 3] = std::array::from_fn(|_| counted().1);
        let semaphore = Arc::new(Semaphore::new(permits));
        let mut waiting: Vec<Asked> = Vec::new();
        let mut held = Vec::new();
        for (op, task) in &ops {
            let mut poll_at = |waiting: &mut Vec<Asked>, at: usize| {
                let (task, future) = &mut waiting[at];
                if let Poll::Ready(result) = poll(future.as_mut(), &tasks[*task]) {
                    held.extend(result);
                    drop(waiting.remove(at));
                }
            };
            match op {
                Op::Acquire(wanted) => {
                    waiting.push((*task, Box::pin(semaphore.acquire_owned(*wanted))));
                    let last = waiting.len() - 1;
                    poll_at(&mut waiting, last);
                }
                Op::Poll(at) if !waiting.is_empty() => {
                    let at = at.index(waiting.len());
                    poll_at(&mut waiting, at);
                }
                Op::Drop(at) if !waiting.is_empty() => {
                    drop(waiting.remove(at.index(waiting.len())));
                }
                Op::Release(at) if !held.is_empty() => {
                    drop(held.remove(at.index(held.len())));
                }
                _ => {}
            }
            let out: usize = held.iter().map(OwnedPermit::permits).sum();
            prop_assert!(out + semaphore.available() <= permits, "more than there are");
        }
        // In each round of polls somebody is served.
        drop(held);
        for _ in 0..(waiting.len() + 1).pow(2) {
            let Some((task, mut future)) = waiting.pop() else { break };
            match poll(future.as_mut(), &tasks[task]) {
                Poll::Ready(result) => drop(result),
                Poll::Pending => waiting.insert(0, (task, future)),
            }
        }
        prop_assert!(waiting.is_empty(), "permits are free and somebody waits");
        prop_assert_eq!(semaphore.available(), permits);
    }
}

/// One request of a task: how many, how often the task is polled without polling it, and whether it
/// is dropped then.
type Step = (usize, usize, bool);

async fn works(semaphore: Arc<Semaphore>, steps: Vec<Step>) {
    for (wanted, pauses, is_dropped) in steps {
        let mut asks = Box::pin(semaphore.acquire(wanted));
        let early = poll_fn(|cx| Poll::Ready(asks.as_mut().poll(cx))).await;
        for _ in 0..pauses {
            yield_now().await;
        }
        match early {
            Poll::Ready(permit) => drop(permit.unwrap()),
            Poll::Pending if is_dropped => drop(asks),
            Poll::Pending => {
                let permit = asks.await.unwrap();
                yield_now().await;
                drop(permit);
            }
        }
    }
}

proptest! {
    // WITNESS: semaphore.conserved, semaphore.slow
    #[test]
    fn tasks_that_leave_offers_lying_all_end(
        permits in 1usize..5,
        is_strict in any::<bool>(),
        is_revocable in any::<bool>(),
        tasks in proptest::collection::vec(
            proptest::collection::vec((1usize..5, 0usize..4, any::<bool>()), 1..6),
            1..6,
        ),
    ) {
        let world = World::new(permits, is_strict, is_revocable);
        let executor = Tasks::new();
        let joins: Vec<_> = tasks
            .into_iter()
            .map(|mut steps| {
                steps.iter_mut().for_each(|step| step.0 = step.0.min(permits));
                executor.spawn(works(Arc::clone(&world.semaphore), steps))
            })
            .collect();
        executor.run_until_idle();
        for join in joins {
            prop_assert!(join.is_finished(), "{}", world.semaphore.diagnose());
        }
        prop_assert_eq!(world.semaphore.available(), permits);
        let diagnosis = world.semaphore.diagnose();
        prop_assert!(diagnosis.offers.is_empty() && diagnosis.waiting == 0);
    }
}

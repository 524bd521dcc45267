//! Random operations on a read-write lock, against a naive model.

use crate::rwlock::turns::Want;
use crate::rwlock::{
    Read, RwLock, RwLockReadGuard, RwLockUpgradableGuard, RwLockWriteGuard, UpgradableRead,
    Upgrade, Write,
};
use crate::semaphore::tests::support::{Tasks, counted, poll};
use mainspring_core::task::yield_now;
use proptest::prelude::*;
use proptest::sample::Index;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

#[derive(Clone, Debug)]
enum Op {
    Ask(Want),
    Try(Want),
    Recurse,
    Poll(Index),
    Drop(Index),
    Leave(Index),
    Downgrade(Index),
    Upgrade(Index),
}

fn op() -> impl Strategy<Value = Op> {
    let index = any::<Index>;
    let want = || {
        prop_oneof![
            4 => Just(Want::Read),
            2 => Just(Want::Write),
            2 => Just(Want::Upgradable),
        ]
    };
    prop_oneof![
        6 => want().prop_map(Op::Ask),
        2 => want().prop_map(Op::Try),
        1 => Just(Op::Recurse),
        4 => index().prop_map(Op::Poll),
        2 => index().prop_map(Op::Drop),
        6 => index().prop_map(Op::Leave),
        2 => index().prop_map(Op::Downgrade),
        4 => index().prop_map(Op::Upgrade),
    ]
}

enum Held<'a> {
    Read(RwLockReadGuard<'a, ()>),
    Write(RwLockWriteGuard<'a, ()>),
    Upgradable(RwLockUpgradableGuard<'a, ()>),
}

enum Asks<'a> {
    Read(Pin<Box<Read<'a, ()>>>),
    Write(Pin<Box<Write<'a, ()>>>),
    Upgradable(Pin<Box<UpgradableRead<'a, ()>>>),
    Upgrade(Pin<Box<Upgrade<'a, ()>>>),
}

impl<'a> Asks<'a> {
    fn poll(&mut self, waker: &Waker) -> Poll<Held<'a>> {
        match self {
            Self::Read(future) => poll(future.as_mut(), waker).map(Held::Read),
            Self::Write(future) => poll(future.as_mut(), waker).map(Held::Write),
            Self::Upgradable(future) => poll(future.as_mut(), waker).map(Held::Upgradable),
            Self::Upgrade(future) => poll(future.as_mut(), waker).map(Held::Write),
        }
    }
}

#[derive(Debug, Default)]
struct Model {
    readers: usize,
    is_written: bool,
    has_upgradable: bool,
    queue: Vec<(usize, Want)>,
    offered: Vec<(usize, Want)>,
}

impl Model {
    fn fits(&self, want: Want) -> bool {
        match want {
            Want::Read => !self.is_written,
            Want::Write => !self.is_written && !self.has_upgradable && self.readers == 0,
            Want::Upgradable => !self.is_written && !self.has_upgradable,
            Want::Upgrade => self.readers == 0,
        }
    }

    fn count(&mut self, want: Want, enters: bool) {
        match want {
            Want::Read if enters => self.readers += 1,
            Want::Read => self.readers -= 1,
            Want::Write => self.is_written = enters,
            Want::Upgradable => self.has_upgradable = enters,
            Want::Upgrade => {
                self.is_written = enters;
                self.has_upgradable = !enters;
            }
        }
    }

    fn settle(&mut self) {
        loop {
            let upgrade = self.queue.iter().position(|waits| waits.1 == Want::Upgrade);
            let next = upgrade.unwrap_or(0);
            match self.queue.get(next).copied() {
                Some(waits) if self.fits(waits.1) => {
                    self.queue.remove(next);
                    self.count(waits.1, true);
                    self.offered.push(waits);
                }
                _ => return,
            }
        }
    }

    fn may_enter(&self, want: Want) -> bool {
        (want == Want::Upgrade || self.queue.is_empty()) && self.fits(want)
    }

    fn ask(&mut self, name: usize, want: Want) -> bool {
        let enters = self.may_enter(want);
        if enters {
            self.count(want, true);
        } else {
            self.queue.push((name, want));
        }
        self.settle();
        enters
    }

    fn poll(&mut self, name: usize) -> bool {
        let before = self.offered.len();
        self.offered.retain(|waits| waits.0 != name);
        self.offered.len() < before
    }

    fn give_up(&mut self, name: usize, want: Want) {
        if self.poll(name) {
            self.count(want, false);
        }
        self.queue.retain(|waits| waits.0 != name);
        self.settle();
        if want == Want::Upgrade {
            self.count(Want::Upgradable, false);
            self.settle();
        }
    }
}

struct World<'a> {
    lock: &'a RwLock<()>,
    waiting: Vec<(usize, Want, Waker, Asks<'a>)>,
    held: Vec<Held<'a>>,
    model: Model,
    wakers: Vec<Waker>,
}

impl<'a> World<'a> {
    fn poll(&mut self, at: usize) -> bool {
        let (_, _, waker, asks) = &mut self.waiting[at];
        match asks.poll(waker) {
            Poll::Pending => false,
            Poll::Ready(held) => {
                self.held.push(held);
                drop(self.waiting.remove(at));
                true
            }
        }
    }

    fn ask(&mut self, name: usize, want: Want, asks: Asks<'a>) -> (bool, bool) {
        let (_, waker) = counted();
        self.wakers.push(waker.clone());
        self.waiting.push((name, want, waker, asks));
        let expected = self.model.ask(name, want);
        (self.poll(self.waiting.len() - 1), expected)
    }

    fn attempt(&mut self, want: Want) -> (bool, bool) {
        let expected = self.model.may_enter(want);
        if expected {
            self.model.count(want, true);
        }
        let held = match want {
            Want::Read => self.lock.try_read().map(Held::Read),
            Want::Write => self.lock.try_write().map(Held::Write),
            _ => self.lock.try_upgradable_read().map(Held::Upgradable),
        };
        let entered = held.is_some();
        self.held.extend(held);
        (entered, expected)
    }

    fn change(&mut self, name: usize, op: &Op, held: Held<'a>) -> (bool, bool) {
        match (op, held) {
            (Op::Downgrade(_), Held::Write(guard)) => {
                self.held
                    .push(Held::Read(RwLockWriteGuard::downgrade(guard)));
                self.model.count(Want::Write, false);
                self.model.count(Want::Read, true);
            }
            (Op::Downgrade(_), Held::Upgradable(guard)) => {
                self.held
                    .push(Held::Read(RwLockUpgradableGuard::downgrade(guard)));
                self.model.count(Want::Upgradable, false);
                self.model.count(Want::Read, true);
            }
            (Op::Upgrade(_), Held::Upgradable(guard)) => {
                let future = Box::pin(RwLockUpgradableGuard::upgrade(guard));
                return self.ask(name, Want::Upgrade, Asks::Upgrade(future));
            }
            (Op::Leave(_), held) => {
                self.model.count(
                    match &held {
                        Held::Read(guard) => {
                            let () = **guard;
                            Want::Read
                        }
                        Held::Write(_) => Want::Write,
                        Held::Upgradable(_) => Want::Upgradable,
                    },
                    false,
                );
                drop(held);
            }
            (_, held) => self.held.push(held),
        }
        self.model.settle();
        (true, true)
    }

    fn apply(&mut self, name: usize, op: &Op) -> (bool, bool) {
        match op {
            Op::Ask(want) => {
                let asks = match want {
                    Want::Read => Asks::Read(Box::pin(self.lock.read())),
                    Want::Write => Asks::Write(Box::pin(self.lock.write())),
                    _ => Asks::Upgradable(Box::pin(self.lock.upgradable_read())),
                };
                self.ask(name, *want, asks)
            }
            Op::Try(want) => self.attempt(*want),
            Op::Recurse => {
                let expected = self.model.fits(Want::Read);
                let held = self.lock.try_read_recursive().map(Held::Read);
                if expected {
                    self.model.count(Want::Read, true);
                }
                let entered = held.is_some();
                self.held.extend(held);
                (entered, expected)
            }
            Op::Poll(at) if !self.waiting.is_empty() => {
                let at = at.index(self.waiting.len());
                let expected = self.model.poll(self.waiting[at].0);
                (self.poll(at), expected)
            }
            Op::Drop(at) if !self.waiting.is_empty() => {
                let (name, want, _, asks) = self.waiting.remove(at.index(self.waiting.len()));
                self.model.give_up(name, want);
                drop(asks);
                (true, true)
            }
            Op::Leave(at) | Op::Downgrade(at) | Op::Upgrade(at) if !self.held.is_empty() => {
                let held = self.held.remove(at.index(self.held.len()));
                self.change(name, op, held)
            }
            _ => (true, true),
        }
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let model = &self.model;
        let readers = model.readers + usize::from(model.has_upgradable);
        let inside = self.lock.gate.list.kind().inside();
        prop_assert_eq!(inside, (readers, model.is_written));
        let diagnosis = self.lock.diagnose();
        prop_assert_eq!(diagnosis.waiting, model.queue.len());
        prop_assert_eq!(diagnosis.offers.len(), model.offered.len());
        prop_assert!(!model.is_written || readers == 0, "two at it at once");
        Ok(())
    }
}

proptest! {
    // WITNESS: rwlock.exclusive, rwlock.order
    #[test]
    fn any_operations_agree_with_the_naive_model(
        is_revocable in any::<bool>(),
        ops in proptest::collection::vec(op(), 0..120),
    ) {
        let lock = RwLock::new(());
        let lock = if is_revocable { lock.revocable() } else { lock };
        let mut world = World {
            lock: &lock,
            waiting: Vec::new(),
            held: Vec::new(),
            model: Model::default(),
            wakers: Vec::new(),
        };
        for (name, op) in ops.iter().enumerate() {
            let (outcome, expected) = world.apply(name, op);
            prop_assert_eq!(outcome, expected);
            world.compare()?;
        }
        world.waiting.clear();
        world.held.clear();
        prop_assert!(lock.try_write().is_some());
    }
}

/// One turn of a task: as what, how often the task is polled without polling for it, and whether it
/// is dropped then.
type Step = (Want, usize, bool);

async fn works(lock: Arc<RwLock<()>>, steps: Vec<Step>) {
    for (want, pauses, is_dropped) in steps {
        let mut asks = match want {
            Want::Read => Asks::Read(Box::pin(lock.read())),
            Want::Write => Asks::Write(Box::pin(lock.write())),
            Want::Upgradable => Asks::Upgradable(Box::pin(lock.upgradable_read())),
            Want::Upgrade => {
                let guard = lock.upgradable_read().await;
                Asks::Upgrade(Box::pin(RwLockUpgradableGuard::upgrade(guard)))
            }
        };
        let early = poll_fn(|cx| Poll::Ready(asks.poll(cx.waker()))).await;
        for _ in 0..pauses {
            yield_now().await;
        }
        match early {
            Poll::Ready(held) => drop(held),
            Poll::Pending if is_dropped => drop(asks),
            Poll::Pending => {
                let held = poll_fn(|cx| asks.poll(cx.waker())).await;
                yield_now().await;
                drop(held);
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let want = prop_oneof![
        Just(Want::Read),
        Just(Want::Write),
        Just(Want::Upgradable),
        Just(Want::Upgrade),
    ];
    (want, 0usize..4, any::<bool>())
}

proptest! {
    // WITNESS: rwlock.slow
    #[test]
    fn tasks_that_leave_turns_lying_all_end(
        is_revocable in any::<bool>(),
        tasks in proptest::collection::vec(proptest::collection::vec(step(), 1..6), 1..6),
    ) {
        let lock = RwLock::new(());
        let lock = Arc::new(if is_revocable { lock.revocable() } else { lock });
        let executor = Tasks::new();
        let joins: Vec<_> = tasks
            .into_iter()
            .map(|steps| executor.spawn(works(Arc::clone(&lock), steps)))
            .collect();
        executor.run_until_idle();
        for join in joins {
            prop_assert!(join.is_finished(), "{:?}: {}", lock, lock.diagnose());
        }
        prop_assert!(lock.try_write().is_some());
        let diagnosis = lock.diagnose();
        prop_assert!(diagnosis.offers.is_empty() && diagnosis.waiting == 0);
    }
}

//! What a read-write lock looks like from outside.

use crate::rwlock::turns::{MAX_READERS, Want};
use crate::rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, OwnedRwLockWriteGuard, RwLock, RwLockReadGuard,
    RwLockUpgradableGuard, RwLockWriteGuard,
};
use crate::semaphore::tests::support::{counted, poll, poll_alone};
use mainspring_core::{budget, poll as poll_record};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

// WITNESS: rwlock.exclusive
#[test]
fn many_read_or_one_writes() {
    let lock = RwLock::new(1);
    let readers = [lock.try_read().unwrap(), lock.read_blocking()];
    assert!(lock.try_write().is_none());
    let mut writer = pin!(lock.write());
    assert!(poll_alone(writer.as_mut()).is_pending());
    drop(readers);
    let Poll::Ready(mut guard) = poll_alone(writer.as_mut()) else {
        panic!("the last reader has left");
    };
    *guard = 2;
    assert!(lock.try_read().is_none() && lock.try_write().is_none());
    assert!(lock.try_read_recursive().is_none() && lock.try_upgradable_read().is_none());
    drop(guard);
    assert_eq!(*lock.try_read().unwrap(), 2);
}

// B134: reading twice with a writer in between never ends, and there is a way out.
// WITNESS: rwlock.order
#[test]
fn second_read_of_a_task_waits_for_the_writer_that_waits_for_the_first() {
    let lock = RwLock::new(1);
    let first = lock.try_read().unwrap();
    let mut writer = pin!(lock.write());
    assert!(poll_alone(writer.as_mut()).is_pending());
    let mut second = Box::pin(lock.read());
    assert!(poll_alone(second.as_mut()).is_pending());
    assert!(
        poll_alone(second.as_mut()).is_pending(),
        "it is polled, and nothing helps"
    );
    assert!(lock.try_read().is_none(), "nor does this pass the writer");
    let again = lock.try_read_recursive().unwrap();
    assert_eq!(*again + *first, 2);
    drop(second);
    drop(again);
    assert!(poll_alone(writer.as_mut()).is_pending());
    drop(first);
    assert!(poll_alone(writer.as_mut()).is_ready());
}

// B136
// WITNESS: rwlock.order
#[test]
fn overlapping_readers_let_a_writer_in_when_those_before_it_have_left() {
    let lock = RwLock::new(());
    let mut inside: VecDeque<_> = (0..8).map(|_| lock.try_read().unwrap()).collect();
    let mut writer = pin!(lock.write());
    assert!(poll_alone(writer.as_mut()).is_pending());
    let mut later: VecDeque<_> = VecDeque::new();
    for left in 0..8 {
        // The next reader comes before the last one leaves.
        let mut reader = Box::pin(lock.read());
        assert!(poll_alone(reader.as_mut()).is_pending());
        later.push_back(reader);
        drop(inside.pop_front());
        assert_eq!(poll_alone(writer.as_mut()).is_ready(), left == 7);
    }
    // The writer has been in; now all of them enter together.
    let entered: Vec<_> = later
        .iter_mut()
        .map(|reader| poll_alone(reader.as_mut()))
        .collect();
    assert!(entered.iter().all(Poll::is_ready));
}

// B136, the reverse
// WITNESS: rwlock.order
#[test]
fn writers_one_after_the_other_let_a_reader_in_when_it_is_its_turn() {
    let lock = RwLock::new(());
    let mut held = lock.try_write();
    let mut before: VecDeque<_> = (0..3).map(|_| Box::pin(lock.write())).collect();
    for writer in &mut before {
        assert!(poll_alone(writer.as_mut()).is_pending());
    }
    let mut reader = pin!(lock.read());
    assert!(poll_alone(reader.as_mut()).is_pending());
    let mut after: Vec<_> = (0..3).map(|_| Box::pin(lock.write())).collect();
    for writer in &mut after {
        assert!(poll_alone(writer.as_mut()).is_pending());
    }
    while let Some(mut writer) = before.pop_front() {
        drop(held.take());
        assert!(poll_alone(reader.as_mut()).is_pending());
        let Poll::Ready(guard) = poll_alone(writer.as_mut()) else {
            panic!("it was its turn");
        };
        held = Some(guard);
    }
    drop(held);
    assert!(poll_alone(reader.as_mut()).is_ready());
}

// B137
// WITNESS: rwlock.exclusive
#[test]
fn writer_that_becomes_a_reader_keeps_writers_out() {
    let lock = Arc::new(RwLock::new(0));
    let mut writer = lock.try_write().unwrap();
    *writer = 7;
    let (counter, waker) = counted();
    let mut reads = pin!(lock.read());
    assert!(poll(reads.as_mut(), &waker).is_pending());
    let mut writes = pin!(lock.write());
    assert!(poll_alone(writes.as_mut()).is_pending());
    let reader = RwLockWriteGuard::downgrade(writer);
    assert_eq!((*reader, counter.calls()), (7, 1));
    let other = poll(reads.as_mut(), &waker);
    assert!(other.is_ready() && poll_alone(writes.as_mut()).is_pending());
    drop(reader);
    assert!(poll_alone(writes.as_mut()).is_pending());
    drop(other);
    assert!(poll_alone(writes.as_mut()).is_ready());
    let owned = OwnedRwLockWriteGuard::downgrade(lock.try_write_owned().unwrap());
    assert!(lock.try_write().is_none() && lock.try_read().is_some());
    drop(owned);
    assert!(lock.try_write().is_some());
    assert_eq!(Arc::strong_count(&lock), 1);
}

// WITNESS: rwlock.exclusive, rwlock.order
#[test]
fn upgrade_comes_before_everybody_who_waits() {
    let lock = RwLock::new(1);
    let upgradable = lock.upgradable_read_blocking();
    assert!(lock.try_upgradable_read().is_none());
    let reader = lock.try_read().unwrap();
    let mut writes = pin!(lock.write());
    assert!(poll_alone(writes.as_mut()).is_pending());
    let upgradable = RwLockUpgradableGuard::try_upgrade(upgradable).unwrap_err();
    let mut upgrades = pin!(RwLockUpgradableGuard::upgrade(upgradable));
    assert!(poll_alone(upgrades.as_mut()).is_pending());
    let mut reads = pin!(lock.read());
    assert!(poll_alone(reads.as_mut()).is_pending());
    drop(reader);
    let Poll::Ready(mut guard) = poll_alone(upgrades.as_mut()) else {
        panic!("no reader is inside");
    };
    *guard += 1;
    assert!(poll_alone(writes.as_mut()).is_pending());
    drop(guard);
    assert!(
        poll_alone(reads.as_mut()).is_pending(),
        "the writer came first"
    );
    drop(poll_alone(writes.as_mut()));
    assert!(poll_alone(reads.as_mut()).is_ready());
}

// WITNESS: rwlock.exclusive, rwlock.pinned
#[test]
fn upgrade_that_is_dropped_leaves_altogether() {
    for is_offered in [false, true] {
        let lock = RwLock::new(1);
        let reader = lock.try_read().unwrap();
        let upgradable = lock.try_upgradable_read().unwrap();
        let mut upgrades = Box::pin(RwLockUpgradableGuard::upgrade(upgradable));
        assert!(poll_alone(upgrades.as_mut()).is_pending());
        let mut reads = pin!(lock.read());
        assert!(poll_alone(reads.as_mut()).is_pending());
        if is_offered {
            drop(reader);
            assert!(lock.try_read_recursive().is_none(), "it is the writer's");
            drop(upgrades);
        } else {
            drop(upgrades);
            drop(reader);
        }
        assert!(poll_alone(reads.as_mut()).is_ready());
        assert!(lock.try_write().is_some());
    }
}

#[test]
fn upgradable_reader_becomes_either() {
    let lock = RwLock::new(1);
    let upgradable = lock.try_upgradable_read().unwrap();
    let reader = RwLockUpgradableGuard::downgrade(upgradable);
    let second = lock.try_upgradable_read().unwrap();
    assert_eq!(*reader + *second, 2);
    drop(reader);
    let mut writer = RwLockUpgradableGuard::try_upgrade(second).unwrap();
    *writer += 1;
    assert!(lock.try_read().is_none());
    drop(writer);
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn upgrade_has_its_turn_when_others_wait_and_nobody_reads() {
    let lock = RwLock::new(1);
    let upgradable = lock.try_upgradable_read().unwrap();
    let mut writes = pin!(lock.write());
    assert!(poll_alone(writes.as_mut()).is_pending());
    let writer = RwLockUpgradableGuard::try_upgrade(upgradable).unwrap();
    drop(writer);
    assert!(poll_alone(writes.as_mut()).is_ready());
}

// S1
#[test]
fn dropped_waiter_lets_in_those_that_it_held_up() {
    let lock = RwLock::new(());
    let reader = lock.try_read().unwrap();
    let mut writes = Box::pin(lock.write());
    assert!(poll_alone(writes.as_mut()).is_pending());
    let (counter, waker) = counted();
    let mut reads: Vec<_> = (0..40).map(|_| Box::pin(lock.read())).collect();
    for reader in &mut reads {
        assert!(poll(reader.as_mut(), &waker).is_pending());
    }
    drop(writes);
    assert_eq!(counter.calls(), 40);
    for mut reader in reads {
        assert!(poll(reader.as_mut(), &waker).is_ready());
    }
    drop(reader);
    assert!(lock.try_write().is_some());
}

#[test]
fn offer_of_a_dropped_writer_reaches_the_readers_behind() {
    let lock = RwLock::new(());
    let held = lock.try_write().unwrap();
    let mut writes = Box::pin(lock.write());
    assert!(poll_alone(writes.as_mut()).is_pending());
    let mut reads = pin!(lock.read());
    assert!(poll_alone(reads.as_mut()).is_pending());
    drop(held);
    assert!(lock.try_read_recursive().is_none(), "it is the writer's");
    drop(writes);
    assert!(poll_alone(reads.as_mut()).is_ready());
}

// S13
#[test]
fn spent_budget_does_not_cost_the_place() {
    let lock = RwLock::new(());
    let mut writes = pin!(lock.write());
    let (counter, waker) = counted();
    poll_record::root(|| {
        for _ in 0..poll_record::BUDGET_UNITS {
            budget::consume();
        }
        assert!(poll(writes.as_mut(), &waker).is_pending());
    });
    assert!(counter.calls() >= 1);
    assert!(
        lock.try_read_recursive().is_none(),
        "it was offered to the writer"
    );
    assert!(poll(writes.as_mut(), &waker).is_ready());
}

#[test]
fn panic_of_a_writer_leaves_a_mark_and_that_of_a_reader_none() {
    let lock = RwLock::new(0);
    let panics = |run: &dyn Fn()| catch_unwind(AssertUnwindSafe(run)).is_err();
    assert!(panics(&|| {
        let _reader = lock.read_blocking();
        panic!();
    }));
    assert!(!lock.has_panicked());
    assert!(panics(&|| {
        let _writer = lock.write_blocking();
        panic!();
    }));
    assert!(lock.has_panicked() && lock.try_write().is_some());
    lock.clear_panicked();
    assert!(!lock.has_panicked());
}

// WITNESS: rwlock.exclusive
#[test]
fn mapped_guards_are_inside() {
    let lock = RwLock::new((1, [2, 3]));
    let part = RwLockReadGuard::map(lock.read_blocking(), |value| &value.1);
    let part = MappedRwLockReadGuard::map(part, |part| &part[1]);
    assert_eq!(*part, 3);
    let guard = RwLockReadGuard::try_map(lock.read_blocking(), |value| value.1.get(2));
    let guard = guard.unwrap_err();
    let other = RwLockReadGuard::try_map(guard, |value| value.1.first()).unwrap();
    assert!(lock.try_write().is_none());
    drop((part, other));
    let part = RwLockWriteGuard::map(lock.try_write().unwrap(), |value| &mut value.1);
    let mut part = MappedRwLockWriteGuard::map(part, |part| &mut part[0]);
    *part = 7;
    assert!(lock.try_read().is_none());
    thread::scope(|scope| scope.spawn(move || drop(part)).join().unwrap());
    let guard = RwLockWriteGuard::try_map(lock.try_write().unwrap(), |value| value.1.get_mut(2));
    drop(guard.unwrap_err());
    assert_eq!(lock.into_inner(), (1, [7, 3]));
}

#[test]
fn owned_guards_and_values_without_a_size() {
    let lock: Arc<RwLock<[i32]>> = Arc::new(RwLock::new([1, 2]));
    let reader = lock.try_read_owned().unwrap();
    let mut writes = Box::pin(lock.write_owned());
    assert!(poll_alone(writes.as_mut()).is_pending());
    assert_eq!(reader.len(), 2);
    drop(reader);
    let Poll::Ready(mut writer) = poll_alone(writes.as_mut()) else {
        panic!("the reader has left");
    };
    writer[0] = 5;
    let mut reads = Box::pin(lock.read_owned());
    assert!(poll_alone(reads.as_mut()).is_pending());
    drop(writer);
    let reader = poll_alone(reads.as_mut());
    assert!(matches!(reader, Poll::Ready(guard) if guard[0] == 5));
    drop((reads, writes));
    assert_eq!(Arc::strong_count(&lock), 1);
}

#[test]
fn debug_shows_who_is_inside() {
    let mut lock = RwLock::from(1).revocable();
    *lock.get_mut() += 1;
    let reader = lock.try_read().unwrap();
    let shown = format!("{lock:?}");
    assert!(
        shown.contains("readers: 1") && shown.contains("value: 2"),
        "{shown}"
    );
    drop(reader);
    let writer = lock.try_write().unwrap();
    let shown = format!("{lock:?}");
    assert!(
        shown.contains("written: true") && shown.contains("<locked>"),
        "{shown}"
    );
    assert_eq!(format!("{writer:?}"), "2");
    drop(writer);
    assert_eq!(RwLock::<u8>::default().into_inner(), 0);
}

// S19
#[test]
fn most_readers_are_refused_and_the_word_has_room() {
    let most = MAX_READERS * Want::Read.weight();
    assert!(Want::Read.fits(most - Want::Read.weight()));
    assert!(!Want::Read.fits(most));
    assert!(!Want::Upgradable.fits(most));
    assert!(!Want::Write.fits(most) && !Want::Upgrade.fits(most));
    assert!(most.checked_add(Want::Read.weight() * 2).is_some());
}

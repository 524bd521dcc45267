//! Turns that were offered and are not taken: B133.

use crate::rwlock::{RwLock, RwLockUpgradableGuard};
use crate::semaphore::Semaphore;
use crate::semaphore::tests::support::{Tasks, counted, once, poll, poll_alone};
use mainspring_core::wait_list::Cure;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

// B133, of readers and of an upgrade that its own task holds up.
#[test]
fn request_of_the_same_task_takes_over_what_it_does_not_poll() {
    let lock = RwLock::new(());
    let held = lock.try_write().unwrap();
    let [(_, task), (_, other)] = [counted(), counted()];
    let mut unpolled = Box::pin(lock.write());
    assert!(poll(unpolled.as_mut(), &task).is_pending());
    let mut stranger = pin!(lock.read());
    assert!(poll(stranger.as_mut(), &other).is_pending());
    drop(held);
    // A reader has room for the stranger's reader beside it.
    let driven = poll(pin!(lock.read()).as_mut(), &task);
    assert!(driven.is_ready());
    assert!(
        poll(unpolled.as_mut(), &task).is_pending(),
        "it keeps its place"
    );
    drop(unpolled);
    assert!(poll(stranger.as_mut(), &other).is_ready());
    drop(driven);
    // An offered read that nobody polls is in the way of the task's own upgrade.
    let held = lock.try_write().unwrap();
    let mut unpolled = pin!(lock.read());
    assert!(poll(unpolled.as_mut(), &task).is_pending());
    drop(held);
    let upgradable = poll(pin!(lock.upgradable_read()).as_mut(), &other);
    let Poll::Ready(upgradable) = upgradable else {
        panic!("there is room beside a reader");
    };
    let mut upgrades = pin!(RwLockUpgradableGuard::upgrade(upgradable));
    assert!(poll(upgrades.as_mut(), &other).is_pending());
    let writer = poll(upgrades.as_mut(), &task);
    assert!(writer.is_ready());
    drop(writer);
    assert!(lock.try_write().is_some(), "nobody upgrades any more");
}

// WITNESS: rwlock.slow
#[test]
fn request_that_its_task_s_offer_does_not_help_waits_as_all_do() {
    let lock = RwLock::new(());
    let held = lock.try_write().unwrap();
    let (_, task) = counted();
    let mut unpolled = Box::pin(lock.read());
    assert!(poll(unpolled.as_mut(), &task).is_pending());
    drop(held);
    let reader = lock.try_read().unwrap();
    let mut writes = pin!(lock.write());
    assert!(poll(writes.as_mut(), &task).is_pending());
    assert!(lock.try_read().is_none(), "a writer waits");
    drop((unpolled, reader));
    assert!(poll(writes.as_mut(), &task).is_ready());
}

#[test]
fn revocable_turn_goes_round_a_task_that_does_not_poll_for_it() {
    for is_revocable in [false, true] {
        let tasks = Tasks::new();
        let lock = RwLock::new(());
        let lock = Arc::new(if is_revocable { lock.revocable() } else { lock });
        let held = lock.try_write_owned().unwrap();
        let distracted = {
            let lock = Arc::clone(&lock);
            tasks.spawn(async move {
                let mut loser = Box::pin(lock.write());
                let first = poll_fn(|cx| Poll::Ready(loser.as_mut().poll(cx).is_pending()));
                assert!(first.await);
                std::future::pending::<()>().await;
                drop(loser);
            })
        };
        tasks.run_until_idle();
        let modest = {
            let lock = Arc::clone(&lock);
            tasks.spawn(async move { drop(lock.read().await) })
        };
        tasks.run_until_idle();
        drop(held);
        tasks.run_until_idle();
        assert_eq!(modest.is_finished(), is_revocable);
        let offers = lock.diagnose().offers;
        assert_eq!(offers.is_empty(), is_revocable);
        if let Some(offer) = offers.first() {
            assert_eq!(offer.cure, Cure::SameTask);
            assert_eq!(offer.task, Some(distracted.id().as_u64()));
        }
        distracted.abort();
        tasks.run_until_idle();
        assert!(modest.is_finished() && lock.try_write().is_some());
    }
}

// As with the semaphore: an offer that is lost before its wake.
// WITNESS: rwlock.slow
#[test]
fn turn_lost_before_its_wake_leaves_a_waiter_that_is_found() {
    let lock = Arc::new(RwLock::new(()));
    let held = lock.try_write().unwrap();
    let (counter, task) = counted();
    let (sender, taken) = std::sync::mpsc::channel();
    let takes_over = {
        let (lock, task) = (Arc::clone(&lock), task.clone());
        once(move || {
            let guard = poll(pin!(lock.upgradable_read()).as_mut(), &task);
            sender.send(guard.is_ready()).unwrap();
        })
    };
    let mut readers: Vec<_> = (0..39).map(|_| Box::pin(lock.read())).collect();
    let mut wakers = vec![takes_over];
    wakers.resize_with(readers.len(), || counted().1);
    for (reader, waker) in readers.iter_mut().zip(&wakers) {
        assert!(poll(reader.as_mut(), waker).is_pending());
    }
    let mut loser = pin!(lock.upgradable_read());
    assert!(poll(loser.as_mut(), &task).is_pending());
    drop(held);
    assert!(
        taken.recv().unwrap(),
        "it took the offer of its own task over"
    );
    assert_eq!(counter.calls(), 1, "what it gave back is offered again");
    for (mut reader, waker) in readers.into_iter().zip(&wakers) {
        assert!(poll(reader.as_mut(), waker).is_ready());
    }
    assert!(poll(loser.as_mut(), &task).is_ready());
    assert!(lock.try_write().is_some());
}

// WITNESS: rwlock.exclusive
#[test]
fn upgrade_that_lost_its_turn_gets_another() {
    let tasks = Tasks::new();
    let lock = Arc::new(RwLock::new(1).revocable());
    let go_on = Arc::new(Semaphore::new(0));
    let reader = lock.try_read_owned().unwrap();
    let upgrader = {
        let (lock, go_on) = (Arc::clone(&lock), Arc::clone(&go_on));
        tasks.spawn(async move {
            let upgradable = lock.upgradable_read().await;
            let mut loser = pin!(RwLockUpgradableGuard::upgrade(upgradable));
            let is_pending = poll_fn(|cx| Poll::Ready(loser.as_mut().poll(cx).is_pending()));
            assert!(is_pending.await);
            go_on.acquire(1).await.unwrap().forget();
            *loser.await += 1;
        })
    };
    tasks.run_until_idle();
    let mut reads = pin!(lock.read());
    assert!(
        poll_alone(reads.as_mut()).is_pending(),
        "the upgrade is before it"
    );
    drop(reader);
    // The turn is offered to the upgrade, whose task is woken for it and does not take it.
    tasks.run_until_idle();
    let inside = poll_alone(reads.as_mut());
    assert!(inside.is_ready(), "it is an upgradable reader again");
    assert!(lock.try_write().is_none() && lock.try_upgradable_read().is_none());
    go_on.add(1).unwrap();
    tasks.run_until_idle();
    assert!(!upgrader.is_finished(), "a reader is inside");
    assert!(lock.try_read().is_none(), "and nobody enters any more");
    drop(inside);
    tasks.run_until_idle();
    assert!(upgrader.is_finished());
    assert_eq!(*lock.try_write().unwrap(), 2);
}

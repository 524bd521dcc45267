//! Models of the read-write lock, whose value is a cell that loom watches.

use crate::rwlock::tests::Counted as Lock;
use crate::rwlock::{RwLockUpgradableGuard, RwLockWriteGuard};
use crate::semaphore::tests::support::poll_alone;
use loom::future::block_on;
use mainspring_core::sync::thread;
use std::sync::Arc;

fn write(lock: &Lock) {
    *block_on(lock.write()) += 1;
}

fn read(lock: &Lock) -> i32 {
    *block_on(lock.read())
}

fn spawn<R: 'static>(
    lock: &Arc<Lock>,
    run: impl FnOnce(&Lock) -> R + 'static,
) -> thread::JoinHandle<R> {
    let lock = Arc::clone(lock);
    thread::spawn(move || run(&lock))
}

// WITNESS: rwlock.turn, rwlock.exclusive, rwlock.slow
#[test]
fn reader_and_writer_are_never_at_it_at_once() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let other = spawn(&lock, read);
        write(&lock);
        assert!(other.join().unwrap() <= 1);
    });
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let other = spawn(&lock, write);
        assert!(read(&lock) <= 1);
        other.join().unwrap();
        assert_eq!(*lock.try_read().unwrap(), 1);
    });
}

// WITNESS: rwlock.turn, rwlock.exclusive, rwlock.slow
#[test]
fn two_writers_are_never_at_it_at_once() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let other = spawn(&lock, write);
        write(&lock);
        other.join().unwrap();
        assert_eq!(*lock.try_read().unwrap(), 2);
    });
}

// WITNESS: rwlock.turn, rwlock.slow
#[test]
fn writer_enters_when_both_readers_have_left() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let lock = Arc::new(Lock::new(0));
        let readers = [spawn(&lock, read), spawn(&lock, read)];
        write(&lock);
        for reader in readers {
            assert!(reader.join().unwrap() <= 1);
        }
    });
}

// B137
// WITNESS: rwlock.turn, rwlock.exclusive
#[test]
fn downgrade_shows_readers_what_was_written_and_keeps_writers_out() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let mut writer = lock.try_write().unwrap();
        let other = spawn(&lock, read);
        *writer += 1;
        let reader = RwLockWriteGuard::downgrade(writer);
        assert_eq!(*reader, 1);
        assert_eq!(other.join().unwrap(), 1);
    });
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let mut writer = lock.try_write().unwrap();
        let other = spawn(&lock, write);
        *writer += 1;
        let reader = RwLockWriteGuard::downgrade(writer);
        assert_eq!(*reader, 1);
        drop(reader);
        other.join().unwrap();
        assert_eq!(*lock.try_read().unwrap(), 2);
    });
}

// WITNESS: rwlock.turn, rwlock.exclusive, rwlock.slow
#[test]
fn upgrade_enters_when_the_reader_has_left() {
    let upgrade = |lock: &Lock| {
        let upgradable = block_on(lock.upgradable_read());
        let seen = *upgradable;
        let mut writer = block_on(RwLockUpgradableGuard::upgrade(upgradable));
        assert_eq!(*writer, seen, "what was read is still true");
        *writer += 1;
    };
    loom::model(move || {
        let lock = Arc::new(Lock::new(0));
        let other = spawn(&lock, read);
        upgrade(&lock);
        assert!(other.join().unwrap() <= 1);
    });
    loom::model(move || {
        let lock = Arc::new(Lock::new(0));
        let other = spawn(&lock, upgrade);
        write(&lock);
        other.join().unwrap();
        assert_eq!(*lock.try_read().unwrap(), 2);
    });
}

// S1
// WITNESS: rwlock.slow, rwlock.pinned
#[test]
fn writer_dropped_while_its_turn_comes_lets_the_reader_in() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let held = lock.try_read_owned().unwrap();
        let mut given_up = Box::pin(lock.write_owned());
        assert!(poll_alone(given_up.as_mut()).is_pending());
        let mut reads = Box::pin(lock.read_owned());
        assert!(poll_alone(reads.as_mut()).is_pending());
        let other = thread::spawn(move || drop(given_up));
        drop(held);
        other.join().unwrap();
        let reader = poll_alone(reads.as_mut());
        assert!(reader.is_ready(), "its turn went with the writer");
        drop(reader);
        assert!(lock.try_write().is_some());
    });
}

// WITNESS: rwlock.turn, rwlock.exclusive
#[test]
fn reader_that_passes_those_that_wait_sees_what_was_written() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let mut writer = lock.try_write_owned().unwrap();
        let mut waits = Box::pin(lock.write_owned());
        assert!(poll_alone(waits.as_mut()).is_pending());
        let other = spawn(&lock, |lock| {
            let reader = lock.try_read_recursive();
            reader.is_none_or(|reader| *reader == 1)
        });
        *writer += 1;
        drop(writer);
        assert!(other.join().unwrap());
        assert!(poll_alone(waits.as_mut()).is_ready());
    });
}

// WITNESS: rwlock.slow
#[test]
fn try_that_fails_turns_nobody_else_away() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let upgradable = lock.try_upgradable_read().unwrap();
        let reader = lock.try_read_owned().unwrap();
        let other = spawn(&lock, |lock| lock.try_read().is_some());
        let upgradable = RwLockUpgradableGuard::try_upgrade(upgradable).unwrap_err();
        assert!(other.join().unwrap(), "nobody waits, and nobody writes");
        drop((upgradable, reader));
        assert!(lock.try_write().is_some());
    });
}

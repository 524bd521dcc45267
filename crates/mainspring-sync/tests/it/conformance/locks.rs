//! Locks: a grant is that the suite unlocks.

use Waited::Granted;
use mainspring_sync::mutex::OwnedMutexGuard;
use mainspring_sync::rwlock::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard};
use mainspring_sync::{Condvar, Mutex as Lock, RwLock};
use mainspring_testkit::conformance::{Shape, Subject, Suite, Waited};
use mainspring_testkit::{Boxed, conformance};
use std::sync::{Arc, Mutex};

conformance! { mod mutex: super::OnMutex<false>; }
conformance! { mod mutex_revocable: super::OnMutex<true>; }
conformance! { mod rwlock_write: super::Writers; }
conformance! { mod rwlock_write_behind_reader: super::WritersBehindReader; }
conformance! { mod rwlock_read: super::Readers; }
conformance! { mod condvar: super::OnCondvar; }

/// The case that is left out polls newcomers from a waker that is called with the mutex locked, and
/// leaves one of them unpolled that the mutex is offered to: nobody who comes later gets to wait.
#[test]
fn condvar_one_mutex() {
    let suite = Suite::of_subject::<OneMutex>().except(&["clone_calls_back"]);
    suite.run().assert_clean();
}

/// Takes what is held out of its slot, and drops it with the slot unlocked.
fn release<T>(held: &Mutex<Option<T>>) {
    let guard = held.lock().unwrap().take();
    drop(guard);
}

fn hold<T>(held: &Mutex<Option<T>>, guard: T) {
    let old = held.lock().unwrap().replace(guard);
    assert!(old.is_none(), "two hold it");
}

pub(super) struct OnMutex<const REVOCABLE: bool> {
    mutex: Arc<Lock<()>>,
    held: Mutex<Option<OwnedMutexGuard<()>>>,
}

impl<const REVOCABLE: bool> Subject for OnMutex<REVOCABLE> {
    fn shape() -> Shape {
        Shape::exclusive().fifo().budgeted()
    }

    fn new() -> Self {
        let mut mutex = Lock::new(());
        if REVOCABLE {
            mutex = mutex.revocable();
        }
        let mutex = Arc::new(mutex);
        Self {
            held: Mutex::new(mutex.try_lock_owned()),
            mutex,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            hold(&this.held, this.mutex.lock_owned().await);
            Granted
        })
    }

    fn grant(&self) {
        release(&self.held);
    }
}

pub(super) struct Writers {
    lock: Arc<RwLock<()>>,
    held: Mutex<Option<OwnedRwLockWriteGuard<()>>>,
}

impl Subject for Writers {
    fn shape() -> Shape {
        Shape::exclusive().fifo().budgeted()
    }

    fn new() -> Self {
        let lock = Arc::new(RwLock::new(()));
        Self {
            held: Mutex::new(lock.try_write_owned()),
            lock,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            hold(&this.held, this.lock.write_owned().await);
            Granted
        })
    }

    fn grant(&self) {
        release(&self.held);
    }
}

/// As [`Writers`], each of which turns into a reader that the next one waits for.
struct WritersBehindReader {
    lock: Arc<RwLock<()>>,
    held: Mutex<Option<OwnedRwLockReadGuard<()>>>,
}

impl Subject for WritersBehindReader {
    fn shape() -> Shape {
        Shape::exclusive().fifo().budgeted()
    }

    fn new() -> Self {
        let lock = Arc::new(RwLock::new(()));
        Self {
            held: Mutex::new(lock.try_read_owned()),
            lock,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let guard = this.lock.write_owned().await;
            hold(&this.held, OwnedRwLockWriteGuard::downgrade(guard));
            Granted
        })
    }

    fn grant(&self) {
        release(&self.held);
    }
}

/// Readers behind a writer: all are let in together, and so is whoever comes later.
struct Readers {
    lock: Arc<RwLock<()>>,
    held: Mutex<Option<OwnedRwLockWriteGuard<()>>>,
}

impl Subject for Readers {
    fn shape() -> Shape {
        Shape::broadcasting().latching()
    }

    fn new() -> Self {
        let lock = Arc::new(RwLock::new(()));
        Self {
            held: Mutex::new(lock.try_write_owned()),
            lock,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            drop(this.lock.read().await);
            Granted
        })
    }

    fn grant_all(&self) {
        release(&self.held);
    }
}

/// Each waiter has a mutex of its own, so that the order is the condition variable's alone.
pub(super) struct OnCondvar(Condvar);

impl Subject for OnCondvar {
    fn shape() -> Shape {
        Shape::fleeting().fifo().releases_all()
    }

    fn new() -> Self {
        Self(Condvar::new())
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let mutex = Lock::new(());
            let guard = mutex.try_lock().expect("nobody else has it");
            drop(this.0.wait(guard).await);
            Granted
        })
    }

    fn grant(&self) {
        self.0.notify_one();
    }

    fn grant_all(&self) {
        self.0.notify_all();
    }
}

/// All share one mutex, as they do in earnest. One that is notified may have to queue there, so
/// that no order is promised.
pub(super) struct OneMutex {
    mutex: Lock<()>,
    condvar: Condvar,
}

impl Subject for OneMutex {
    fn shape() -> Shape {
        Shape::fleeting().releases_all()
    }

    fn new() -> Self {
        Self {
            mutex: Lock::new(()),
            condvar: Condvar::new(),
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            let guard = this.mutex.lock().await;
            drop(this.condvar.wait(guard).await);
            Granted
        })
    }

    fn grant(&self) {
        self.condvar.notify_one();
    }

    fn grant_all(&self) {
        self.condvar.notify_all();
    }
}

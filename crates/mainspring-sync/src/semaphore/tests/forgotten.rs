//! Futures that a task has polled and forgotten, of every primitive that has a revocable form: the
//! primitive goes elsewhere, or ends, and the task is polled on.

use crate::condvar::Condvar;
use crate::mutex::Mutex;
use crate::rwlock::RwLock;
use crate::semaphore::Semaphore;
use crate::semaphore::tests::support::{Tasks, poll_alone};
use mainspring_core::task::yield_now;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::ptr;
use std::sync::PoisonError;
use std::task::Poll;

/// Polls a future once, in vain, and forgets it.
async fn forget<F: Future>(future: F) {
    // DOOR: the tests' own. A leak checker finds here what is forgotten on purpose.
    static KEPT: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::new(Vec::new());
    let mut future = Box::pin(future);
    let first = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await;
    assert!(first, "somebody else holds it");
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push(ptr::from_ref(&*future).expose_provenance());
    std::mem::forget(future);
}

type Scene<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// In one task: plays the scene, moves the primitive and frees where it was, and is polled on.
fn moved<P: Send + Sync + 'static>(primitive: P, scene: fn(&P) -> Scene<'_>) -> P {
    let tasks = Tasks::new();
    let task = tasks.spawn(async move {
        let primitive = Box::new(primitive);
        scene(&primitive).await;
        let moved = *primitive;
        yield_now().await;
        yield_now().await;
        moved
    });
    tasks.run_until_idle();
    let Poll::Ready(Ok(moved)) = poll_alone(pin!(task)) else {
        panic!("it has ended");
    };
    moved
}

/// In one task: plays the scene, drops the primitive, and is polled on.
fn dropped<P: Send + Sync + 'static>(primitive: P, scene: fn(&P) -> Scene<'_>) {
    let tasks = Tasks::new();
    let task = tasks.spawn(async move {
        let primitive = Box::new(primitive);
        scene(&primitive).await;
        drop(primitive);
        yield_now().await;
        yield_now().await;
    });
    tasks.run_until_idle();
    assert!(task.is_finished());
}

fn permit(semaphore: &Semaphore) -> Scene<'_> {
    Box::pin(async {
        forget(semaphore.acquire(1)).await;
        semaphore.add(1).unwrap();
        assert_eq!(semaphore.diagnose().offers.len(), 1);
    })
}

fn lock(mutex: &Mutex<String>) -> Scene<'_> {
    Box::pin(async {
        let held = mutex.try_lock().unwrap();
        forget(mutex.lock()).await;
        drop(held);
        assert_eq!(mutex.diagnose().offers.len(), 1);
    })
}

fn turns(lock: &RwLock<String>) -> Scene<'_> {
    Box::pin(async {
        let held = lock.try_write().unwrap();
        forget(lock.read()).await;
        forget(lock.upgradable_read()).await;
        forget(lock.write()).await;
        drop(held);
        assert_eq!(lock.diagnose().offers.len(), 2);
    })
}

fn notification((condvar, mutex): &(Condvar, Mutex<String>)) -> Scene<'_> {
    Box::pin(async {
        forget(condvar.wait(mutex.try_lock().unwrap())).await;
        condvar.notify_one();
        assert_eq!(condvar.diagnose().offers.len(), 1);
    })
}

#[test]
fn offer_to_a_forgotten_future_comes_back_to_a_primitive_that_moved() {
    let semaphore = moved(Semaphore::new(0).revocable(), permit);
    assert_eq!(semaphore.available(), 1);
    assert!(semaphore.diagnose().offers.is_empty());
    let mutex = moved(Mutex::new(String::from("value")).revocable(), lock);
    assert_eq!(*mutex.try_lock().unwrap(), "value");
    assert!(mutex.diagnose().offers.is_empty());
    let rwlock = moved(RwLock::new(String::from("value")).revocable(), turns);
    assert!(rwlock.diagnose().offers.is_empty());
    let pair = (Condvar::revocable(), Mutex::new(String::from("value")));
    let (condvar, mutex) = moved(pair, notification);
    assert!(condvar.diagnose().offers.is_empty());
    assert_eq!(*mutex.try_lock().unwrap(), "value");
}

#[test]
fn primitive_that_ended_is_not_looked_for() {
    dropped(Semaphore::new(0).revocable(), permit);
    dropped(Mutex::new(String::from("value")).revocable(), lock);
    dropped(RwLock::new(String::from("value")).revocable(), turns);
    let pair = (Condvar::revocable(), Mutex::new(String::from("value")));
    dropped(pair, notification);
    // What a strict one leaves behind is nobody's.
    dropped(Semaphore::new(0), permit);
    dropped(Mutex::new(String::from("value")), lock);
    dropped(RwLock::new(String::from("value")), turns);
}

#[test]
fn one_with_a_forgotten_future_becomes_revocable_all_the_same() {
    let semaphore = moved(Semaphore::new(0).revocable(), |semaphore| {
        Box::pin(forget(semaphore.acquire(2)))
    });
    let semaphore = semaphore.revocable();
    semaphore.add(2).unwrap();
    let both = semaphore.try_acquire(2).unwrap();
    drop(both);
    assert_eq!(semaphore.available(), 2);
    let mutex = moved(Mutex::new(String::from("value")).revocable(), lock);
    assert_eq!(mutex.revocable().into_inner(), "value");
}

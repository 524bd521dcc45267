//! B133, the published scenario: a branch of a select that lost is kept, and the task locks again.

use crate::mutex::Mutex;
use crate::semaphore::Semaphore;
use crate::semaphore::tests::support::Tasks;
use mainspring_core::task::JoinHandle;
use mainspring_core::wait_list::Cure;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

/// What both branches do.
async fn operation(mutex: &Mutex<Vec<&'static str>>, name: &'static str) {
    mutex.lock().await.push(name);
}

/// A select whose other branch is ready at once; the loser stays with the caller.
async fn select_other(loser: Pin<&mut impl Future<Output = ()>>) {
    let mut loser = loser;
    let is_pending = poll_fn(|cx| Poll::Ready(loser.as_mut().poll(cx).is_pending())).await;
    assert!(is_pending, "somebody else has the lock");
}

#[test]
fn task_that_locks_again_is_served() {
    let tasks = Tasks::new();
    let mutex = Arc::new(Mutex::new(Vec::new()));
    let held = mutex.try_lock_owned().unwrap();
    let task = {
        let mutex = Arc::clone(&mutex);
        tasks.spawn(async move {
            let mut loser = pin!(operation(&mutex, "loser"));
            select_other(loser.as_mut()).await;
            operation(&mutex, "driven").await;
            loser.await;
        })
    };
    tasks.run_until_idle();
    drop(held);
    tasks.run_until_idle();
    assert!(task.is_finished(), "futurelock");
    assert_eq!(*mutex.lock_blocking(), ["driven", "loser"]);
}

struct Scene {
    tasks: Arc<Tasks>,
    mutex: Arc<Mutex<Vec<&'static str>>>,
    other: Arc<Semaphore>,
    distracted: JoinHandle<()>,
    modest: JoinHandle<()>,
}

/// The lock was given up, and everything that could run has run.
fn scene(mutex: Mutex<Vec<&'static str>>) -> Scene {
    let (tasks, mutex) = (Tasks::new(), Arc::new(mutex));
    let other = Arc::new(Semaphore::new(0));
    let held = mutex.try_lock_owned().unwrap();
    let distracted = {
        let (mutex, other) = (Arc::clone(&mutex), Arc::clone(&other));
        tasks.spawn(async move {
            let mut loser = pin!(operation(&mutex, "distracted"));
            select_other(loser.as_mut()).await;
            drop(other.acquire(1).await.unwrap());
            loser.await;
        })
    };
    tasks.run_until_idle();
    let modest = {
        let mutex = Arc::clone(&mutex);
        tasks.spawn(async move { operation(&mutex, "modest").await })
    };
    tasks.run_until_idle();
    drop(held);
    tasks.run_until_idle();
    Scene {
        tasks,
        mutex,
        other,
        distracted,
        modest,
    }
}

#[test]
fn revocable_lock_goes_round_a_task_that_does_not_poll_for_it() {
    let scene = scene(Mutex::new(Vec::new()).revocable());
    assert!(scene.modest.is_finished());
    assert!(!scene.mutex.is_locked());
    scene.other.add(1).unwrap();
    scene.tasks.run_until_idle();
    assert!(scene.distracted.is_finished());
    assert_eq!(*scene.mutex.lock_blocking(), ["modest", "distracted"]);
}

#[test]
fn what_is_not_cured_is_named() {
    let scene = scene(Mutex::new(Vec::new()));
    assert!(!scene.modest.is_finished(), "nothing takes the offer back");
    let diagnosis = scene.mutex.diagnose();
    assert_eq!(
        diagnosis.offers[0].task,
        Some(scene.distracted.id().as_u64())
    );
    assert_eq!(diagnosis.offers[0].cure, Cure::SameTask);
    assert!(
        diagnosis.to_string().contains("has not taken an offer"),
        "{diagnosis}"
    );
    // Dropping the future frees the queue.
    scene.distracted.abort();
    scene.tasks.run_until_idle();
    assert!(scene.modest.is_finished());
    assert_eq!(*scene.mutex.lock_blocking(), ["modest"]);
}

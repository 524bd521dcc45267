//! B133: a task that keeps a request which it does not poll, and asks once more.

use crate::semaphore::Semaphore;
use crate::semaphore::tests::support::Tasks;
use mainspring_core::task::JoinHandle;
use mainspring_core::wait_list::Cure;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// Asks, and then looks at its other branch: the loser of a select, kept by reference.
async fn lose<F: Future>(asked: std::pin::Pin<&mut F>) {
    let mut asked = asked;
    let first = poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx).is_pending())).await;
    assert!(first, "somebody else holds it");
}

/// The published scenario: keeps the loser, and asks once more.
async fn asks_twice(semaphore: Arc<Semaphore>) {
    let mut loser = pin!(semaphore.acquire(1));
    lose(loser.as_mut()).await;
    let driven = semaphore.acquire(1).await.unwrap();
    drop(driven);
    drop(loser.await.unwrap());
}

/// Keeps the loser, and waits for something else.
async fn is_distracted(semaphore: Arc<Semaphore>, other: Arc<Semaphore>) {
    let mut loser = pin!(semaphore.acquire(1));
    lose(loser.as_mut()).await;
    drop(other.acquire(1).await.unwrap());
    drop(loser.await.unwrap());
}

#[test]
fn task_that_asks_twice_takes_its_own_offer_over() {
    let tasks = Tasks::new();
    let semaphore = Arc::new(Semaphore::new(1));
    let held = semaphore.try_acquire_owned(1).unwrap();
    let task = tasks.spawn(asks_twice(Arc::clone(&semaphore)));
    tasks.run_until_idle();
    assert!(!task.is_finished());
    drop(held);
    tasks.run_until_idle();
    assert!(task.is_finished(), "futurelock");
    assert_eq!(semaphore.available(), 1);
}

/// One task holds an offer that it does not poll; another waits.
fn distraction(semaphore: Semaphore) -> (Arc<Tasks>, [Arc<Semaphore>; 2], [JoinHandle<()>; 2]) {
    let tasks = Tasks::new();
    let semaphore = Arc::new(semaphore);
    let other = Arc::new(Semaphore::new(0));
    let held = semaphore.try_acquire_owned(1).unwrap();
    let distracted = is_distracted(Arc::clone(&semaphore), Arc::clone(&other));
    let distracted = tasks.spawn(distracted);
    tasks.run_until_idle();
    let modest = {
        let semaphore = Arc::clone(&semaphore);
        tasks.spawn(async move { drop(semaphore.acquire(1).await.unwrap()) })
    };
    tasks.run_until_idle();
    drop(held);
    tasks.run_until_idle();
    (tasks, [semaphore, other], [distracted, modest])
}

#[test]
fn revocable_permit_goes_round_a_task_that_does_not_poll_for_it() {
    let (tasks, [semaphore, other], [distracted, modest]) =
        distraction(Semaphore::new(1).revocable());
    assert!(modest.is_finished());
    assert_eq!(semaphore.available(), 1);
    assert_eq!(semaphore.diagnose().lapsed, 1);
    other.add(1).unwrap();
    tasks.run_until_idle();
    assert!(distracted.is_finished());
    assert_eq!(semaphore.available(), 1);
}

#[test]
fn what_is_not_cured_is_named() {
    let (tasks, [semaphore, other], [distracted, modest]) = distraction(Semaphore::new(1));
    assert!(!modest.is_finished(), "nothing takes the offer back");
    let diagnosis = semaphore.diagnose();
    assert_eq!(diagnosis.waiting, 1);
    assert_eq!(diagnosis.offers[0].task, Some(distracted.id().as_u64()));
    assert_eq!(diagnosis.offers[0].cure, Cure::SameTask);
    // The way out: the future is polled, or dropped.
    other.add(1).unwrap();
    tasks.run_until_idle();
    assert!(distracted.is_finished() && modest.is_finished());
}

//! Grants among threads that give up, and offers that are taken back from tasks.

use super::kinds::{Acquire, Notified, Permits, Stored, notify, release};
use crate::sync::{Arc, Condvar, Mutex, below, block_on, explore, thread, wait_or_drop};
use crate::task::{self, JoinHandle, Runnable, Schedule, SchedulerRef, WakeCause};
use crate::wait_list::{From, WaitList};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

// WITNESS: wait-list.hand-on, wait-list.node, wait-list.woken
#[test]
fn permits_reach_those_who_stay_when_others_give_up() {
    explore(|| {
        let list = Arc::new(match below(2) {
            0 => Permits::list(2),
            _ => Permits::revocable(2),
        });
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let list = Arc::clone(&list);
                thread::spawn(move || {
                    for _ in 0..3 {
                        let permits = 1 + below(2) as usize;
                        if wait_or_drop(4, Acquire::new(&*list, permits)).is_some() {
                            thread::yield_now();
                            release(&list, permits);
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(list.kind().available(), 2, "a permit was lost, or made");
    });
}

/// Runs its tasks on two threads, which sleep when there is nothing to run.
#[derive(Default)]
struct Pool {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Runnable>,
    is_over: bool,
}

impl Schedule for Pool {
    fn schedule(&self, runnable: Runnable, _: WakeCause) {
        self.state.lock().queue.push_back(runnable);
        self.changed.notify_one();
    }
}

impl Pool {
    fn spawn<F>(self: &std::sync::Arc<Self>, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let scheduler = SchedulerRef::from(std::sync::Arc::clone(self));
        let (runnable, join) = task::create(future, scheduler);
        runnable.schedule();
        join
    }

    fn work(&self) {
        let mut state = self.state.lock();
        while !state.is_over {
            state = if let Some(runnable) = state.queue.pop_front() {
                drop(state);
                let _ = runnable.run();
                self.state.lock()
            } else {
                self.changed.wait(state)
            };
        }
    }
}

/// Asks for a permit, and then waits for something else with the request in its hands.
async fn distracted(permits: Arc<WaitList<Permits>>, other: Arc<WaitList<Stored>>) {
    let mut asked = pin!(Acquire::new(&*permits, 1));
    if poll_fn(|cx| Poll::Ready(asked.as_mut().poll(cx)))
        .await
        .is_pending()
    {
        Notified::new(&*other).await;
        asked.await;
    }
    release(&permits, 1);
}

async fn modest(permits: Arc<WaitList<Permits>>) {
    Acquire::new(&*permits, 1).await;
    release(&permits, 1);
}

/// One task is told to look at its request only when the other one has had its permit.
fn distract(permits: WaitList<Permits>) {
    let pool = std::sync::Arc::new(Pool::default());
    let (permits, other) = (Arc::new(permits), Arc::default());
    let workers = [(); 2].map(|()| {
        let pool = std::sync::Arc::clone(&pool);
        thread::spawn(move || pool.work())
    });
    let distracted = pool.spawn(distracted(Arc::clone(&permits), Arc::clone(&other)));
    let modest = pool.spawn(modest(Arc::clone(&permits)));
    release(&permits, 1);
    block_on(modest).expect("it is not aborted");
    notify(&other, From::Oldest);
    block_on(distracted).expect("it is not aborted");
    pool.state.lock().is_over = true;
    pool.changed.notify_all();
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(permits.kind().available(), 1);
}

// WITNESS: wait-list.revoke, wait-list.hand-on
#[test]
fn offer_that_its_task_does_not_take_goes_to_another() {
    explore(|| distract(Permits::revocable(0)));
}

mod printed {
    use super::{Permits, distract, explore};

    /// A list without the cure: who has been offered a permit and looks elsewhere keeps it.
    #[test]
    fn offer_that_nobody_takes_back_holds_up_the_next() {
        explore(|| distract(Permits::list(0)));
    }
}

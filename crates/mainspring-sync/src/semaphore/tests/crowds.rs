//! Thousands of tasks that are granted what they wait for in one go, and wait once more: of every
//! primitive with one grant a waiter.

use crate::channel;
use crate::notify::Notify;
use crate::semaphore::Semaphore;
use crate::semaphore::tests::support::Tasks;
use mainspring_core::task::JoinHandle;
use mainspring_core::wait_list::visits;
use std::sync::Arc;

const CROWDS: [usize; 2] = [100, 2_000];

/// More than a search may need in the mean, and far less than there are offers.
const STEPS_MAX: u64 = 40;

/// How many turns there are.
const TURNS: usize = 3;

/// Runs what `grant` wakes, turn by turn; the entries looked at for each of the waits are few.
fn few_steps(what: &str, tasks: &Tasks, joins: &[JoinHandle<()>], grant: impl Fn()) {
    tasks.run_until_idle();
    let before = visits();
    for _ in 0..TURNS {
        grant();
        tasks.run_until_idle();
    }
    assert!(joins.iter().all(JoinHandle::is_finished), "{what}");
    let waits = (joins.len() * TURNS) as u64;
    let steps = (visits() - before) / waits;
    assert!(steps < STEPS_MAX, "{what}, {}: {steps} each", joins.len());
}

#[test]
fn tasks_of_a_semaphore_do_not_look_through_each_others_offers() {
    for count in CROWDS {
        for is_revocable in [false, true] {
            let tasks = Tasks::new();
            let semaphore = Semaphore::new(0);
            let semaphore = Arc::new(match is_revocable {
                true => semaphore.revocable(),
                false => semaphore,
            });
            let task = || {
                let semaphore = Arc::clone(&semaphore);
                tasks.spawn(async move {
                    for _ in 0..TURNS {
                        semaphore.acquire(1).await.unwrap().forget();
                    }
                })
            };
            let joins: Vec<_> = (0..count).map(|_| task()).collect();
            few_steps("permits", &tasks, &joins, || semaphore.add(count).unwrap());
        }
    }
}

#[test]
fn tasks_that_are_notified_do_not_look_through_each_others_offers() {
    for count in CROWDS {
        let tasks = Tasks::new();
        let notify = Arc::new(Notify::new());
        let task = || {
            let notify = Arc::clone(&notify);
            tasks.spawn(async move {
                for _ in 0..TURNS {
                    notify.notified().await;
                }
            })
        };
        let joins: Vec<_> = (0..count).map(|_| task()).collect();
        let all = || (0..count).for_each(|_| notify.notify_one());
        few_steps("notifications", &tasks, &joins, all);
    }
}

#[test]
fn senders_on_a_full_channel_do_not_look_through_each_others_offers() {
    for count in CROWDS {
        let tasks = Tasks::new();
        let (sender, receiver) = channel::bounded(count);
        let task = || {
            let sender = sender.clone();
            tasks.spawn(async move {
                for turn in 0..=TURNS {
                    sender.send(turn).await.unwrap();
                }
            })
        };
        let joins: Vec<_> = (0..count).map(|_| task()).collect();
        let all = || (0..count).for_each(|_| assert!(receiver.try_recv().is_ok()));
        few_steps("messages", &tasks, &joins, all);
    }
}

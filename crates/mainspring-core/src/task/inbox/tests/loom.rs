//! Models of the inbox: pushes from two threads against its owner.

use crate::sync::Arc;
use crate::task::tests::support::{Drops, Queue, scheduler};
use crate::task::{self, Inbox, Pushed, RunQueue, Runnable};
use loom::model::Builder;
use loom::thread;

fn model(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(run);
}

fn runnable(queue: &Arc<Queue>, drops: &Drops) -> Runnable {
    let guard = drops.guard();
    let (runnable, join) = task::create(async move { drop(guard) }, scheduler(queue));
    join.detach();
    runnable
}

fn run(queue: RunQueue) -> usize {
    queue.fold(0, |runs, runnable| {
        let _ = runnable.run();
        runs + 1
    })
}

/// How many of these pushes found the inbox empty.
fn firsts(pushes: &[Pushed]) -> usize {
    pushes
        .iter()
        .filter(|pushed| matches!(pushed, Pushed::First))
        .count()
}

// The runnables are made on the pushing threads: taking them must carry the tasks along.
// WITNESS: inbox.push, inbox.owned
#[test]
fn pushes_from_two_threads_are_taken_once_each_in_order() {
    model(|| {
        let inbox = Arc::new(Inbox::new());
        let drops = Drops::new();
        let queue = Queue::new();
        let pushers = [1, 2].map(|count| {
            let (inbox, drops) = (Arc::clone(&inbox), drops.clone());
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let pushes: Vec<_> = (0..count)
                    .map(|_| inbox.push(runnable(&queue, &drops)))
                    .collect();
                firsts(&pushes)
            })
        });
        let early = run(inbox.take_all());
        let told: usize = pushers.map(|pusher| pusher.join().unwrap()).iter().sum();
        let late = run(inbox.take_all());
        assert_eq!(early + late, 3, "inbox.owned");
        assert_eq!(drops.count(), 3, "inbox.owned");
        assert!((1..=2).contains(&told), "inbox.once-told");
    });
}

// WITNESS: inbox.once-told
#[test]
fn every_chain_that_is_taken_was_told_once() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::new());
        let drops = Drops::new();
        let queue = Queue::new();
        let pusher = {
            let (inbox, drops) = (Arc::clone(&inbox), drops.clone());
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let pushes = [(); 2].map(|()| inbox.push(runnable(&queue, &drops)));
                firsts(&pushes)
            })
        };
        let mut chains = 0;
        for _ in 0..2 {
            chains += usize::from(run(inbox.take_all()) > 0);
        }
        let told = pusher.join().unwrap();
        chains += usize::from(run(inbox.take_all()) > 0);
        assert_eq!(told, chains, "inbox.once-told");
    });
}

// The other way round: loom keeps one access a thread and atomic, so that the side that looks first
// has to be the spawned one, too.
// WITNESS: inbox.push, inbox.owned
#[test]
fn take_racing_two_pushes_takes_whole_chains() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::new());
        let drops = Drops::new();
        let queue = Queue::new();
        let owner = {
            let inbox = Arc::clone(&inbox);
            thread::spawn(move || run(inbox.take_all()))
        };
        for _ in 0..2 {
            let _ = inbox.push(runnable(&queue, &drops));
        }
        let early = owner.join().unwrap();
        assert_eq!(early + run(inbox.take_all()), 2, "inbox.owned");
        assert_eq!(drops.count(), 2, "inbox.owned");
    });
}

// WITNESS: inbox.closed, inbox.push, inbox.owned
#[test]
fn push_racing_close_is_taken_or_given_back() {
    loom::model(|| {
        let inbox = Arc::new(Inbox::new());
        let drops = Drops::new();
        let queue = Queue::new();
        let pusher = {
            let (inbox, drops) = (Arc::clone(&inbox), drops.clone());
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let mut given_back = 0;
                for _ in 0..2 {
                    if let Pushed::Closed(back) = inbox.push(runnable(&queue, &drops)) {
                        given_back += 1;
                        let _ = back.run();
                    }
                }
                given_back
            })
        };
        let taken = run(inbox.close());
        let given_back = pusher.join().unwrap();
        assert_eq!(taken + given_back, 2, "inbox.closed");
        assert_eq!(drops.count(), 2, "inbox.owned");
        assert!(inbox.take_all().is_empty(), "inbox.closed");
    });
}

//! Who sleeps and who searches, with a queue of work beside the word and a parker for each worker:
//! a wake-up that is lost is a model that stands still.

use crate::pool::idle::{Idle, OnDoze, OnSearch, OnSleep, OnWake};
use loom::thread;
use mainspring_core::park::{Parker, Unparker};
use mainspring_core::sync::Arc;
use mainspring_core::sync::queue::SegQueue;

/// Workers, and work that anybody may take.
struct Floor {
    idle: Idle,
    work: SegQueue<u32>,
    unparkers: Vec<Unparker>,
}

fn floor(workers: usize) -> (Arc<Floor>, Vec<Parker>) {
    let parkers: Vec<Parker> = (0..workers).map(|_| Parker::new()).collect();
    let floor = Floor {
        idle: Idle::new(workers),
        work: SegQueue::new(),
        unparkers: parkers.iter().map(Parker::unparker).collect(),
    };
    (Arc::new(floor), parkers)
}

impl Floor {
    fn produce(&self, work: u32) {
        self.work.push(work);
        self.wake(self.idle.notify(0));
    }

    fn wake(&self, chosen: Option<usize>) {
        if let Some(worker) = chosen {
            self.unparkers[worker].unpark();
        }
    }

    /// A worker that does one piece of work, and is busy with it for ever.
    fn take_one(&self, worker: usize, parker: &Parker, mut is_searching: bool) {
        while self.work.pop().is_none() {
            let look = self.idle.fall_asleep(worker, is_searching);
            if look == OnSleep::LookAtOwn || self.work.is_empty() {
                parker.park();
            }
            is_searching = self.idle.wake_up(worker) == OnWake::Chosen;
        }
        if is_searching {
            self.wake(self.idle.found(worker));
        }
    }
}

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

// WITNESS: idle.dekker, idle.no-lost-work
#[test]
fn push_racing_sleep_is_seen_or_wakes() {
    loom::model(|| {
        let (floor, parkers) = floor(1);
        let producer = floor.clone();
        let other = thread::spawn(move || producer.produce(1));
        floor.take_one(0, &parkers[0], false);
        other.join().unwrap();
    });
}

// WITNESS: idle.dekker, idle.no-lost-work
#[test]
fn push_racing_sleep_is_seen_or_wakes_with_the_producer_first() {
    loom::model(|| {
        let (floor, mut parkers) = floor(1);
        let (sleeper, parker) = (floor.clone(), parkers.remove(0));
        let other = thread::spawn(move || sleeper.take_one(0, &parker, false));
        floor.produce(1);
        other.join().unwrap();
    });
}

// WITNESS: idle.handed-on, idle.no-lost-work
#[test]
fn searcher_that_finds_something_else_hands_on_to_who_trusted_it() {
    explore(|| {
        let (floor, mut parkers) = floor(2);
        assert_eq!(floor.idle.try_search(1), OnSearch::Search);
        floor.work.push(1);
        let threads = [
            thread::spawn({
                let floor = floor.clone();
                move || floor.produce(2)
            }),
            thread::spawn({
                let (floor, parker) = (floor.clone(), parkers.remove(1));
                move || floor.take_one(1, &parker, true)
            }),
        ];
        floor.take_one(0, &parkers[0], false);
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(floor.work.is_empty());
    });
}

// WITNESS: idle.dekker, idle.handed-on
#[test]
fn last_searcher_of_a_group_hands_on_to_another_group() {
    explore(|| {
        // Workers 0 and 1 are one group, 2 is another; 1 is busy from beginning to end.
        let (floor, mut parkers) = floor(3);
        assert_eq!(floor.idle.try_search(0), OnSearch::Search);
        floor.work.push(1);
        let threads = [
            thread::spawn({
                let floor = floor.clone();
                move || floor.produce(2)
            }),
            thread::spawn({
                let (floor, parker) = (floor.clone(), parkers.remove(2));
                move || floor.take_one(2, &parker, false)
            }),
        ];
        floor.take_one(0, &parkers[0], true);
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(floor.work.is_empty());
    });
}

// WITNESS: idle.half, idle.counted
#[test]
fn of_two_workers_one_searches() {
    loom::model(|| {
        let (floor, _parkers) = floor(2);
        let searches = |floor: &Floor, worker| {
            let search = floor.idle.try_search(worker);
            let (_, searching) = floor.idle.counts();
            assert!(searching <= 1, "idle.half: {searching} of two search");
            if search == OnSearch::Search {
                assert_eq!(floor.idle.found(worker), None, "nobody sleeps");
            }
            search
        };
        let other = thread::spawn({
            let floor = floor.clone();
            move || searches(&floor, 1)
        });
        let here = searches(&floor, 0);
        let there = other.join().unwrap();
        assert!(here == OnSearch::Search || there == OnSearch::Search);
        assert_eq!(floor.idle.counts(), (0, 0), "idle.counted");
    });
}

// WITNESS: idle.chosen, idle.counted
#[test]
fn worker_that_is_chosen_while_it_thinks_better_of_it_searches() {
    loom::model(|| {
        let (floor, _parkers) = floor(2);
        let other = thread::spawn({
            let floor = floor.clone();
            move || floor.idle.notify(0)
        });
        let _look = floor.idle.fall_asleep(0, false);
        let woken = floor.idle.wake_up(0);
        let chosen = other.join().unwrap();
        match chosen {
            Some(worker) => assert_eq!((worker, woken), (0, OnWake::Chosen), "idle.chosen"),
            None => assert_eq!(woken, OnWake::ByItself, "idle.chosen: by nobody"),
        }
        assert_eq!(floor.idle.counts(), (0, chosen.iter().len()));
        if woken == OnWake::Chosen {
            assert_eq!(floor.idle.found(0), None);
        }
        assert_eq!(floor.idle.counts(), (0, 0), "idle.counted");
    });
}

// WITNESS: idle.chosen
#[test]
fn two_producers_do_not_choose_the_same_sleeper() {
    loom::model(|| {
        let (floor, _parkers) = floor(2);
        let _look = floor.idle.fall_asleep(0, false);
        let _look = floor.idle.fall_asleep(1, false);
        let other = thread::spawn({
            let floor = floor.clone();
            move || floor.idle.notify(0)
        });
        let here = floor.idle.notify(1);
        let there = other.join().unwrap();
        // The one that is chosen searches, and that is enough.
        assert_eq!(here.iter().len() + there.iter().len(), 1);
        assert_eq!(floor.idle.counts(), (1, 1), "idle.counted");
    });
}

/// A floor with a watchdog, and its parker.
fn watched(workers: usize) -> (Arc<Floor>, Vec<Parker>, Parker) {
    let parkers: Vec<Parker> = (0..workers).map(|_| Parker::new()).collect();
    let watchdog = Parker::new();
    let floor = Floor {
        idle: Idle::new(workers).watched(watchdog.unparker()),
        work: SegQueue::new(),
        unparkers: parkers.iter().map(Parker::unparker).collect(),
    };
    (Arc::new(floor), parkers, watchdog)
}

impl Floor {
    /// The watchdog, until somebody is awake for good: a sleep that nobody ends is a model that
    /// stands still.
    fn watch(&self, watchdog: &Parker, rounds: usize) {
        for _ in 0..rounds {
            if self.idle.try_doze() == OnDoze::Doze {
                watchdog.park();
            }
        }
    }
}

// WITNESS: idle.watched
#[test]
fn watchdog_that_dozes_as_a_worker_wakes_is_called() {
    loom::model(|| {
        let (floor, _parkers, watchdog) = watched(1);
        let worker = floor.clone();
        let other = thread::spawn(move || {
            for _ in 0..2 {
                let _look = worker.idle.fall_asleep(0, false);
                assert_eq!(worker.idle.wake_up(0), OnWake::ByItself);
            }
        });
        floor.watch(&watchdog, 3);
        other.join().unwrap();
        assert_eq!(floor.idle.try_doze(), OnDoze::Watch);
    });
}

// WITNESS: idle.watched
#[test]
fn watchdog_that_dozes_as_a_worker_is_chosen_is_called_by_that_one() {
    explore(|| {
        let (floor, mut parkers, watchdog) = watched(1);
        let (worker, parker) = (floor.clone(), parkers.remove(0));
        let producer = floor.clone();
        let threads = [
            thread::spawn(move || worker.take_one(0, &parker, false)),
            thread::spawn(move || producer.produce(1)),
        ];
        floor.watch(&watchdog, 2);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

// WITNESS: idle.watched
#[test]
fn watchdog_of_two_groups_is_called_by_a_worker_of_either() {
    explore(|| {
        // Workers 0 and 1 are one group, 2 is another.
        let (floor, _parkers, watchdog) = watched(3);
        for worker in 0..3 {
            let _look = floor.idle.fall_asleep(worker, false);
        }
        let threads = [0, 2].map(|worker| {
            let floor = floor.clone();
            thread::spawn(move || {
                assert_eq!(floor.idle.wake_up(worker), OnWake::ByItself);
            })
        });
        floor.watch(&watchdog, 2);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

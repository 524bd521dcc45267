//! The word on one thread.

use crate::pool::idle::{Idle, OnDoze, OnSearch, OnSleep, OnWake};
use mainspring_core::driver::Until;
use mainspring_core::park::{Parker, Woken};
use mainspring_core::random::Random;

// WITNESS: idle.half
#[test]
fn half_of_a_group_searches_rounded_up() {
    for workers in [1, 2, 3, 8, 48, 49, 50, 100] {
        let idle = Idle::new(workers);
        let searching = (0..workers)
            .filter(|worker| idle.try_search(*worker) == OnSearch::Search)
            .count();
        let groups = (0..workers).step_by(48);
        let half: usize = groups
            .map(|first| (workers - first).min(48).div_ceil(2))
            .sum();
        assert_eq!(searching, half, "idle.half: of {workers}");
        assert_eq!(idle.counts(), (0, half));
    }
}

#[test]
fn sleeper_looks_unless_somebody_else_searches() {
    let idle = Idle::new(3);
    assert_eq!(idle.fall_asleep(0, false), OnSleep::Look);
    assert_eq!(idle.try_search(1), OnSearch::Search);
    assert_eq!(idle.fall_asleep(2, false), OnSleep::LookAtOwn);
    // The last searcher looks itself.
    assert_eq!(idle.fall_asleep(1, true), OnSleep::Look);
    assert_eq!(idle.counts(), (3, 0));
}

// WITNESS: idle.handed-on
#[test]
fn search_goes_on_in_another_group_when_nobody_sleeps_in_this_one() {
    let idle = Idle::new(60);
    assert_eq!(idle.fall_asleep(50, false), OnSleep::Look);
    assert_eq!(idle.try_search(3), OnSearch::Search);
    assert_eq!(idle.notify(0), None, "somebody searches");
    assert_eq!(idle.found(3), Some(50), "idle.handed-on");
    assert_eq!(idle.wake_up(50), OnWake::Chosen);
    assert_eq!(idle.found(50), None);
    assert_eq!(idle.counts(), (0, 0));
    // A producer looks at its own group first, then at the others.
    let _look = idle.fall_asleep(59, false);
    assert_eq!(idle.notify(1), Some(59));
}

// WITNESS: idle.watched
#[test]
fn watchdog_dozes_while_all_sleep_and_is_called_by_the_first_that_wakes() {
    for workers in [1, 2, 48, 49, 100] {
        let parker = Parker::new();
        let idle = Idle::new(workers).watched(parker.unparker());
        let is_called = || parker.park_until(Until::Now) == Woken::Notified;
        for worker in 0..workers {
            assert_eq!(
                idle.try_doze(),
                OnDoze::Watch,
                "idle.watched: {worker} is awake"
            );
            let _look = idle.fall_asleep(worker, false);
        }
        for woken in [0, workers / 2, workers - 1] {
            assert_eq!(idle.try_doze(), OnDoze::Doze);
            assert!(!is_called());
            assert_eq!(idle.wake_up(woken), OnWake::ByItself);
            assert!(is_called(), "idle.watched: {woken} runs unwatched");
            assert_eq!(idle.try_doze(), OnDoze::Watch);
            let _look = idle.fall_asleep(woken, false);
            let _woken = idle.wake_up(woken);
            assert!(!is_called(), "one call is enough");
            let _look = idle.fall_asleep(woken, false);
        }
        // One that is chosen is awake from then on, and calls when it knows.
        assert_eq!(idle.try_doze(), OnDoze::Doze);
        let chosen = idle.notify(0).expect("everybody sleeps");
        assert!(!is_called());
        assert_eq!(idle.try_doze(), OnDoze::Watch);
        assert_eq!(idle.wake_up(chosen), OnWake::Chosen);
        assert!(is_called(), "idle.watched: {chosen} runs unwatched");
        assert_eq!(idle.found(chosen).is_some(), workers > 1, "idle.handed-on");
    }
}

/// What one worker is, for the reference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Awake,
    Searching,
    Asleep,
    /// Its bit is cleared and it does not know yet.
    Chosen,
}

// WITNESS: idle.counted, idle.chosen
#[test]
fn any_order_of_moves_counts_as_a_plain_list_does() {
    for _ in 0..200 {
        mainspring_testkit::seeded(any_order);
    }
}

fn any_order(random: &mut Random) {
    let workers = 1 + random.below(100) as usize;
    let idle = Idle::new(workers);
    let mut list = vec![Is::Awake; workers];
    for _ in 0..200 {
        let worker = random.below(workers as u32) as usize;
        let chosen = match (list[worker], random.below(3)) {
            (Is::Awake, 0) => {
                if idle.try_search(worker) == OnSearch::Search {
                    list[worker] = Is::Searching;
                }
                None
            }
            (Is::Awake, 1) => idle.notify(worker),
            (Is::Searching, 0) => {
                list[worker] = Is::Awake;
                idle.found(worker)
            }
            (is @ (Is::Awake | Is::Searching), _) => {
                let _look = idle.fall_asleep(worker, is == Is::Searching);
                list[worker] = Is::Asleep;
                None
            }
            (Is::Asleep, _) => {
                assert_eq!(idle.wake_up(worker), OnWake::ByItself, "idle.chosen");
                list[worker] = Is::Awake;
                None
            }
            (Is::Chosen, _) => {
                assert_eq!(idle.wake_up(worker), OnWake::Chosen, "idle.chosen");
                list[worker] = Is::Searching;
                None
            }
        };
        if let Some(chosen) = chosen {
            assert!(list[chosen] == Is::Asleep, "idle.chosen: no sleeper");
            list[chosen] = Is::Chosen;
        }
        let many = |which: &[Is]| list.iter().filter(|is| which.contains(is)).count();
        let counts = (many(&[Is::Asleep]), many(&[Is::Searching, Is::Chosen]));
        assert_eq!(idle.counts(), counts, "idle.counted");
    }
}

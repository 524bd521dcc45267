//! Permits are conserved, whatever is resized, forgotten, split, closed and dropped.

use crate::ODDS;
use mainspring_core::sync::{Crew, below, block_on, explore, thread, wait_or_drop};
use mainspring_sync::semaphore::{AcquireError, Semaphore};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many permits are held, behind the scheduler's back.
#[derive(Default)]
struct Held(AtomicUsize);

impl Held {
    fn enter(&self, permits: usize, most: usize) {
        let now = self.0.fetch_add(permits, Relaxed) + permits;
        assert!(now <= most, "{now} permits are held of {most}");
    }

    fn leave(&self, permits: usize) {
        self.0.fetch_sub(permits, Relaxed);
    }
}

fn any_semaphore(permits: usize) -> Semaphore {
    match below(3) {
        0 => Semaphore::new(permits),
        1 => Semaphore::strict(permits),
        _ => Semaphore::new(permits).revocable(),
    }
}

/// Takes one or two permits some times; each may be split, and given back in parts.
fn use_permits(semaphore: &Semaphore, held: &Held, most: usize) -> Result<(), AcquireError> {
    for _ in 0..3 {
        let permits = 1 + below(2) as usize;
        let Some(result) = wait_or_drop(ODDS, semaphore.acquire(permits)) else {
            continue;
        };
        let mut permit = result?;
        held.enter(permits, most);
        thread::yield_now();
        if below(2) == 0 {
            let part = permit.split(1).expect("it has one");
            held.leave(1);
            drop(part);
            held.leave(permits - 1);
        } else {
            held.leave(permits);
        }
        drop(permit);
    }
    Ok(())
}

#[test]
fn permits_are_conserved_and_nobody_is_forgotten() {
    explore(|| {
        let shared = Arc::new((any_semaphore(2), Held::default()));
        let users: Vec<_> = (0..3)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || use_permits(&shared.0, &shared.1, 2))
            })
            .collect();
        for user in users {
            user.join().unwrap().unwrap();
        }
        assert_eq!((shared.0.available(), shared.0.capacity()), (2, 2));
    });
}

#[test]
fn resized_semaphore_has_its_last_size_in_the_end() {
    explore(|| {
        let shared = Arc::new((any_semaphore(2), Held::default()));
        let users: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                // Held permits outlive a shrinking: the most there ever were is the bound.
                thread::spawn(move || use_permits(&shared.0, &shared.1, 4))
            })
            .collect();
        for _ in 0..3 {
            match below(4) {
                0 => drop(shared.0.forget(1)),
                1 => {
                    // Not waited for: nobody else makes it larger again.
                    if let Ok(permit) = shared.0.try_acquire(1) {
                        permit.forget();
                    }
                }
                _ => shared.0.resize(below(4) as usize).unwrap(),
            }
        }
        shared.0.resize(3).unwrap();
        for user in users {
            user.join().unwrap().unwrap();
        }
        assert_eq!((shared.0.available(), shared.0.capacity()), (3, 3));
    });
}

#[test]
fn close_releases_all_who_wait_and_keeps_what_is_held() {
    explore(|| {
        let shared = Arc::new((any_semaphore(2), Held::default()));
        let users: Vec<_> = (0..3)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || use_permits(&shared.0, &shared.1, 2))
            })
            .collect();
        shared.0.close();
        for user in users {
            let result = user.join().unwrap();
            assert!(matches!(result, Ok(()) | Err(AcquireError::Closed)));
        }
        assert_eq!(shared.0.available(), 2, "held and given back");
        let refused = block_on(shared.0.acquire(1)).err();
        assert_eq!(refused, Some(AcquireError::Closed));
    });
}

/// One task may be dropped with an offer that it has not polled; others of its thread are not
/// woken for it.
#[test]
fn offers_of_dropped_tasks_go_on() {
    explore(|| {
        let semaphore = Arc::new(any_semaphore(1));
        let other = Arc::clone(&semaphore);
        let use_by_crew = |semaphore: &Semaphore, odds| {
            let mut crew = Crew::new();
            for _ in 0..3 {
                crew.add(async {
                    let permit = semaphore.acquire(1).await.unwrap();
                    thread::yield_now();
                    drop(permit);
                });
            }
            crew.run_or_drop(odds);
        };
        let other = thread::spawn(move || use_by_crew(&other, ODDS));
        // Nobody is dropped here: all have to be served.
        use_by_crew(&semaphore, u32::MAX);
        other.join().unwrap();
        assert_eq!(semaphore.available(), 1);
    });
}

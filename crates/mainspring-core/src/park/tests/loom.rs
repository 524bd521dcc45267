//! Each model hands work over through [`ManualClock`], whose accesses are relaxed: that the
//! parker sees it is the parker's own doing.

use crate::park::{Parker, Sleep, Woken};
use crate::time::{Clock, ManualClock, Nanos};
use loom::thread;

// WITNESS: park.token, park.asleep, park.wake
#[test]
fn unpark_racing_park_is_never_slept_through() {
    loom::model(|| {
        let parker = Parker::new();
        let work = ManualClock::new(Nanos(0));
        let (unparker, theirs) = (parker.unparker(), work.clone());
        let other = thread::spawn(move || {
            theirs.set(Nanos(1));
            unparker.unpark();
        });
        while work.now() != Nanos(1) {
            parker.park();
        }
        other.join().unwrap();
    });
}

// WITNESS: park.token, park.wake
#[test]
fn second_unpark_is_not_lost_in_the_first() {
    loom::model(|| {
        let parker = Parker::new();
        let work = ManualClock::new(Nanos(0));
        let (unparker, theirs) = (parker.unparker(), work.clone());
        let other = thread::spawn(move || {
            theirs.set(Nanos(1));
            unparker.unpark();
            theirs.set(Nanos(2));
            unparker.unpark();
        });
        while work.now() != Nanos(2) {
            parker.park();
        }
        other.join().unwrap();
    });
}

/// The halves of `park_until` around a wait whose limit passes at once, then the work that the
/// token stands for.
fn park_without_waiting(parker: &Parker, work: &ManualClock) {
    let shared = &parker.shared;
    let guard = shared.lock.lock();
    let woken = match shared.fall_asleep() {
        Sleep::TokenWaits => shared.take_token(),
        Sleep::Asleep => shared.give_up(),
    };
    drop(guard);
    if woken == Woken::TimedOut {
        parker.park();
    }
    assert_eq!(
        work.now(),
        Nanos(1),
        "park.wake: the token came without the work"
    );
}

// WITNESS: park.token, park.wake
#[test]
fn limit_racing_unpark_takes_the_token_or_leaves_it() {
    loom::model(|| {
        let parker = Parker::new();
        let work = ManualClock::new(Nanos(0));
        let (unparker, theirs) = (parker.unparker(), work.clone());
        let other = thread::spawn(move || {
            theirs.set(Nanos(1));
            unparker.unpark();
        });
        park_without_waiting(&parker, &work);
        other.join().unwrap();
    });
}

// The other way round: loom keeps one access a thread and atomic, so that each side of a race has
// to be the spawned one once.
// WITNESS: park.token, park.wake
#[test]
fn unpark_racing_a_limit_hands_the_work_over() {
    loom::model(|| {
        let parker = Parker::new();
        let work = ManualClock::new(Nanos(0));
        let (unparker, theirs) = (parker.unparker(), work.clone());
        let other = thread::spawn(move || park_without_waiting(&parker, &theirs));
        work.set(Nanos(1));
        unparker.unpark();
        other.join().unwrap();
    });
}

/// The textbook's forms, with a swap where it stores: loom takes a plain store beside a
/// read-modify-write for a deadlock of its own.
mod printed {
    use crate::sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    };
    use crate::sync::{Arc, Condvar, Mutex};
    use crate::time::{Clock, ManualClock, Nanos};
    use loom::thread;

    const EMPTY: u32 = 0;
    const PARKED: u32 = 1;
    const NOTIFIED: u32 = 2;

    struct Shared {
        word: AtomicU32,
        lock: Mutex<()>,
        woken: Condvar,
    }

    impl Shared {
        fn new() -> Arc<Self> {
            Arc::new(Self {
                word: AtomicU32::new(EMPTY),
                lock: Mutex::new(()),
                woken: Condvar::new(),
            })
        }

        fn unpark(&self) {
            if self.word.swap(NOTIFIED, Release) == PARKED {
                drop(self.lock.lock());
                self.woken.notify_one();
            }
        }

        /// PARKED over whatever was there.
        fn park_that_overwrites(&self) {
            let mut guard = self.lock.lock();
            self.word.swap(PARKED, Relaxed);
            while self
                .word
                .compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed)
                .is_err()
            {
                guard = self.woken.wait(guard);
            }
        }

        /// The token looked at first, thrown away afterwards.
        fn park_that_looks_then_stores(&self) {
            let mut guard = self.lock.lock();
            if self
                .word
                .compare_exchange(EMPTY, PARKED, Relaxed, Relaxed)
                .is_ok()
            {
                while self.word.load(Acquire) != NOTIFIED {
                    guard = self.woken.wait(guard);
                }
            }
            self.word.swap(EMPTY, Relaxed);
        }
    }

    fn hand_over_two(park: fn(&Shared)) {
        loom::model(move || {
            let shared = Shared::new();
            let work = ManualClock::new(Nanos(0));
            let (theirs, clock) = (Arc::clone(&shared), work.clone());
            let other = thread::spawn(move || {
                clock.set(Nanos(1));
                theirs.unpark();
                clock.set(Nanos(2));
                theirs.unpark();
            });
            while work.now() != Nanos(2) {
                park(&shared);
            }
            other.join().unwrap();
        });
    }

    // CORRECTION: 8
    #[test]
    fn printed_park_stores_parked_over_a_token() {
        hand_over_two(Shared::park_that_overwrites);
    }

    // CORRECTION: 9
    #[test]
    fn printed_park_stores_empty_over_a_second_token() {
        hand_over_two(Shared::park_that_looks_then_stores);
    }
}

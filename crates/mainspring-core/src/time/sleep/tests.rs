use super::{Sleep, coalesced, sleep, sleep_until};
use crate::poll::{BUDGET_UNITS, Polling, has_yielded, replace_budget};
use crate::tests::kept::keep;
use crate::time::{
    EntryRef, ManualClock, Nanos, OnDeregister, OnFire, OnRegister, OnReset, OnRewake, Phase,
    Timers, TimersRef, current_timers, enter_clock, enter_timers, now,
};
use proptest::prelude::*;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Timers of one list that a test advances, and that count their locks.
#[derive(Default)]
struct Manual {
    armed: Mutex<Vec<(Nanos, EntryRef)>>,
    locks: AtomicUsize,
    refuses: bool,
}

impl Manual {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Nanos, EntryRef)>> {
        self.locks.fetch_add(1, Relaxed);
        self.armed.lock().unwrap()
    }

    fn advance(&self, now: Nanos) -> usize {
        let mut due = Vec::new();
        let mut armed = self.lock();
        let (passed, rest) = armed.drain(..).partition(|(deadline, _)| *deadline <= now);
        *armed = rest;
        let passed: Vec<(Nanos, EntryRef)> = passed;
        for (_, entry) in passed {
            // SAFETY: [entry.linked] armed, unlinked above, under the lock.
            match unsafe { entry.fire(now) } {
                OnFire::Fired(waker) => due.push(waker),
                OnFire::Later(deadline) => armed.push((deadline, entry)),
            }
        }
        drop(armed);
        due.drain(..).map(Waker::wake).count()
    }

    fn shut_down(&self) {
        let entries: Vec<_> = self.lock().drain(..).collect();
        for (_, entry) in entries {
            // SAFETY: [entry.linked] armed and unlinked; one thread, so no lock is needed.
            if let OnDeregister::Removed(waker) = unsafe { entry.evict() } {
                waker.wake();
            }
        }
    }
}

// SAFETY: [entry.linked] as the contract says: one lock, unlinked before it fires or is evicted.
unsafe impl Timers for Manual {
    unsafe fn register(&self, entry: EntryRef, deadline: Nanos, waker: Waker) -> OnRegister {
        if self.refuses {
            return OnRegister::Refused(waker);
        }
        let mut armed = self.lock();
        armed.push((deadline, entry));
        // SAFETY: [entry.linked] in `register`, under the lock.
        unsafe { entry.arm(deadline, waker) };
        OnRegister::Armed
    }

    unsafe fn deregister(&self, entry: EntryRef) -> OnDeregister {
        let mut armed = self.lock();
        armed.retain(|(_, other)| *other != entry);
        // SAFETY: [entry.linked] under the lock, unlinked, the owner calls.
        unsafe { entry.evict() }
    }

    unsafe fn reset(&self, entry: EntryRef, deadline: Nanos) -> OnReset {
        let mut armed = self.lock();
        for (place, _) in armed.iter_mut().filter(|(_, other)| *other == entry) {
            *place = deadline;
        }
        // SAFETY: [entry.linked] under the lock, the owner calls.
        unsafe { entry.set_deadline(deadline) }
    }

    unsafe fn rewake(&self, entry: EntryRef, waker: Waker) -> OnRewake {
        let armed = self.lock();
        // SAFETY: [entry.linked] under the lock, the owner calls.
        let verdict = unsafe { entry.replace_waker(waker) };
        drop(armed);
        verdict
    }
}

struct World {
    clock: ManualClock,
    manual: &'static Manual,
    name: TimersRef,
}

/// A clock at 1,000 and timers for it. The timers live for ever, as all do.
fn world(refuses: bool) -> World {
    let manual = keep(Manual {
        refuses,
        ..Manual::default()
    });
    let timers: &'static dyn Timers = manual;
    World {
        clock: ManualClock::new(Nanos(1_000)),
        manual,
        name: TimersRef::new(keep(timers)),
    }
}

impl World {
    fn enter(&self) -> crate::context::Entered {
        enter_clock(Arc::new(self.clock.clone())).and(enter_timers(self.name))
    }

    fn go_to(&self, now: u64) -> usize {
        self.clock.set(Nanos(now));
        self.manual.advance(Nanos(now))
    }
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn poll(sleep: Pin<&mut Sleep>, waker: &Waker) -> Poll<()> {
    sleep.poll(&mut Context::from_waker(waker))
}

// WITNESS: sleep.never-early, entry.linked, entry.init
#[test]
fn sleep_fires_at_its_deadline_and_not_before() {
    let world = world(false);
    let _entered = world.enter();
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut nap = pin!(sleep(Duration::from_nanos(500)));
    assert!(poll(nap.as_mut(), &waker).is_pending());
    assert_eq!(world.go_to(1_499), 0);
    assert!(poll(nap.as_mut(), &waker).is_pending());
    assert!(!nap.is_elapsed());
    assert_eq!(world.go_to(1_500), 1);
    assert_eq!(count.0.load(Relaxed), 1);
    assert!(nap.is_elapsed());
    assert!(poll(nap.as_mut(), &waker).is_ready());
    assert!(
        poll(nap.as_mut(), &waker).is_ready(),
        "complete stays complete"
    );
}

// WITNESS: sleep.lazy
#[test]
fn never_polled_sleep_takes_no_lock() {
    let world = world(false);
    let _entered = world.enter();
    let mut nap = Box::pin(sleep(Duration::from_secs(1)).precise());
    nap.as_mut().reset(Instant::now() + Duration::from_secs(9));
    nap.as_mut().reset_nanos(Nanos(2_000));
    drop(nap);
    assert_eq!(world.manual.locks.load(Relaxed), 0, "sleep.lazy");
}

// WITNESS: entry.pinned, sleep.pinned
#[test]
fn dropped_sleep_is_unlinked_and_its_waker_gone() {
    let world = world(false);
    let _entered = world.enter();
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut nap = Box::pin(sleep(Duration::from_secs(1)));
    assert!(poll(nap.as_mut(), &waker).is_pending());
    assert_eq!(Arc::strong_count(&count), 3);
    drop(nap);
    assert_eq!(Arc::strong_count(&count), 2, "entry.init: the waker stayed");
    assert!(world.manual.lock().is_empty(), "entry.linked: still linked");
    assert_eq!(world.go_to(u64::MAX - 1), 0);
}

// WITNESS: entry.linked
#[test]
fn later_reset_takes_no_lock_and_the_old_place_honours_it() {
    let world = world(false);
    let _entered = world.enter();
    let mut nap = pin!(sleep(Duration::from_nanos(100)));
    assert!(poll(nap.as_mut(), Waker::noop()).is_pending());
    let locks = world.manual.locks.load(Relaxed);
    nap.as_mut().reset_nanos(Nanos(5_000));
    assert_eq!(
        world.manual.locks.load(Relaxed),
        locks,
        "extending is one store"
    );
    assert_eq!(world.go_to(1_100), 0, "sleep.never-early");
    assert!(poll(nap.as_mut(), Waker::noop()).is_pending());
    assert_eq!(world.go_to(5_000), 1);
    assert!(poll(nap.as_mut(), Waker::noop()).is_ready());
}

#[test]
fn earlier_reset_fires_earlier_and_a_fired_sleep_can_be_armed_again() {
    let world = world(false);
    let _entered = world.enter();
    let mut nap = pin!(sleep(Duration::from_secs(1)));
    assert!(poll(nap.as_mut(), Waker::noop()).is_pending());
    nap.as_mut().reset_nanos(Nanos(1_200));
    assert_eq!(world.go_to(1_200), 1);
    nap.as_mut().reset_nanos(Nanos(1_300));
    assert!(poll(nap.as_mut(), Waker::noop()).is_pending());
    assert_eq!(world.go_to(1_300), 1);
    assert!(poll(nap.as_mut(), Waker::noop()).is_ready());
}

// WITNESS: entry.alive
#[test]
fn reset_under_other_timers_moves_there_and_they_may_shut_down_first() {
    let (home, away) = (world(false), world(false));
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut nap = pin!(Sleep::until(Nanos(4_000)));
    let at_home = home.enter();
    assert!(poll(nap.as_mut(), &waker).is_pending());
    drop(at_home);
    {
        let _away = away.enter();
        nap.as_mut().reset_nanos(Nanos(6_000));
    }
    assert!(home.manual.lock().is_empty());
    assert_eq!(nap.entry.registered_with(), Some(away.name));
    away.manual.shut_down();
    assert_eq!(count.0.load(Relaxed), 1, "evicted and not woken");
    let _home = home.enter();
    assert!(poll(nap.as_mut(), &waker).is_pending());
    assert_eq!(home.go_to(6_000), 1);
    assert!(poll(nap.as_mut(), &waker).is_ready());
}

#[test]
fn another_waker_replaces_the_first_and_the_same_takes_no_lock() {
    let world = world(false);
    let _entered = world.enter();
    let (first, second) = (Arc::new(Count::default()), Arc::new(Count::default()));
    let (one, two) = (
        Waker::from(Arc::clone(&first)),
        Waker::from(Arc::clone(&second)),
    );
    let mut nap = pin!(sleep(Duration::from_nanos(9)));
    assert!(poll(nap.as_mut(), &one).is_pending());
    let locks = world.manual.locks.load(Relaxed);
    assert!(poll(nap.as_mut(), &one).is_pending());
    assert_eq!(world.manual.locks.load(Relaxed), locks);
    assert!(poll(nap.as_mut(), &two).is_pending());
    assert_eq!(Arc::strong_count(&first), 2, "the old waker stayed");
    world.go_to(1_009);
    assert_eq!((first.0.load(Relaxed), second.0.load(Relaxed)), (0, 1));
}

// WITNESS: sleep.budget
#[test]
fn spent_budget_delays_an_elapsed_sleep_once_and_no_more() {
    let world = world(false);
    let _entered = world.enter();
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut nap = pin!(Sleep::until(Nanos(1_000)));
    for expected in [false, true] {
        // A neighbour in the same task spends the whole budget first, every time.
        let polling = Polling::begin(None);
        replace_budget(Some(0));
        assert_eq!(
            poll(nap.as_mut(), &waker).is_ready(),
            expected,
            "sleep.budget"
        );
        assert_eq!(has_yielded(), !expected);
        drop(polling);
    }
    assert_eq!(count.0.load(Relaxed), 1);
}

// WITNESS: sleep.budget
#[test]
fn loop_over_elapsed_sleeps_yields() {
    let _polling = Polling::begin(None);
    let ready = (0..=BUDGET_UNITS)
        .map(|_| poll(pin!(Sleep::until(Nanos(1))), Waker::noop()))
        .take_while(Poll::is_ready)
        .count();
    assert_eq!(ready, BUDGET_UNITS as usize, "sleep.budget");
}

#[test]
fn turn_clock_completes_what_late_timers_have_not_fired() {
    let world = world(false);
    let _entered = world.enter();
    let mut nap = pin!(sleep(Duration::from_nanos(10)));
    assert!(poll(nap.as_mut(), Waker::noop()).is_pending());
    crate::poll::begin_turn(Nanos(1_010));
    assert!(poll(nap.as_mut(), Waker::noop()).is_ready());
    crate::poll::begin_turn(Nanos::ZERO);
    assert!(world.manual.lock().is_empty());
}

#[test]
fn durations_around_the_sentinels_never_fire_and_never_panic() {
    let world = world(false);
    let _entered = world.enter();
    let far = [0, 1, 2, 3, 4, 1 << 20].map(|below| u64::MAX - below);
    for deadline in far {
        let mut nap = pin!(Sleep::until(Nanos(deadline)).slack(Duration::MAX));
        assert!(poll(nap.as_mut(), Waker::noop()).is_pending());
        assert_eq!(world.go_to(1 << 62), 0);
        nap.as_mut().reset_nanos(Nanos(1 << 62));
        assert_eq!(nap.entry.phase(), Phase::Armed(Nanos(1 << 62)));
        nap.as_mut().reset_nanos(Nanos(deadline));
    }
    let forever = sleep(Duration::MAX);
    assert_eq!(forever.deadline(), None);
    assert!(!forever.is_elapsed());
}

proptest! {
    #[test]
    fn coalesced_moment_is_in_the_slack_and_as_round_as_any(
        deadline in any::<u64>(), slack in 0_u64..10_000, shift in 0_u32..54,
    ) {
        let deadline = deadline >> shift;
        let chosen = coalesced(Nanos(deadline), slack).0;
        let latest = deadline.saturating_add(slack);
        prop_assert!((deadline..=latest).contains(&chosen));
        if deadline > 0 && latest < u64::MAX {
            let roundest = (deadline..=latest).map(u64::trailing_zeros).max();
            prop_assert_eq!(Some(chosen.trailing_zeros()), roundest);
        }
    }
}

#[test]
fn sleep_without_timers_uses_the_fallback_thread() {
    assert_eq!(current_timers(), None);
    let parker = crate::park::Parker::new();
    struct Unpark(crate::park::Unparker);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(parker.unparker())));
    let deadline = Instant::now() + Duration::from_millis(2);
    let mut nap = pin!(sleep_until(deadline));
    while poll(nap.as_mut(), &waker).is_pending() {
        parker.park();
    }
    assert!(Instant::now() >= deadline, "sleep.never-early");
}

#[test]
fn refusing_timers_send_a_sleep_to_the_fallback() {
    let world = world(true);
    let _entered = enter_timers(world.name);
    let mut nap = Box::pin(Sleep::until(
        now().saturating_add(Duration::from_secs(3_600)),
    ));
    assert!(poll(nap.as_mut(), Waker::noop()).is_pending());
    assert!(
        nap.entry
            .registered_with()
            .is_some_and(|timers| timers != world.name)
    );
    assert!(matches!(nap.entry.phase(), Phase::Armed(_)));
}

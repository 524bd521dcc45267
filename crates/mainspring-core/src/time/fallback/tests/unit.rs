use crate::tests::kept::keep;
use crate::time::fallback::Fallback;
use crate::time::{
    Clock, ManualClock, Nanos, OnRegister, Phase, Sleep, TimerClass, TimerEntry, Timers, TimersRef,
    enter_clock, enter_timers,
};
use crate::wake_batch::WakeBatch;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

fn fallback(start: fn() -> io::Result<()>) -> (&'static Fallback, TimersRef) {
    let fallback = keep(Fallback::new(start));
    let timers: &'static dyn Timers = fallback;
    (fallback, TimersRef::new(keep(timers)))
}

fn serve(fallback: &Fallback, now: Nanos) {
    let mut due = WakeBatch::new();
    while fallback
        .state
        .lock()
        .armed
        .peek()
        .is_some_and(|(deadline, _)| deadline <= now)
    {
        fallback.turn(|| now, &mut due);
    }
}

fn entry() -> Pin<Box<TimerEntry>> {
    Box::pin(TimerEntry::new(TimerClass::Normal))
}

const BATCH: usize = WakeBatch::CAPACITY;

struct Order(usize, Arc<Mutex<Vec<usize>>>);

impl Wake for Order {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
    }
}

// WITNESS: fallback.bounded, entry.linked
#[test]
fn timers_fire_in_deadline_order_and_ties_in_insertion_order() {
    let (fallback, name) = fallback(|| Ok(()));
    let fired = Arc::new(Mutex::new(Vec::new()));
    let mut entries: Vec<_> = (0..3 * BATCH).map(|_| entry()).collect();
    for (i, entry) in entries.iter_mut().enumerate() {
        let waker = Waker::from(Arc::new(Order(i, Arc::clone(&fired))));
        let deadline = Nanos(if i % 2 == 0 { 20 } else { 10 });
        assert!(matches!(
            entry.as_mut().arm(name, deadline, &waker),
            OnRegister::Armed
        ));
    }
    serve(fallback, Nanos(9));
    assert!(fired.lock().unwrap().is_empty());
    let mut due = WakeBatch::new();
    fallback.turn(|| Nanos(20), &mut due);
    assert_eq!(fired.lock().unwrap().len(), BATCH, "fallback.bounded");
    serve(fallback, Nanos(20));
    let expected: Vec<_> = (0..3 * BATCH)
        .filter(|i| i % 2 == 1)
        .chain((0..3 * BATCH).filter(|i| i % 2 == 0))
        .collect();
    assert_eq!(*fired.lock().unwrap(), expected);
    assert!(entries.iter().all(|entry| entry.phase() == Phase::Fired));
}

// WITNESS: fallback.served
#[test]
fn refused_thread_makes_the_sleep_poll_the_clock_until_it_is_there() {
    static TRIES: AtomicUsize = AtomicUsize::new(0);
    let (fallback, name) = fallback(|| {
        if TRIES.fetch_add(1, Relaxed) == 0 {
            Err(io::ErrorKind::WouldBlock.into())
        } else {
            Ok(())
        }
    });
    let mut lone = entry();
    assert!(matches!(
        lone.as_mut().arm(name, Nanos(5), Waker::noop()),
        OnRegister::Refused(_)
    ));
    assert_eq!(lone.phase(), Phase::Idle, "fallback.served");
    assert!(fallback.state.lock().armed.is_empty());
    assert!(matches!(
        lone.as_mut().arm(name, Nanos(5), Waker::noop()),
        OnRegister::Armed
    ));
    assert_eq!(TRIES.load(Relaxed), 2);
}

struct TakesTheLock {
    timers: TimersRef,
    nap: Mutex<Option<Pin<Box<Sleep>>>>,
    was_free: AtomicUsize,
}

impl Wake for TakesTheLock {
    /// Drops one sleep and arms another in the timers that are calling: both take their lock.
    fn wake(self: Arc<Self>) {
        drop(self.nap.lock().unwrap().take());
        let mut other = entry();
        let armed = other.as_mut().arm(self.timers, Nanos(900), Waker::noop());
        assert!(matches!(armed, OnRegister::Armed));
        self.was_free.fetch_add(1, Relaxed);
    }
}

mod printed {
    use std::sync::Mutex;
    use std::task::Waker;

    /// The textbook's timer thread at the moment it fires.
    pub(super) fn fire(shared: &Mutex<Option<Waker>>) {
        if let Some(waker) = shared.lock().unwrap().take() {
            waker.wake();
        }
    }
}

struct Looks(Arc<Mutex<Option<Waker>>>, AtomicUsize);

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        self.1
            .store(usize::from(self.0.try_lock().is_ok()), Relaxed);
    }
}

// CORRECTION: 18
#[test]
fn waker_runs_with_the_lock_free_where_the_printed_form_holds_it() {
    let shared = Arc::new(Mutex::new(None));
    let looks = Arc::new(Looks(Arc::clone(&shared), AtomicUsize::new(9)));
    *shared.lock().unwrap() = Some(Waker::from(Arc::clone(&looks)));
    printed::fire(&shared);
    assert_eq!(
        looks.1.load(Relaxed),
        0,
        "the printed form has let the lock go"
    );

    let (fallback, name) = fallback(|| Ok(()));
    let clock = ManualClock::new(Nanos(1));
    let _entered = enter_clock(Arc::new(clock)).and(enter_timers(name));
    let mut victim = Box::pin(Sleep::until(Nanos(800)));
    assert!(
        victim
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    let takes = Arc::new(TakesTheLock {
        timers: name,
        nap: Mutex::new(Some(victim)),
        was_free: AtomicUsize::new(0),
    });
    let mut first = entry();
    let waker = Waker::from(Arc::clone(&takes));
    assert!(matches!(
        first.as_mut().arm(name, Nanos(5), &waker),
        OnRegister::Armed
    ));
    serve(fallback, Nanos(5));
    assert_eq!(takes.was_free.load(Relaxed), 1, "the lock is held");
    assert!(fallback.state.lock().armed.is_empty());
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("on purpose");
    }
}

#[test]
fn waker_that_panics_keeps_nobody_else_from_waking() {
    let (fallback, name) = fallback(|| Ok(()));
    let fired = Arc::new(Mutex::new(Vec::new()));
    let wakers = [
        Waker::from(Arc::new(Panics)),
        Waker::from(Arc::new(Order(1, Arc::clone(&fired)))),
    ];
    let mut entries = [entry(), entry()];
    for (entry, waker) in entries.iter_mut().zip(&wakers) {
        assert!(matches!(
            entry.as_mut().arm(name, Nanos(5), waker),
            OnRegister::Armed
        ));
    }
    serve(fallback, Nanos(5));
    assert_eq!(*fired.lock().unwrap(), [1]);
}

// WITNESS: fallback.earliest
#[test]
fn arming_something_earlier_wakes_the_sleeping_thread() {
    let (fallback, name) = fallback(|| Ok(()));
    let clock = ManualClock::new(Nanos(1));
    let theirs = clock.clone();
    let mut far = pin!(TimerEntry::new(TimerClass::Normal));
    // An hour by a clock that stands still: only a notification ends this wait.
    let armed = far
        .as_mut()
        .arm(name, Nanos(3_600_000_000_000), Waker::noop());
    assert!(matches!(armed, OnRegister::Armed));
    let thread = std::thread::spawn(move || {
        let mut due = WakeBatch::new();
        while theirs.now() == Nanos(1) {
            fallback.turn(|| theirs.now(), &mut due);
        }
        fallback.turn(|| theirs.now(), &mut due);
    });
    let mut near = pin!(TimerEntry::new(TimerClass::Normal));
    clock.set(Nanos(10));
    assert!(matches!(
        near.as_mut().arm(name, Nanos(10), Waker::noop()),
        OnRegister::Armed
    ));
    assert!(thread.join().is_ok());
    let mut due = WakeBatch::new();
    if near.phase() != Phase::Fired {
        fallback.turn(|| clock.now(), &mut due);
    }
    assert_eq!(near.phase(), Phase::Fired, "fallback.earliest");
}

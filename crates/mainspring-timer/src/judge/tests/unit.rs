use crate::clock::{self, ClockHold, NoDriver};
use crate::driver::TimerDriver;
use crate::place::thread_number;
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, DriverHandle, ThreadDriver, Turn, Until};
use mainspring_core::load::{self, Load};
use mainspring_core::time::{self, Domain, Nanos, Sleep, now, sleep};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn make<D: Driver>(domain: &Domain, inner: D) -> TimerDriver<D> {
    let _made = domain.enter();
    TimerDriver::new(inner)
}

fn worker(domain: &Domain) -> (Entered, TimerDriver<ThreadDriver>) {
    let driver = make(domain, ThreadDriver::new());
    (driver.handle().enter(), driver)
}

fn paused() -> Domain {
    let domain = Domain::new();
    domain.pause();
    domain
}

fn armed(nap: Sleep) -> Pin<Box<Sleep>> {
    let mut nap = Box::pin(nap);
    assert!(
        nap.as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    nap
}

/// One that parks until its sleep has fired, and says when that was.
fn sleeps<D: Driver>(driver: &mut TimerDriver<D>, duration: Duration) -> Nanos {
    let nap = armed(sleep(duration));
    while !nap.is_elapsed() {
        let _turn = driver.park(Until::Forever).expect("parks");
    }
    now()
}

/// A driver to which something may come that calls nobody: it is there when it is looked for.
struct Letterbox {
    inner: ThreadDriver,
    has_letter: Arc<AtomicBool>,
    looks: Arc<AtomicUsize>,
}

impl Driver for Letterbox {
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        self.looks.fetch_add(1, SeqCst);
        if self.has_letter.swap(false, SeqCst) {
            return Ok(Turn {
                now: time::anchor(),
                woken: 1,
            });
        }
        self.inner.park(until)
    }

    fn peek(&self) -> bool {
        self.inner.peek()
    }

    fn handle(&self) -> Arc<dyn DriverHandle> {
        self.inner.handle()
    }
}

// WITNESS: judge.looked
#[test]
fn what_one_thread_has_sent_is_there_before_time_goes_on() {
    let domain = paused();
    let start = domain.now();
    // Awake from the start.
    let (entered, mut driver) = worker(&domain);
    let has_letter = Arc::<AtomicBool>::default();
    let (tell, told) = mpsc::channel();
    let other = {
        let (domain, has_letter) = (domain.clone(), Arc::clone(&has_letter));
        thread::spawn(move || {
            let looks = Arc::<AtomicUsize>::default();
            let letterbox = Letterbox {
                inner: ThreadDriver::new(),
                has_letter,
                looks: Arc::clone(&looks),
            };
            let mut driver = make(&domain, letterbox);
            let _entered = driver.handle().enter();
            let _nap = armed(sleep(HOUR));
            tell.send(looks).expect("somebody listens");
            let turn = driver.park(Until::Forever).expect("parks");
            (turn.woken, now())
        })
    };
    let looks = told.recv().expect("it says so");
    // Once before it falls asleep, once to sleep: from here on nothing calls it but the judge.
    while looks.load(SeqCst) < 2 {
        thread::yield_now();
    }
    has_letter.store(true, SeqCst);
    let woken = sleeps(&mut driver, 2 * HOUR);
    assert_eq!(other.join().expect("no panic"), (1, start));
    assert_eq!(woken.since(start), 2 * HOUR);
    drop(entered);
}

// WITNESS: judge.members
#[test]
fn driver_that_nobody_drives_keeps_no_clock_and_moves_none() {
    let domain = paused();
    let start = domain.now();
    let (entered, mut driver) = worker(&domain);
    let (kept_entered, mut kept) = worker(&domain);
    let nap = armed(sleep(HOUR)); // with the one that was entered last
    drop(kept_entered);
    assert_eq!(sleeps(&mut driver, 3 * HOUR).since(start), 3 * HOUR);
    assert!(
        format!("{nap:?}").contains("Armed"),
        "its own driver fires it: {nap:?}"
    );
    // One that is parked and not entered takes part for as long.
    let turn = kept.park(Until::Forever).expect("parks");
    assert_eq!((turn.woken, turn.now), (1, start.saturating_add(3 * HOUR)));
    drop(kept);
    drop((entered, driver));
    let _entered = domain.enter();
    assert_eq!(clock::pause(), Err(NoDriver), "it has no driver left");
}

#[test]
fn driver_further_up_the_stack_of_a_thread_sleeps_for_both() {
    let domain = paused();
    let start = domain.now();
    let (_entered, mut outer) = worker(&domain);
    // Made where the domain is current: it belongs there, too.
    let mut inner = TimerDriver::new(ThreadDriver::new());
    let woken = {
        let _entered = inner.handle().enter();
        sleeps(&mut inner, HOUR)
    };
    assert_eq!(woken.since(start), HOUR);
    assert_eq!(sleeps(&mut outer, HOUR).since(start), 2 * HOUR);
}

#[test]
fn limit_of_the_executor_is_a_deadline_like_any_other() {
    let domain = paused();
    let start = domain.now();
    let (_entered, mut driver) = worker(&domain);
    let _nap = armed(sleep(3 * HOUR));
    let until = start.saturating_add(HOUR);
    let turn = driver.park(Until::At(until)).expect("parks");
    assert_eq!((turn.now, turn.woken), (until, 0));
}

/// Says, so many times, that a task waits for a thread, and then calls this one.
struct Busy {
    times: AtomicUsize,
    driver: Arc<dyn DriverHandle>,
}

impl Load for Busy {
    fn delay(&self) -> Option<Nanos> {
        None
    }

    fn has_work(&self) -> bool {
        let busy = self.times.load(SeqCst) > 0;
        if busy {
            self.times.fetch_sub(1, SeqCst);
            self.driver.unpark();
        }
        busy
    }
}

#[test]
fn clock_stands_while_the_executor_has_work_that_nobody_was_called_for() {
    let domain = paused();
    let start = domain.now();
    let (_entered, mut driver) = worker(&domain);
    let _nap = armed(sleep(HOUR));
    let busy = Arc::new(Busy {
        times: AtomicUsize::new(1),
        driver: driver.handle(),
    });
    let _load = load::enter(Arc::clone(&busy) as Arc<dyn Load>);
    let turn = driver.park(Until::Forever).expect("parks");
    assert_eq!((turn.woken, now(), busy.times.load(SeqCst)), (0, start, 0));
    assert_eq!(
        driver.park(Until::Forever).expect("parks").woken,
        0,
        "told meanwhile"
    );
    assert_eq!(driver.park(Until::Forever).expect("parks").woken, 1);
    assert_eq!(now().since(start), HOUR);
}

#[test]
fn rescue_by_a_thread_outside_goes_by_the_drivers_clock() {
    let domain = paused();
    let (_entered, mut driver) = worker(&domain);
    let nap = armed(sleep(Duration::from_nanos(1)));
    let handle = driver.handle();
    let rescued = thread::spawn(move || handle.rescue(Nanos::MAX, 8)).join();
    assert_eq!((rescued.expect("no panic"), nap.is_elapsed()), (0, false));
    let hold = ClockHold::take().expect("a driver");
    drop(hold);
    assert_eq!(driver.park(Until::Forever).expect("parks").woken, 1);
}

// WITNESS: place.number
#[test]
fn no_two_threads_have_the_same_number() {
    let numbers = (0..8).map(|_| thread::spawn(thread_number).join());
    let mut seen: Vec<_> = numbers.map(|number| number.expect("no panic")).collect();
    seen.push(thread_number());
    assert_eq!(thread_number(), seen[8]);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 9);
}

use super::{ClockHold, NoDriver, advance, pause, resume};
use crate::driver::TimerDriver;
use crate::{interval, sleep};
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, ThreadDriver, Until};
use mainspring_core::time::{Domain, Nanos, now};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn driver() -> (TimerDriver<ThreadDriver>, Entered) {
    let driver = TimerDriver::new(ThreadDriver::new());
    let entered = driver.handle().enter();
    (driver, entered)
}

fn is_paused() -> bool {
    Domain::current().is_some_and(|domain| domain.is_paused())
}

fn block_on<F: Future>(driver: &mut TimerDriver<ThreadDriver>, future: F) -> F::Output {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => drop(driver.park(Until::Forever).expect("parks")),
        }
    }
}

#[test]
fn paused_clock_stands_still_and_jumps_exactly_when_idle() {
    let (mut driver, _entered) = driver();
    pause().expect("driven");
    let start = now();
    assert_eq!(now(), start);
    let _ = driver.park(Until::Now).expect("parks");
    assert_eq!(now(), start, "nobody would wait");
    block_on(&mut driver, sleep(HOUR));
    assert_eq!(now().since(start), HOUR);
}

// What was measured in paused time is the same in every run.
#[test]
fn a_thousand_paused_runs_tell_the_same_times() {
    for _ in 0..1000 {
        let (mut driver, _entered) = driver();
        pause().expect("driven");
        let start = now();
        let times = block_on(&mut driver, async {
            let mut ticks = interval(Duration::from_millis(7));
            let mut times = Vec::new();
            for _ in 0..3 {
                ticks.tick().await;
                times.push(now().since(start).as_micros());
                sleep(Duration::from_micros(1500)).await;
                times.push(now().since(start).as_micros());
            }
            times
        });
        assert_eq!(times, [0, 1500, 7000, 8500, 14_000, 15_500]);
    }
}

// WITNESS: timer-driver.idle
#[test]
fn unparked_driver_does_not_move_the_paused_clock() {
    let (mut driver, _entered) = driver();
    pause().expect("driven");
    let start = now();
    let mut cx = Context::from_waker(Waker::noop());
    let mut nap = pin!(sleep(HOUR));
    assert!(nap.as_mut().poll(&mut cx).is_pending());
    let handle = driver.handle();
    std::thread::spawn(move || handle.unpark())
        .join()
        .expect("no panic");
    let _ = driver.park(Until::Forever).expect("parks");
    assert_eq!(now(), start, "somebody had something to say");
    assert_eq!(driver.park(Until::Forever).expect("parks").woken, 1);
    assert_eq!(now().since(start), HOUR);
}

// WITNESS: clock.held
#[test]
fn hold_keeps_the_clock_until_it_is_dropped_on_any_thread() {
    let (mut driver, _entered) = driver();
    pause().expect("driven");
    let start = now();
    let mut cx = Context::from_waker(Waker::noop());
    let mut nap = pin!(sleep(HOUR));
    assert!(nap.as_mut().poll(&mut cx).is_pending());
    let hold = ClockHold::take().expect("driven");
    driver.handle().unpark();
    let _ = driver.park(Until::Forever).expect("parks");
    driver.handle().unpark();
    let _ = driver.park(Until::Forever).expect("parks");
    assert_eq!(now(), start);
    // The park waits for what is outside, and the end of the hold is what it sees.
    let other = std::thread::spawn(move || drop(hold));
    while driver.park(Until::Forever).expect("parks").woken == 0 {}
    other.join().expect("no panic");
    assert_eq!(now().since(start), HOUR);
}

// WITNESS: clock.held
#[test]
fn advance_goes_through_every_deadline_also_under_a_hold() {
    let (mut driver, _entered) = driver();
    pause().expect("driven");
    let start = now();
    let _hold = ClockHold::take().expect("driven");
    let mut seen = Vec::new();
    block_on(&mut driver, async {
        let mut ticks = pin!(async {
            let mut ticks = interval(HOUR);
            loop {
                ticks.tick().await;
                seen.push(now().since(start).as_secs() / 3600);
            }
        });
        let mut moving = pin!(advance(3 * HOUR + HOUR / 2));
        std::future::poll_fn(|cx| {
            let _: Poll<()> = ticks.as_mut().poll(cx);
            moving.as_mut().poll(cx)
        })
        .await;
    });
    assert_eq!(seen, [0, 1, 2, 3]);
    assert_eq!(now().since(start), 3 * HOUR + HOUR / 2);
}

#[test]
fn resumed_clock_runs_on_from_where_it_stood() {
    let (mut driver, _entered) = driver();
    pause().expect("driven");
    block_on(&mut driver, sleep(HOUR));
    let stood = now();
    resume();
    resume();
    assert!(!is_paused());
    assert!(now() >= stood && now().since(stood) < HOUR);
    block_on(&mut driver, sleep(Duration::from_millis(1)));
    pause().expect("driven");
    let again = now();
    assert!(again > stood);
    assert_eq!(now(), again);
}

// WITNESS: clock.scoped, place.own
#[test]
fn clock_is_real_again_when_the_driver_is_gone() {
    assert_eq!(pause(), Err(NoDriver));
    assert!(ClockHold::take().is_err());
    resume();
    let real = now();
    let (mut driver, entered) = driver();
    pause().expect("driven");
    block_on(&mut driver, sleep(HOUR));
    drop((driver, entered));
    assert!(!is_paused());
    assert!(now() >= real && now().since(real) < HOUR);
    assert!(!NoDriver.is_transient() && now() > Nanos::ZERO);
}

/// Drives a sleep when its thread ends, and says what became of it.
struct AtTheEnd(std::sync::mpsc::Sender<(Result<(), NoDriver>, bool)>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let (mut driver, _entered) = driver();
        let paused = pause();
        let start = now();
        block_on(&mut driver, sleep(Duration::from_micros(200)));
        resume();
        let slept = now().since(start) >= Duration::from_micros(200);
        let _ = self.0.send((paused, slept && ClockHold::take().is_err()));
    }
}

thread_local! {
    static LAST: std::cell::RefCell<Option<AtTheEnd>> = const { std::cell::RefCell::new(None) };
}

#[test]
fn driver_serves_while_its_thread_is_ending() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let ending = std::thread::spawn(move || {
        // Destroyed in the reverse of the order in which they are first used, where the system has
        // an order at all: the clock's own values are gone when the other's destructor runs.
        LAST.set(Some(AtTheEnd(sender)));
        drop(driver());
    });
    ending.join().expect("no panic");
    let (paused, served) = receiver.recv().expect("a destructor that ran to its end");
    assert_eq!(
        served,
        paused.is_err(),
        "what cannot be paused cannot be held"
    );
}

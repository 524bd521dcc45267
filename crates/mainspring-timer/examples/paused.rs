//! A day of heartbeats in a few microseconds: paused time under a hand-written loop.
//!
//! Run with `cargo run -p mainspring-timer --example paused`.

use mainspring_core::driver::{Driver, ThreadDriver, Until};
use mainspring_core::time::now;
use mainspring_timer::{TimerDriver, clock, interval, timeout};
use std::error::Error;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let mut driver = TimerDriver::new(ThreadDriver::new());
    let _entered = driver.handle().enter();
    clock::pause()?;
    let start = now();

    let mut beats = 0;
    let mut day = pin!(timeout(Duration::from_secs(24 * 3600), async {
        let mut heartbeat = interval(Duration::from_secs(60));
        loop {
            heartbeat.tick().await;
            beats += 1;
        }
    }));
    let mut cx = Context::from_waker(Waker::noop());
    let outcome: Result<(), _> = loop {
        match day.as_mut().poll(&mut cx) {
            Poll::Ready(outcome) => break outcome,
            Poll::Pending => drop(driver.park(Until::Forever)?),
        }
    };
    let elapsed = now().since(start);
    println!("{elapsed:?} of virtual time: {outcome:?}");
    Ok(())
}

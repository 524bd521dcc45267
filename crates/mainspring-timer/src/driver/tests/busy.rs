//! On the real clock and core's own driver.

use crate::{TimerDriver, sleep};
use mainspring_core::driver::{Driver, ThreadDriver, Until};
use mainspring_core::time;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

#[test]
fn thread_driver_wakes_for_a_deadline_and_for_an_unpark() {
    let mut driver = TimerDriver::new(ThreadDriver::new());
    let handle = driver.handle();
    let entered = handle.enter();
    let start = time::now();
    let mut cx = Context::from_waker(Waker::noop());
    let mut nap = pin!(sleep(Duration::from_millis(3)));
    while nap.as_mut().poll(&mut cx).is_pending() {
        let _ = driver.park(Until::Forever).expect("parks");
    }
    assert!(time::now().since(start) >= Duration::from_millis(3));
    let other = std::thread::spawn(move || handle.unpark());
    let turn = driver.park(Until::Forever).expect("parks");
    assert_eq!(turn.woken, 0);
    other.join().expect("no panic");
    drop(entered);
}

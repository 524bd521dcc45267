use crate::executor::block_on;
use mainspring_core::driver::{Driver, ThreadDriver, Until};
use mainspring_core::time::{Deadline, Sleep, now, sleep, sleep_until};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

#[test]
fn sleep_under_a_foreign_loop_is_never_early() {
    let start = Instant::now();
    block_on(sleep(Duration::from_millis(3)));
    assert!(start.elapsed() >= Duration::from_millis(3));
}

#[test]
fn thousand_sleeps_on_one_fallback_thread_all_end() {
    let start = now();
    let mut naps: Vec<_> = (0..1_000_u64)
        .map(|i| {
            (
                i % 17,
                Box::pin(sleep(Duration::from_micros(100 * (i % 17)))),
            )
        })
        .collect();
    block_on(poll_fn(|cx| {
        naps.retain_mut(|(i, nap)| {
            let is_pending = nap.as_mut().poll(cx).is_pending();
            let passed = now().since(start);
            assert!(
                is_pending || passed >= Duration::from_micros(100 * *i),
                "early"
            );
            is_pending
        });
        if naps.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
}

fn poll_once(nap: Pin<&mut Sleep>) -> Poll<()> {
    nap.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn sleeps_dropped_armed_leave_the_fallback_thread_working() {
    for _ in 0..100 {
        let mut nap = Box::pin(sleep(Duration::from_millis(1)));
        assert!(poll_once(nap.as_mut()).is_pending());
    }
    block_on(sleep(Duration::from_millis(2)));
}

#[test]
fn sleep_moves_between_threads_with_its_task() {
    let mut nap = Box::pin(sleep_until(Instant::now() + Duration::from_millis(2)));
    assert!(poll_once(nap.as_mut()).is_pending());
    let slept = std::thread::spawn(move || block_on(nap));
    assert!(slept.join().is_ok());
}

#[test]
fn reset_brings_a_sleep_forward_and_puts_it_off() {
    let mut nap = pin!(sleep(Duration::from_secs(3_600)));
    assert!(poll_once(nap.as_mut()).is_pending());
    let soon = Instant::now() + Duration::from_millis(2);
    nap.as_mut().reset(soon);
    block_on(nap.as_mut());
    assert!(Instant::now() >= soon);
    nap.as_mut().reset(soon + Duration::from_secs(3_600));
    assert!(poll_once(nap).is_pending());
}

#[test]
fn thread_driver_is_a_driver_in_a_box() {
    let mut driver: Box<dyn Driver> = Box::new(ThreadDriver::new());
    let deadline = Deadline::after(Duration::from_millis(1)).nanos();
    let turn = driver.park(Until::At(deadline)).expect("it never fails");
    assert!(turn.now >= deadline && turn.woken == 0 && !driver.peek());
    let handle = driver.handle();
    assert_eq!((handle.next(), handle.rescue(turn.now, 8)), (None, 0));
    let entered = handle.enter();
    handle.unpark();
    assert!(driver.park(Until::Forever).is_ok());
    drop(entered);
}

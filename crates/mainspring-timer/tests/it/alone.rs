//! Under an executor that knows nothing of timers: core's fallback thread serves them.

use mainspring_timer::{DelayQueue, Elapsed, interval, sleep, timeout};
use std::future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn sleep_and_interval_are_never_early() {
    let start = Instant::now();
    block_on(async {
        sleep(3 * MS).await;
        let mut ticks = interval(2 * MS);
        for _ in 0..3 {
            ticks.tick().await;
        }
    });
    assert!(start.elapsed() >= 7 * MS);
}

#[test]
fn timeout_ends_what_never_does() {
    let limited = timeout(2 * MS, future::pending::<()>());
    assert_eq!(block_on(limited), Err(Elapsed));
}

#[test]
fn delay_queue_yields_in_the_order_of_time() {
    let mut queue = DelayQueue::new();
    queue.insert("second", 4 * MS);
    queue.insert("first", MS);
    let mut values = Vec::new();
    while let Some(expired) = block_on(queue.next()) {
        values.push(expired.into_value());
    }
    assert_eq!(values, ["first", "second"]);
}

#[test]
fn futures_are_send_and_small() {
    fn send<T: Send>(value: T) -> usize {
        size_of_val(&value)
    }
    assert!(send(sleep(MS)) <= 96);
    assert!(send(timeout(MS, future::ready(()))) <= 104);
    assert!(send(interval(MS)) <= 32);
    send(DelayQueue::<u64>::new());
}

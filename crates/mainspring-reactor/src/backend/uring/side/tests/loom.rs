use crate::backend::uring::Completed;
use crate::backend::uring::read_half::{OnRead, ReadHalf, Source};
use crate::backend::uring::remote::Remote;
use crate::backend::uring::side::Side;
use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;
use std::future::poll_fn;
use std::task::Poll;

/// F_MORE.
const MORE: u32 = 1 << 1;

/// An event of a poll: the reader is told, and nothing is to be given back.
fn event(flags: u32) -> Completed {
    Completed {
        data: 0,
        result: 1,
        flags,
    }
}

fn side() -> Arc<Side<ReadHalf>> {
    let side = Side::new(ReadHalf::new());
    side.lock().begin(Source::Poll);
    Arc::new(side)
}

fn complete(side: &Side<ReadHalf>, completed: Completed) {
    let owes = side.lock().completed(completed);
    let waiter = owes.wakes.then(|| side.take_waiter()).flatten();
    if let Some(waiter) = waiter {
        waiter.wake();
    }
}

/// As a read does: look, register, look again.
fn wait(side: &Side<ReadHalf>) {
    let mut is_registered = false;
    block_on(poll_fn(|cx| {
        loop {
            match side.lock().look() {
                OnRead::Wait if is_registered => {
                    is_registered = false;
                    return Poll::Pending;
                }
                OnRead::Wait => {}
                _ => return Poll::Ready(()),
            }
            side.register(cx.waker());
            is_registered = true;
        }
    }));
}

// WITNESS: side.waiter, side.outside, ring-stream.waiter
#[test]
fn completion_racing_a_reader_wakes_it_or_is_seen() {
    loom::model(|| {
        let side = side();
        let other = Arc::clone(&side);
        let kernel = thread::spawn(move || complete(&other, event(0)));
        wait(&side);
        kernel.join().unwrap();
    });
}

// WITNESS: side.waiter
#[test]
fn reader_racing_a_completion_of_the_main_thread_sleeps_through_nothing() {
    loom::model(|| {
        let side = side();
        let other = Arc::clone(&side);
        let reader = thread::spawn(move || wait(&other));
        // The first of several says nothing that a reader waits for.
        complete(&side, event(MORE));
        complete(&side, event(0));
        reader.join().unwrap();
    });
}

// WITNESS: remote.seen, ring-stream.begun
#[test]
fn operation_begun_elsewhere_is_taken_by_the_owner_before_it_is_cancelled() {
    loom::model(|| {
        let side = Arc::new(Side::new(ReadHalf::new()));
        let remote = Arc::new(Remote::new());
        let other = (Arc::clone(&side), Arc::clone(&remote));
        let elsewhere = thread::spawn(move || {
            let (side, remote) = other;
            let mut half = side.lock();
            remote.hand_in(7).unwrap();
            half.begin(Source::Poll);
        });
        // The owner cancels what the half says is in flight, after what others have handed in.
        let asks = side.lock().stop();
        let taken = remote.take();
        assert!(!asks || taken == [7]);
        elsewhere.join().unwrap();
    });
}

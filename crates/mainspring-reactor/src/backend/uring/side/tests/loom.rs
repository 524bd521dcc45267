use crate::backend::uring::Completed;
use crate::backend::uring::hub::Gone;
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

/// A ring: what it is handed.
type Ring = Remote<u32>;

fn side() -> Arc<Side<ReadHalf, Ring>> {
    let side = Side::new(ReadHalf::new());
    side.lock().begin(Source::Poll);
    Arc::new(side)
}

fn complete(side: &Side<ReadHalf, Ring>, completed: Completed) {
    let owes = side.lock().completed(completed);
    let waiter = owes.wakes.then(|| side.take_waiter()).flatten();
    if let Some(waiter) = waiter {
        waiter.wake();
    }
}

/// As a read does: look, register, look again.
fn wait(side: &Side<ReadHalf, Ring>) {
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

/// Begins on `here`, as a poll does: under the lock that the completion takes.
fn begin(side: &Side<ReadHalf, Ring>, maker: &std::sync::Arc<Ring>, here: &std::sync::Arc<Ring>) {
    let mut half = side.lock();
    if !half.is_in_flight() {
        let begun = half.carrier.begin_in(maker, Some(here), |ring| {
            ring.hand_in(BEGIN).map_err(|_| Gone)
        });
        if begun.is_ok() {
            half.begin(Source::Poll);
        }
    }
}

const BEGIN: u32 = 1;
const CANCEL: u32 = 2;

// WITNESS: remote.seen, ring-stream.begun, carrier.one
#[test]
fn cancel_of_another_thread_follows_its_operation_into_the_ring_that_has_it() {
    loom::model(|| {
        let side = Arc::new(Side::<ReadHalf, Ring>::new(ReadHalf::new()));
        let rings = [(); 2].map(|()| std::sync::Arc::new(Ring::new()));
        let other = (Arc::clone(&side), rings.clone());
        let elsewhere = thread::spawn(move || {
            let (side, [maker, here]) = other;
            begin(&side, &maker, &here);
        });
        // Another one drops the socket meanwhile, or before, or later.
        let mut half = side.lock();
        let asks = half.stop();
        if asks {
            let ring = half.carrier.ring(&rings[0]);
            ring.hand_in(CANCEL).unwrap();
        }
        drop(half);
        elsewhere.join().unwrap();
        assert_eq!(rings[0].take(), []);
        let expected: &[u32] = if asks { &[BEGIN, CANCEL] } else { &[BEGIN] };
        assert_eq!(rings[1].take(), expected);
    });
}

// WITNESS: ring-stream.begun, ring-stream.gone, carrier.here, remote.closed
#[test]
fn operation_begun_while_its_ring_closes_is_answered_there_or_begun_in_the_other() {
    loom::model(|| {
        let side = Arc::new(Side::<ReadHalf, Ring>::new(ReadHalf::new()));
        let rings = [(); 2].map(|()| std::sync::Arc::new(Ring::new()));
        let other = (Arc::clone(&side), std::sync::Arc::clone(&rings[1]));
        let closing = thread::spawn(move || {
            let (side, ring) = other;
            for begun in ring.close() {
                assert_eq!(begun, BEGIN);
                let answer = Completed {
                    data: 0,
                    result: -libc::ECANCELED,
                    flags: 0,
                };
                complete(&side, answer);
            }
        });
        block_on(poll_fn(|cx| {
            side.register(cx.waker());
            begin(&side, &rings[0], &rings[1]);
            if rings[0].take() == [BEGIN] {
                return Poll::Ready(());
            }
            Poll::Pending
        }));
        closing.join().unwrap();
        assert!(side.lock().is_in_flight());
    });
}

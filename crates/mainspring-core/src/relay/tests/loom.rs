//! Models of the relay. Nobody blocks: whoever was told Pending checks that it was woken.

use crate::recorder::Recorder;
use crate::relay::{Consumer, Producer, Rejected, pair};
use crate::sync::Arc;
use loom::thread;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

type Value = Arc<u32>;

fn ends<const N: usize>() -> (Producer<Value, N>, Consumer<Value, N>) {
    pair()
}

fn poll<const N: usize>(
    consumer: &mut Consumer<Value, N>,
    recorder: &Recorder,
) -> Poll<Option<u32>> {
    consumer
        .poll_take(&recorder.context())
        .map(|value| value.map(|value| *value))
}

// WITNESS: relay.publish, relay.park, relay.no-lost-wake
#[test]
fn consumer_finds_the_value_or_is_woken_for_it() {
    loom::model(|| {
        let (mut producer, mut consumer) = ends::<1>();
        let recorder = Recorder::new();
        let producing = thread::spawn(move || {
            assert!(producer.complete(Arc::new(1)).is_ok());
            producer
        });
        let found = poll(&mut consumer, &recorder);
        let producer = producing.join().unwrap();
        if found.is_pending() {
            assert_eq!(recorder.wakes(), 1, "relay.no-lost-wake");
            assert_eq!(poll(&mut consumer, &recorder), Poll::Ready(Some(1)));
        } else {
            assert_eq!(found, Poll::Ready(Some(1)));
        }
        drop(producer);
        assert_eq!(recorder.clones(), 0, "relay.waker: leaked");
    });
}

// WITNESS: relay.order, relay.publish, relay.no-lost-wake
#[test]
fn end_is_found_behind_the_value_or_wakes() {
    loom::model(|| {
        let (mut producer, mut consumer) = ends::<1>();
        let recorder = Recorder::new();
        assert!(producer.complete(Arc::new(1)).is_ok());
        let producing = thread::spawn(move || drop(producer));
        assert_eq!(poll(&mut consumer, &recorder), Poll::Ready(Some(1)));
        let found = poll(&mut consumer, &recorder);
        producing.join().unwrap();
        if found.is_pending() {
            assert_eq!(recorder.wakes(), 1, "relay.no-lost-wake");
        }
        assert_eq!(poll(&mut consumer, &recorder), Poll::Ready(None));
        assert_eq!(recorder.clones(), 0, "relay.waker: leaked");
    });
}

// WITNESS: relay.room, relay.slots, relay.once, relay.order
#[test]
fn place_is_written_again_only_after_it_was_read() {
    loom::model(|| {
        let (mut producer, mut consumer) = ends::<1>();
        assert!(producer.complete(Arc::new(1)).is_ok());
        let producing = thread::spawn(move || match producer.complete(Arc::new(2)) {
            Ok(()) => true,
            Err(Rejected::Full(value)) => {
                assert_eq!(*value, 2, "relay.once: another value came back");
                false
            }
            Err(Rejected::Closed(_)) => panic!("nobody closed"),
        });
        assert_eq!(consumer.try_take().as_deref(), Some(&1), "relay.order");
        let early = consumer.try_take();
        let queued = producing.join().unwrap();
        let second = early.or_else(|| consumer.try_take());
        assert_eq!(second.is_some(), queued, "relay.once");
    });
}

// WITNESS: relay.waker, relay.park, relay.no-lost-wake
#[test]
fn polled_again_with_another_waker_the_latest_is_woken() {
    loom::model(|| {
        let (mut producer, mut consumer) = ends::<1>();
        let (first, second) = (Recorder::new(), Recorder::new());
        assert!(poll(&mut consumer, &first).is_pending());
        let producing = thread::spawn(move || producer.complete(Arc::new(1)).is_ok());
        let found = poll(&mut consumer, &second);
        assert!(producing.join().unwrap());
        if found.is_pending() {
            assert!(second.wakes() >= 1, "relay.no-lost-wake: not the latest");
            assert_eq!(poll(&mut consumer, &second), Poll::Ready(Some(1)));
        }
        assert_eq!(first.clones() + second.clones(), 0, "relay.waker");
    });
}

// WITNESS: relay.once
#[test]
fn close_racing_complete_the_value_has_one_owner() {
    loom::model(|| {
        let (mut producer, mut consumer) = ends::<1>();
        let recorder = Recorder::new();
        assert!(poll(&mut consumer, &recorder).is_pending());
        let producing = thread::spawn(move || producer.complete(Arc::new(1)).err());
        consumer.close();
        let left = consumer.try_take();
        let back = producing.join().unwrap();
        assert_ne!(
            left.is_some(),
            back.is_some(),
            "relay.once: both or neither"
        );
        assert_eq!(recorder.clones(), 0, "relay.waker: leaked");
    });
}

// WITNESS: relay.waker, relay.once
#[test]
fn parked_take_dropped_racing_complete_leaves_the_value_queued() {
    loom::model(|| {
        let (mut producer, mut consumer) = ends::<1>();
        let recorder = Recorder::new();
        let mut take = consumer.take();
        assert!(
            Pin::new(&mut take)
                .poll(&mut recorder.context())
                .is_pending()
        );
        let producing = thread::spawn(move || producer.complete(Arc::new(1)).is_ok());
        drop(take);
        assert!(producing.join().unwrap());
        assert_eq!(consumer.try_take().as_deref(), Some(&1), "relay.once: lost");
        assert_eq!(recorder.clones(), 0, "relay.waker: leaked");
    });
}

// WITNESS: relay.once
#[test]
fn both_dropped_with_a_value_queued_it_is_dropped_once() {
    loom::model(|| {
        let (mut producer, consumer) = ends::<1>();
        let producing = thread::spawn(move || drop(producer.complete(Arc::new(1))));
        drop(consumer);
        producing.join().unwrap();
    });
}

/// The forms that circulate. Each of these models must be red.
mod printed {
    use crate::AtomicWaker;
    use crate::recorder::Recorder;
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use loom::thread;

    struct Queue {
        count: AtomicU32,
        somebody_waits: AtomicBool,
        waiter: AtomicWaker,
    }

    // CORRECTION: 34
    #[test]
    fn push_then_look_for_a_waiter_misses_it() {
        loom::model(|| {
            let queue = Arc::new(Queue {
                count: AtomicU32::new(0),
                somebody_waits: AtomicBool::new(false),
                waiter: AtomicWaker::new(),
            });
            let recorder = Recorder::new();
            queue.waiter.register(recorder.waker());
            let sender = {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    queue.count.store(1, Ordering::Release);
                    if queue.somebody_waits.load(Ordering::Acquire) {
                        queue.waiter.wake();
                    }
                })
            };
            queue.somebody_waits.store(true, Ordering::Release);
            let found = queue.count.load(Ordering::Acquire);
            sender.join().unwrap();
            assert!(found == 1 || recorder.wakes() > 0, "a lost wake");
        });
    }
}

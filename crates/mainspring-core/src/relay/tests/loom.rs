//! Models of the relay. Nobody blocks: whoever was told Pending checks that it was woken.

use crate::completion;
use crate::relay::{Consumer, Producer, Rejected, pair};
use crate::sync::Arc;
use crate::tests::recorder::{Recorder, explore, race};
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
    explore(None, |start| {
        let (mut producer, mut consumer) = ends::<1>();
        let completing = move || {
            assert!(producer.complete(Arc::new(1)).is_ok());
            producer
        };
        let polling = move || {
            let recorder = Recorder::new();
            let found = poll(&mut consumer, &recorder);
            (consumer, recorder, found)
        };
        let (producer, (mut consumer, recorder, mut found)) = race(start, completing, polling);
        if found.is_pending() {
            assert_eq!(recorder.wakes(), 1, "relay.no-lost-wake");
            found = poll(&mut consumer, &recorder);
        }
        assert_eq!(found, Poll::Ready(Some(1)));
        drop(producer);
        assert_eq!(recorder.clones(), 0, "relay.waker: leaked");
    });
}

// WITNESS: relay.order, relay.publish, relay.no-lost-wake
#[test]
fn end_is_found_behind_the_value_or_wakes() {
    explore(None, |start| {
        let (mut producer, mut consumer) = ends::<1>();
        assert!(producer.complete(Arc::new(1)).is_ok());
        let polling = move || {
            let recorder = Recorder::new();
            assert_eq!(poll(&mut consumer, &recorder), Poll::Ready(Some(1)));
            let found = poll(&mut consumer, &recorder);
            (consumer, recorder, found)
        };
        let ((), (mut consumer, recorder, found)) = race(start, move || drop(producer), polling);
        if found.is_pending() {
            assert_eq!(recorder.wakes(), 1, "relay.no-lost-wake");
        }
        assert_eq!(poll(&mut consumer, &recorder), Poll::Ready(None));
        assert_eq!(recorder.clones(), 0, "relay.waker: leaked");
    });
}

// WITNESS: relay.publish
#[test]
fn end_brings_along_what_the_producer_did_before() {
    explore(None, |start| {
        let (producer, mut consumer) = ends::<1>();
        // Cancelling writes a word of its own, which is read relaxed below.
        let (completer, completion) = completion::<()>();
        let ending = move || {
            drop(completion);
            drop(producer);
        };
        let polling = move || {
            if poll(&mut consumer, &Recorder::new()).is_ready() {
                assert!(completer.is_cancelled(), "relay.publish: the end alone");
            }
        };
        race(start, ending, polling);
    });
}

// WITNESS: relay.room, relay.slots, relay.once, relay.order
#[test]
fn place_is_written_again_only_after_it_was_read() {
    explore(None, |start| {
        let (mut producer, mut consumer) = ends::<1>();
        assert!(producer.complete(Arc::new(1)).is_ok());
        let completing = move || match producer.complete(Arc::new(2)) {
            Ok(()) => true,
            Err(Rejected::Full(value)) => {
                assert_eq!(*value, 2, "relay.once: another value came back");
                false
            }
            Err(Rejected::Closed(_)) => panic!("nobody closed"),
        };
        let taking = move || {
            assert_eq!(consumer.try_take().as_deref(), Some(&1), "relay.order");
            (consumer.try_take(), consumer)
        };
        let (queued, (early, mut consumer)) = race(start, completing, taking);
        let second = early.or_else(|| consumer.try_take());
        assert_eq!(second.is_some(), queued, "relay.once");
    });
}

// WITNESS: relay.waker, relay.park, relay.no-lost-wake
#[test]
fn polled_again_with_another_waker_the_latest_is_woken() {
    explore(None, |start| {
        let (mut producer, mut consumer) = ends::<1>();
        let (first, second) = (Recorder::new(), Recorder::new());
        assert!(poll(&mut consumer, &first).is_pending());
        let completing = move || {
            assert!(producer.complete(Arc::new(1)).is_ok());
            producer
        };
        let polling = move || {
            let found = poll(&mut consumer, &second);
            (consumer, second, found)
        };
        let (producer, (mut consumer, second, mut found)) = race(start, completing, polling);
        if found.is_pending() {
            assert!(second.wakes() >= 1, "relay.no-lost-wake: not the latest");
            found = poll(&mut consumer, &second);
        }
        assert_eq!(found, Poll::Ready(Some(1)));
        drop(producer);
        assert_eq!(first.clones() + second.clones(), 0, "relay.waker: leaked");
    });
}

// WITNESS: relay.once
#[test]
fn close_racing_complete_the_value_has_one_owner() {
    explore(None, |start| {
        let (mut producer, mut consumer) = ends::<1>();
        let recorder = Recorder::new();
        assert!(poll(&mut consumer, &recorder).is_pending());
        let completing = move || producer.complete(Arc::new(1)).err();
        let closing = move || {
            consumer.close();
            consumer.try_take()
        };
        let (back, left) = race(start, completing, closing);
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
    explore(None, |start| {
        let (mut producer, mut consumer) = ends::<1>();
        let recorder = Recorder::new();
        let completing = move || producer.complete(Arc::new(1)).is_ok();
        let taking = move || {
            let mut take = consumer.take();
            let early = match Pin::new(&mut take).poll(&mut recorder.context()) {
                Poll::Ready(value) => value,
                Poll::Pending => None,
            };
            drop(take);
            (early, consumer, recorder)
        };
        let (sent, (early, mut consumer, recorder)) = race(start, completing, taking);
        assert!(sent);
        let value = early.or_else(|| consumer.try_take());
        assert_eq!(value.as_deref(), Some(&1), "relay.once: lost");
        assert_eq!(recorder.clones(), 0, "relay.waker: leaked");
    });
}

// WITNESS: relay.once
#[test]
fn both_dropped_with_a_value_queued_it_is_dropped_once() {
    explore(None, |start| {
        let (mut producer, consumer) = ends::<1>();
        let completing = move || drop(producer.complete(Arc::new(1)));
        race(start, completing, move || drop(consumer));
    });
}

/// The forms that circulate. Each of these models must be red.
mod printed {
    use crate::AtomicWaker;
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use crate::tests::recorder::Recorder;
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

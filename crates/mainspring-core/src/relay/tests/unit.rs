use crate::relay::{OnComplete, OnEnd, OnRearm, OnTake, Rejected, Relay, pair};
use crate::tests::kept::keep;
use crate::tests::recorder::{Hooks, Recorder};
use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

// WITNESS: relay.order, relay.once
#[test]
fn values_come_in_order_and_the_end_behind_them() {
    let (mut producer, mut consumer) = pair::<u32, 4>();
    let recorder = Recorder::new();
    for value in 0..4 {
        assert_eq!(producer.complete(value), Ok(()));
    }
    assert_eq!(producer.complete(4), Err(Rejected::Full(4)));
    drop(producer);
    for value in 0..4 {
        assert_eq!(
            consumer.poll_take(&recorder.context()),
            Poll::Ready(Some(value))
        );
    }
    assert_eq!(consumer.poll_take(&recorder.context()), Poll::Ready(None));
    assert_eq!(recorder.clones(), 0);
}

// WITNESS: relay.no-lost-wake, relay.waker
#[test]
fn parked_consumer_is_woken_once_for_a_row_of_values() {
    let (mut producer, mut consumer) = pair::<u32, 4>();
    let recorder = Recorder::new();
    assert!(consumer.poll_take(&recorder.context()).is_pending());
    assert!(consumer.poll_take(&recorder.context()).is_pending());
    assert_eq!(recorder.clones(), 1);
    assert_eq!(producer.complete(1), Ok(()));
    assert_eq!(producer.complete(2), Ok(()));
    assert_eq!((recorder.wakes(), recorder.clones()), (1, 0));
}

// WITNESS: relay.waker
#[test]
fn latest_waker_is_the_one_woken() {
    let (mut producer, mut consumer) = pair::<u32, 1>();
    let (first, second) = (Recorder::new(), Recorder::new());
    assert!(consumer.poll_take(&first.context()).is_pending());
    assert!(consumer.poll_take(&second.context()).is_pending());
    assert_eq!(producer.complete(1), Ok(()));
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
    assert_eq!((first.clones(), second.clones()), (0, 0));
}

// WITNESS: relay.no-lost-wake
#[test]
fn end_wakes_the_parked_consumer() {
    let (producer, mut consumer) = pair::<u32, 1>();
    let recorder = Recorder::new();
    assert!(consumer.poll_take(&recorder.context()).is_pending());
    drop(producer);
    assert_eq!(recorder.wakes(), 1, "relay.no-lost-wake");
    assert_eq!(consumer.poll_take(&recorder.context()), Poll::Ready(None));
}

// WITNESS: relay.once
#[test]
fn closed_the_producer_gets_values_back_and_the_queued_ones_can_be_taken() {
    let (mut producer, mut consumer) = pair::<u32, 2>();
    let recorder = Recorder::new();
    assert!(consumer.poll_take(&recorder.context()).is_pending());
    assert_eq!(producer.complete(1), Ok(()));
    consumer.close();
    assert!(producer.is_closed());
    let rejected = producer.complete(2);
    assert_eq!(rejected, Err(Rejected::Closed(2)));
    assert!(!Rejected::Closed(2).is_transient());
    assert_eq!(Rejected::Full(2).into_inner(), 2);
    assert_eq!(
        consumer.poll_take(&recorder.context()),
        Poll::Ready(Some(1))
    );
    assert_eq!(consumer.poll_take(&recorder.context()), Poll::Ready(None));
    assert_eq!(recorder.clones(), 0);
}

// WITNESS: relay.waker
#[test]
fn take_that_is_dropped_takes_its_waker_along() {
    let (mut producer, mut consumer) = pair::<u32, 1>();
    let recorder = Recorder::new();
    let mut take = consumer.take();
    assert!(
        Pin::new(&mut take)
            .poll(&mut recorder.context())
            .is_pending()
    );
    drop(take);
    assert_eq!(recorder.clones(), 0, "relay.waker: leaked");
    assert_eq!(producer.complete(1), Ok(()));
    assert_eq!(recorder.wakes(), 0);
    assert_eq!(consumer.try_take(), Some(1));
}

// WITNESS: relay.order
#[test]
fn rearmed_relay_serves_a_new_producer_behind_the_old_values() {
    let relay = Relay::<u32, 2>::new();
    assert_eq!(rearm(&relay), OnRearm::Live);
    assert!(matches!(complete(&relay, 1), OnComplete::Queued));
    assert!(matches!(end(&relay), OnEnd::Ended));
    assert_eq!(rearm(&relay), OnRearm::Armed);
    assert!(matches!(complete(&relay, 2), OnComplete::Queued));
    assert_eq!(try_take(&relay), OnTake::Value(1));
    assert_eq!(try_take(&relay), OnTake::Value(2));
    assert_eq!(try_take(&relay), OnTake::Empty);
    // SAFETY: [relay.slots] this thread is the one consumer.
    assert!(unsafe { relay.close() }.is_none());
    assert!(matches!(end(&relay), OnEnd::Ended));
    assert_eq!(rearm(&relay), OnRearm::Closed);
    assert_eq!(try_take(&relay), OnTake::Ended);
}

fn complete<T, const N: usize>(relay: &Relay<T, N>, value: T) -> OnComplete<T> {
    // SAFETY: [relay.slots] each test that calls this plays both sides on one thread.
    unsafe { relay.complete(value) }
}

fn end<T, const N: usize>(relay: &Relay<T, N>) -> OnEnd {
    // SAFETY: [relay.slots] as above.
    unsafe { relay.end() }
}

fn try_take<T, const N: usize>(relay: &Relay<T, N>) -> OnTake<T> {
    // SAFETY: [relay.slots] as above.
    unsafe { relay.try_take() }
}

fn rearm<T, const N: usize>(relay: &Relay<T, N>) -> OnRearm {
    // SAFETY: [relay.slots] as above; the tests complete only afterwards.
    unsafe { relay.rearm() }
}

// WITNESS: relay.slots, relay.order
#[test]
fn counts_wrap() {
    let (mut producer, mut consumer) = pair::<u32, 2>();
    for value in 0..70_000 {
        assert_eq!(producer.complete(value), Ok(()));
        assert_eq!(producer.complete(value + 1), Ok(()));
        assert_eq!(
            producer.complete(0),
            Err(Rejected::Full(0)),
            "relay.slots: overwritten"
        );
        assert_eq!(consumer.try_take(), Some(value), "relay.order");
        assert_eq!(consumer.try_take(), Some(value + 1), "relay.order");
        assert_eq!(consumer.try_take(), None);
    }
}

// WITNESS: relay.once
#[test]
fn values_left_are_dropped_once_by_whichever_side_goes_last() {
    let value = Rc::new(());
    let (mut producer, consumer) = pair::<_, 2>();
    assert!(producer.complete(Rc::clone(&value)).is_ok());
    assert!(producer.complete(Rc::clone(&value)).is_ok());
    drop(producer);
    assert_eq!(Rc::strong_count(&value), 3);
    drop(consumer);
    assert_eq!(Rc::strong_count(&value), 1, "relay.once");

    let (mut producer, consumer) = pair::<_, 2>();
    assert!(producer.complete(Rc::clone(&value)).is_ok());
    drop(consumer);
    assert_eq!(Rc::strong_count(&value), 1, "kept by the producer");
    drop(producer);
    assert_eq!(Rc::strong_count(&value), 1, "relay.once");
}

// WITNESS: relay.once
#[test]
fn value_whose_drop_panics_does_not_leak_the_others() {
    struct Value(Rc<Cell<u32>>, bool);
    impl Drop for Value {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert!(!self.1, "on purpose");
        }
    }
    let drops = Rc::new(Cell::new(0));
    let relay = Relay::<Value, 4>::new();
    for position in 0..4 {
        let value = Value(Rc::clone(&drops), position == 1);
        assert!(matches!(complete(&relay, value), OnComplete::Queued));
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(relay))).is_err());
    assert_eq!(drops.get(), 4, "relay.once");
}

// WITNESS: relay.waker
#[test]
fn wakers_that_panic_leave_the_relay_whole() {
    let (mut producer, mut consumer) = pair::<u32, 2>();
    let recorder = Recorder::new();
    let clones = Hooks {
        on_clone: || panic!("on purpose"),
        ..Hooks::default()
    }
    .waker();
    let drops = Hooks {
        on_drop: || panic!("on purpose"),
        ..Hooks::default()
    }
    .waker();
    let mut poll = |waker: &Waker| {
        catch_unwind(AssertUnwindSafe(|| {
            consumer.poll_take(&Context::from_waker(waker))
        }))
    };
    assert!(poll(&clones).is_err());
    assert!(matches!(poll(&drops), Ok(Poll::Pending)));
    assert!(poll(&clones).is_err());
    assert!(poll(recorder.waker()).is_err());
    assert_eq!(producer.complete(1), Ok(()));
    assert_eq!(recorder.wakes(), 1, "relay.waker: not the latest");
    assert_eq!(consumer.try_take(), Some(1));
    keep(drops);
}

// WITNESS: relay.publish, relay.room, relay.park
#[test]
fn threads_pass_many_values_in_order() {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let (mut producer, mut consumer) = pair::<Box<u32>, 4>();
    let sending = std::thread::spawn(move || {
        for number in 0..20_000 {
            let mut value = Box::new(number);
            while let Err(Rejected::Full(back)) = producer.complete(value) {
                value = back;
                std::thread::yield_now();
            }
        }
    });
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let cx = Context::from_waker(&waker);
    let mut expected = 0;
    loop {
        match consumer.poll_take(&cx) {
            Poll::Ready(Some(value)) => {
                assert_eq!(*value, expected, "relay.order");
                expected += 1;
            }
            Poll::Ready(None) => break,
            Poll::Pending => std::thread::park(),
        }
    }
    assert_eq!(expected, 20_000);
    assert!(sending.join().is_ok());
}

#[test]
fn state_is_printed() {
    let (mut producer, consumer) = pair::<u32, 2>();
    assert_eq!(producer.complete(1), Ok(()));
    assert_eq!(
        format!("{consumer:?}"),
        "Consumer(Relay { queued: 1, capacity: 2, is_waiting: false, is_ended: false, \
         is_closed: false })"
    );
}

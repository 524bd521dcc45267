use super::WakeBatch;
use crate::tests::recorder::{Hooks, Recorder};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

thread_local! {
    static ORDER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static PANICS: Cell<u32> = const { Cell::new(0) };
}

fn broken() -> std::task::Waker {
    Hooks {
        on_wake: || {
            PANICS.set(PANICS.get() + 1);
            std::panic::panic_any(PANICS.get());
        },
        ..Hooks::default()
    }
    .waker()
}

// WITNESS: wake-batch.all
#[test]
fn wakes_in_the_order_of_the_pushes_and_is_empty_afterwards() {
    let mut batch = WakeBatch::new();
    let wakers: [fn(); 3] = [
        || ORDER.with_borrow_mut(|order| order.push(0)),
        || ORDER.with_borrow_mut(|order| order.push(1)),
        || ORDER.with_borrow_mut(|order| order.push(2)),
    ];
    for on_wake in wakers {
        let hooks = Hooks {
            on_wake,
            ..Hooks::default()
        };
        assert!(batch.push(hooks.waker()).is_ok());
    }
    assert_eq!(batch.len(), 3);
    batch.wake_all();
    assert!(batch.is_empty());
    assert_eq!(ORDER.take(), [0, 1, 2]);
}

// WITNESS: wake-batch.init
#[test]
fn full_batch_gives_the_waker_back_and_can_be_filled_again() {
    let recorder = Recorder::new();
    let mut batch = WakeBatch::new();
    for round in 1..=3 {
        while batch.has_room() {
            assert!(batch.push(recorder.waker().clone()).is_ok());
        }
        assert_eq!(batch.len(), WakeBatch::CAPACITY);
        assert!(batch.push(recorder.waker().clone()).is_err());
        batch.wake_all();
        assert_eq!(recorder.wakes(), WakeBatch::CAPACITY, "round {round}");
        assert_eq!(recorder.clones(), 0, "wake-batch.init: leaked");
    }
}

// WITNESS: wake-batch.all
#[test]
fn one_that_panics_keeps_nobody_from_being_woken_and_the_first_panic_is_resumed() {
    let recorder = Recorder::new();
    let mut batch = WakeBatch::new();
    for position in 0..6 {
        let waker = match position {
            1 | 4 => broken(),
            _ => recorder.waker().clone(),
        };
        assert!(batch.push(waker).is_ok());
    }
    let caught = catch_unwind(AssertUnwindSafe(|| batch.wake_all()));
    let first = caught
        .err()
        .and_then(|payload| payload.downcast::<u32>().ok());
    assert_eq!(first.as_deref(), Some(&1), "not the first panic");
    assert_eq!(recorder.wakes(), 4, "wake-batch.all");
    assert!(batch.is_empty());
    assert!(batch.push(recorder.waker().clone()).is_ok());
    batch.wake_all();
    assert_eq!(recorder.wakes(), 1);
}

// WITNESS: wake-batch.all
#[test]
fn dropped_unwoken_it_wakes() {
    let recorder = Recorder::new();
    let mut batch = WakeBatch::new();
    assert!(batch.push(recorder.waker().clone()).is_ok());
    drop(batch);
    assert_eq!((recorder.wakes(), recorder.clones()), (1, 0));
}

// WITNESS: wake-batch.all
#[test]
fn dropped_by_a_panic_it_wakes_after_the_lock_and_swallows_further_panics() {
    let recorder = Recorder::new();
    let lock = Mutex::new(());
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let mut batch = WakeBatch::new();
        let _held = lock.lock();
        assert!(batch.push(broken()).is_ok());
        assert!(batch.push(recorder.waker().clone()).is_ok());
        panic!("under the lock");
    }));
    let payload = caught
        .err()
        .and_then(|payload| payload.downcast::<&str>().ok());
    assert_eq!(payload.as_deref(), Some(&"under the lock"));
    assert_eq!(recorder.wakes(), 1, "wake-batch.all");
}

#[test]
fn length_is_printed() {
    assert_eq!(format!("{:?}", WakeBatch::new()), "WakeBatch { len: 0 }");
}

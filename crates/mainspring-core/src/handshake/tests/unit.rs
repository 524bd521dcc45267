use crate::handshake::{Handshake, OnCancel, OnComplete, OnPoll};
use crate::tests::kept::keep;
use crate::tests::recorder::{Hooks, Recorder};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Waker;

/// The two sides of a cell that one thread plays.
struct Sides<T>(Handshake<T>);

impl<T> Sides<T> {
    fn new() -> Self {
        Self(Handshake::new())
    }

    fn complete(&self, value: T) -> OnComplete<T> {
        // SAFETY: each test completes once.
        unsafe { self.0.complete(value) }
    }

    fn poll(&self, waker: &Waker) -> OnPoll<T> {
        // SAFETY: each test stops at the value or at the cancel.
        unsafe { self.0.poll(waker) }
    }

    fn try_take(&self) -> OnPoll<T> {
        // SAFETY: as for `poll`.
        unsafe { self.0.try_take() }
    }

    fn cancel(&self) -> OnCancel<T> {
        // SAFETY: as for `poll`.
        unsafe { self.0.cancel() }
    }
}

// WITNESS: handshake.value
#[test]
fn completed_first_the_poll_takes_the_value_without_parking() {
    let cell = Sides::new();
    let recorder = Recorder::new();
    assert!(matches!(cell.complete(7), OnComplete::Published));
    assert!(matches!(cell.poll(recorder.waker()), OnPoll::Ready(7)));
    assert_eq!(recorder.clones(), 0, "handshake.waker: parked for nothing");
}

// WITNESS: handshake.waker
#[test]
fn polled_first_the_completion_hands_out_the_waker() {
    let cell = Sides::new();
    let recorder = Recorder::new();
    assert!(matches!(cell.poll(recorder.waker()), OnPoll::Pending));
    let OnComplete::Wake(waker) = cell.complete(7) else {
        panic!("handshake.waker: not parked");
    };
    waker.wake();
    assert_eq!((recorder.wakes(), recorder.clones()), (1, 0));
    assert!(matches!(cell.try_take(), OnPoll::Ready(7)));
}

// WITNESS: handshake.waker
#[test]
fn polled_again_with_the_same_waker_nothing_is_cloned() {
    let cell = Sides::<u32>::new();
    let recorder = Recorder::new();
    for _ in 0..3 {
        assert!(matches!(cell.poll(recorder.waker()), OnPoll::Pending));
        assert_eq!(recorder.clones(), 1);
    }
    assert!(matches!(cell.cancel(), OnCancel::Left(Some(_))));
    assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
}

// WITNESS: handshake.waker
#[test]
fn polled_again_with_another_waker_the_first_is_dropped_and_the_second_woken() {
    let cell = Sides::new();
    let (first, second) = (Recorder::new(), Recorder::new());
    assert!(matches!(cell.poll(first.waker()), OnPoll::Pending));
    assert!(matches!(cell.poll(second.waker()), OnPoll::Pending));
    assert_eq!((first.clones(), second.clones()), (0, 1));
    let OnComplete::Wake(waker) = cell.complete(7) else {
        panic!("handshake.waker: not parked");
    };
    assert!(waker.will_wake(second.waker()));
}

// WITNESS: handshake.second-frees, handshake.one-terminal
#[test]
fn cancelled_first_the_completer_gets_its_value_back_and_frees() {
    let cell = Sides::new();
    assert!(!cell.0.is_cancelled());
    assert!(matches!(cell.cancel(), OnCancel::Left(None)));
    assert!(cell.0.is_cancelled());
    assert!(matches!(cell.complete(7), OnComplete::Free(7)));
}

// WITNESS: handshake.second-frees
#[test]
fn completed_first_the_cancel_gets_the_value_and_frees() {
    let cell = Sides::new();
    assert!(matches!(cell.complete(7), OnComplete::Published));
    assert!(matches!(cell.cancel(), OnCancel::Free(7)));
}

// WITNESS: handshake.whole
#[test]
fn clone_that_panics_leaves_the_parked_waker_parked() {
    let cell = Sides::new();
    let recorder = Recorder::new();
    assert!(matches!(cell.poll(recorder.waker()), OnPoll::Pending));
    let broken = Hooks {
        on_clone: || panic!("on purpose"),
        ..Hooks::default()
    }
    .waker();
    assert!(catch_unwind(AssertUnwindSafe(|| cell.poll(&broken))).is_err());
    let OnComplete::Wake(waker) = cell.complete(7) else {
        panic!("handshake.whole: the parked waker is gone");
    };
    assert!(waker.will_wake(recorder.waker()));
    assert!(matches!(cell.try_take(), OnPoll::Ready(7)));
}

// WITNESS: handshake.whole
#[test]
fn replaced_waker_whose_drop_panics_leaves_the_new_one_parked() {
    let cell = Sides::new();
    let broken = Hooks {
        on_drop: || panic!("on purpose"),
        ..Hooks::default()
    }
    .waker();
    let recorder = Recorder::new();
    assert!(matches!(cell.poll(&broken), OnPoll::Pending));
    let replaced = catch_unwind(AssertUnwindSafe(|| cell.poll(recorder.waker())));
    assert!(replaced.is_err());
    let OnComplete::Wake(waker) = cell.complete(7) else {
        panic!("handshake.whole: nobody is parked");
    };
    assert!(waker.will_wake(recorder.waker()));
    keep(broken);
}

/// A cell, and the value that a waker's clone completes it with.
type Late = (Rc<Sides<Rc<u32>>>, Rc<u32>);

thread_local! {
    static LATE: RefCell<Option<Late>> = const { RefCell::new(None) };
}

fn complete_late() {
    if let Some((cell, value)) = LATE.take() {
        assert!(matches!(cell.complete(value), OnComplete::Published));
    }
}

// WITNESS: handshake.whole
#[test]
fn overtaken_by_the_completion_the_value_outlives_a_waker_whose_drop_panics() {
    let cell = Rc::new(Sides::new());
    let value = Rc::new(7);
    LATE.set(Some((Rc::clone(&cell), Rc::clone(&value))));
    // Between the first look and the parking: the clone completes.
    let broken = Hooks {
        on_clone: complete_late,
        on_drop: || panic!("on purpose"),
        ..Hooks::default()
    }
    .waker();
    assert!(catch_unwind(AssertUnwindSafe(|| cell.poll(&broken))).is_err());
    keep(broken);
    assert_eq!(
        Rc::strong_count(&value),
        2,
        "handshake.whole: the value went with the unwind"
    );
    assert!(matches!(cell.poll(Waker::noop()), OnPoll::Ready(_)));
    assert_eq!(Rc::strong_count(&value), 1);
}

#[test]
fn state_is_printed_by_name() {
    let cell = Sides::new();
    assert_eq!(format!("{:?}", cell.0), "Handshake { state: \"PENDING\" }");
    assert!(matches!(cell.poll(Waker::noop()), OnPoll::Pending));
    assert_eq!(format!("{:?}", cell.0), "Handshake { state: \"WAITING\" }");
    assert!(matches!(cell.complete(()), OnComplete::Wake(_)));
    assert_eq!(format!("{:?}", cell.0), "Handshake { state: \"READY\" }");
}

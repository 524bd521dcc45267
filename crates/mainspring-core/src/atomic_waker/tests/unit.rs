use crate::AtomicWaker;
use crate::tests::kept::keep;
use crate::tests::recorder::{Hooks, Recorder};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

#[test]
fn wake_reaches_the_latest_waker_once() {
    let place = AtomicWaker::new();
    let (first, second) = (Recorder::new(), Recorder::new());
    place.register(first.waker());
    place.register(second.waker());
    place.wake();
    place.wake();
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
    assert_eq!((first.clones(), second.clones()), (0, 0));
}

#[test]
fn same_waker_registered_again_is_not_cloned() {
    let place = AtomicWaker::new();
    let recorder = Recorder::new();
    for _ in 0..3 {
        place.register(recorder.waker());
        assert_eq!(recorder.clones(), 1);
    }
    drop(place);
    assert_eq!(recorder.clones(), 0, "atomic-waker.slot: leaked");
}

#[test]
fn taken_waker_is_not_woken_and_leaves_the_place_empty() {
    let place = AtomicWaker::new();
    let recorder = Recorder::new();
    assert!(place.take().is_none());
    place.register(recorder.waker());
    assert!(
        place
            .take()
            .is_some_and(|waker| waker.will_wake(recorder.waker()))
    );
    assert!(place.take().is_none());
    assert_eq!(recorder.wakes(), 0);
}

// CORRECTION: 10
// WITNESS: atomic-waker.no-residue
#[test]
fn registration_after_an_idle_wake_wakes_itself_only_in_the_printed_form() {
    let (ours, theirs) = (Recorder::new(), Recorder::new());
    let place = AtomicWaker::new();
    place.wake();
    for _ in 0..3 {
        place.register(ours.waker());
    }
    assert_eq!(ours.wakes(), 0, "atomic-waker.no-residue");

    let place = printed::Place::default();
    place.wake();
    for _ in 0..3 {
        place.register(theirs.waker());
    }
    assert_eq!(theirs.wakes(), 3, "the busy loop of the printed form");
}

// WITNESS: atomic-waker.whole
#[test]
fn clone_that_panics_leaves_the_place_usable() {
    let place = AtomicWaker::new();
    let broken = Hooks {
        on_clone: || panic!("on purpose"),
        ..Hooks::default()
    }
    .waker();
    let recorder = Recorder::new();
    assert!(catch_unwind(AssertUnwindSafe(|| place.register(&broken))).is_err());
    place.register(recorder.waker());
    assert!(catch_unwind(AssertUnwindSafe(|| place.register(&broken))).is_err());
    place.wake();
    assert_eq!(recorder.wakes(), 1, "atomic-waker.whole");
}

// WITNESS: atomic-waker.whole
#[test]
fn drop_that_panics_leaves_the_new_waker_registered() {
    let place = AtomicWaker::new();
    let broken = Hooks {
        on_drop: || panic!("on purpose"),
        ..Hooks::default()
    }
    .waker();
    let recorder = Recorder::new();
    place.register(&broken);
    assert!(catch_unwind(AssertUnwindSafe(|| place.register(recorder.waker()))).is_err());
    place.wake();
    assert_eq!(recorder.wakes(), 1, "atomic-waker.whole");
    keep(broken);
}

// WITNESS: atomic-waker.whole
#[test]
fn wake_that_panics_leaves_the_place_empty_and_usable() {
    let place = AtomicWaker::new();
    let broken = Hooks {
        on_wake: || panic!("on purpose"),
        ..Hooks::default()
    }
    .waker();
    place.register(&broken);
    assert!(catch_unwind(AssertUnwindSafe(|| place.wake())).is_err());
    assert!(place.take().is_none());
    let recorder = Recorder::new();
    place.register(recorder.waker());
    place.wake();
    assert_eq!(recorder.wakes(), 1, "atomic-waker.whole");
}

thread_local! {
    static PLACE: RefCell<Option<Rc<AtomicWaker>>> = const { RefCell::new(None) };
}

fn come_back() {
    if let Some(place) = PLACE.take() {
        place.register(std::task::Waker::noop());
        place.wake();
    }
}

// WITNESS: atomic-waker.whole
#[test]
fn wakers_may_come_back_from_clone_wake_and_drop() {
    let place = Rc::new(AtomicWaker::new());
    let returning = Hooks {
        on_clone: come_back,
        on_wake: come_back,
        on_drop: come_back,
    }
    .waker();
    PLACE.set(Some(Rc::clone(&place)));
    place.register(&returning);
    assert!(PLACE.take().is_none(), "the clone did not come back");
    PLACE.set(Some(Rc::clone(&place)));
    place.wake();
    assert!(PLACE.take().is_none(), "the wake did not come back");
    place.register(&returning);
    PLACE.set(Some(Rc::clone(&place)));
    let recorder = Recorder::new();
    place.register(recorder.waker());
    // The drop of the replaced one registered and woke in its turn, after ours was in.
    assert!(PLACE.take().is_none(), "the drop did not come back");
    assert!(place.take().is_none());
}

#[test]
fn woken_by_thread_local_destruction() {
    use std::sync::Arc;

    struct WakeOnDrop(Arc<AtomicWaker>);
    impl Drop for WakeOnDrop {
        fn drop(&mut self) {
            self.0.wake();
        }
    }
    thread_local! {
        static LAST: RefCell<Option<WakeOnDrop>> = const { RefCell::new(None) };
    }
    let place = Arc::new(AtomicWaker::new());
    let recorder = Recorder::new();
    place.register(recorder.waker());
    let waking = WakeOnDrop(Arc::clone(&place));
    assert!(
        std::thread::spawn(move || LAST.set(Some(waking)))
            .join()
            .is_ok()
    );
    assert_eq!(recorder.wakes(), 1);
}

/// The forms that circulate.
mod printed {
    use std::cell::{Cell, RefCell};
    use std::task::Waker;

    /// WAKING as a state of its own: what `wake` sets on EMPTY, nobody takes back.
    #[derive(Default)]
    pub(super) struct Place {
        waking: Cell<bool>,
        slot: RefCell<Option<Waker>>,
    }

    impl Place {
        pub(super) fn wake(&self) {
            self.waking.set(true);
            if let Some(waker) = self.slot.take() {
                self.waking.set(false);
                waker.wake();
            }
        }

        pub(super) fn register(&self, waker: &Waker) {
            if self.waking.get() {
                waker.wake_by_ref();
                return;
            }
            self.slot.replace(Some(waker.clone()));
        }
    }
}

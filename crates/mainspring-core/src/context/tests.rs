use super::{Entered, Slot};
use crate::sync::thread_local;
use std::sync::{Arc, Mutex};

thread_local! {
    static SLOT: Slot<u32> = const { Slot::new() };
    static OTHER: Slot<str> = const { Slot::new() };
}

fn current() -> Option<u32> {
    SLOT.with(|slot| slot.with(|value| value.copied()))
}

// WITNESS: context.top-live
#[test]
fn guards_dropped_in_order_restore_what_was_before() {
    let outer = Entered::new(&SLOT, Arc::new(1));
    let inner = Entered::new(&SLOT, Arc::new(2));
    assert_eq!(current(), Some(2));
    drop(inner);
    assert_eq!(current(), Some(1));
    drop(outer);
    assert_eq!(current(), None);
}

// WITNESS: context.top-live, context.alive
#[test]
fn guards_dropped_out_of_order_never_resurrect_a_dead_value() {
    let first = Arc::new(1);
    let outer = Entered::new(&SLOT, Arc::clone(&first));
    let inner = Entered::new(&SLOT, Arc::new(2));
    drop(outer);
    assert_eq!(current(), Some(2));
    drop(inner);
    assert_eq!(current(), None);
    assert_eq!(
        Arc::strong_count(&first),
        1,
        "context.alive: the node was leaked"
    );
}

// WITNESS: context.pinned
#[test]
fn value_looked_at_outlives_the_guard_dropped_inside_the_look() {
    let value = Arc::new(7);
    let mut guard = Some(Entered::new(&SLOT, Arc::clone(&value)));
    SLOT.with(|slot| {
        slot.with(|seen| {
            guard.take();
            assert!(SLOT.with(Slot::is_empty));
            assert_eq!(seen, Some(&7));
            assert_eq!(
                Arc::strong_count(&value),
                2,
                "context.pinned: freed under a look"
            );
        });
    });
    assert_eq!(Arc::strong_count(&value), 1);
}

// WITNESS: context.pinned
#[test]
fn look_that_panics_unpins() {
    let value = Arc::new(7);
    let guard = Entered::new(&SLOT, Arc::clone(&value));
    let caught = std::panic::catch_unwind(|| SLOT.with(|slot| slot.with(|_| panic!("on purpose"))));
    assert!(caught.is_err());
    drop(guard);
    assert_eq!(Arc::strong_count(&value), 1);
}

/// Notes what is current when it is dropped.
struct Look(Arc<Mutex<Option<bool>>>);

thread_local! {
    static LOOKS: Slot<Look> = const { Slot::new() };
}

impl Drop for Look {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = Some(LOOKS.with(Slot::is_empty));
    }
}

// WITNESS: context.top-live
#[test]
fn value_that_looks_while_it_is_dropped_finds_no_dead_guard() {
    let seen = Arc::new(Mutex::new(None));
    let outer = Entered::new(&LOOKS, Arc::new(Look(Arc::new(Mutex::new(None)))));
    let inner = Entered::new(&LOOKS, Arc::new(Look(Arc::clone(&seen))));
    drop(outer);
    drop(inner);
    assert_eq!(
        *seen.lock().unwrap(),
        Some(true),
        "the outer guard was dropped before"
    );
}

#[test]
fn joined_guards_leave_together() {
    let joined = Entered::nothing()
        .and(Entered::new(&SLOT, Arc::new(3)))
        .and(Entered::new(&OTHER, Arc::from("ring")));
    assert_eq!(current(), Some(3));
    assert_eq!(OTHER.with(Slot::cloned).as_deref(), Some("ring"));
    drop(joined);
    assert_eq!(current(), None);
    assert!(OTHER.with(Slot::is_empty));
}

// WITNESS: context.one-thread
#[test]
fn slot_is_empty_on_another_thread() {
    let _entered = Entered::new(&SLOT, Arc::new(1));
    assert_eq!(std::thread::spawn(current).join().ok(), Some(None));
}

// WITNESS: context.pinned
#[test]
fn look_that_is_kept_outlives_the_guard() {
    let value = Arc::new(7);
    let guard = Entered::new(&SLOT, Arc::clone(&value));
    let look = Slot::look(&SLOT).expect("entered above");
    drop(guard);
    assert!(Slot::look(&SLOT).is_none());
    assert_eq!((*look, Arc::strong_count(&value)), (7, 2));
    drop(look);
    assert_eq!(Arc::strong_count(&value), 1, "context.pinned: leaked");
}

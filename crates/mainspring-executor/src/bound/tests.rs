use super::{Bound, thread_number};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

// WITNESS: bound.home
#[test]
fn value_is_out_of_reach_on_another_thread() {
    let bound = Arc::new(Bound::new(Cell::new(1)));
    assert_eq!(bound.with(|value| value.replace(2)), Some(1));
    let elsewhere = Arc::clone(&bound);
    let seen = std::thread::spawn(move || elsewhere.with(Cell::get)).join();
    assert_eq!(seen.ok(), Some(None));
    assert_eq!(bound.with(Cell::get), Some(2));
}

// WITNESS: bound.number
#[test]
fn numbers_of_threads_that_ended_are_not_given_again() {
    let numbers = (0..8).map(|_| std::thread::spawn(thread_number).join());
    let mut seen: Vec<u64> = numbers.filter_map(Result::ok).collect();
    seen.push(thread_number());
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count, "bound.number");
}

// WITNESS: bound.drop
#[test]
fn value_is_dropped_at_home_and_leaked_elsewhere() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    /// Owns nothing: what is leaked here on purpose is not mistaken for a leak.
    struct Counts(PhantomData<*const ()>);
    impl Drop for Counts {
        fn drop(&mut self) {
            DROPS.fetch_add(1, Relaxed);
        }
    }
    drop(Bound::new(Counts(PhantomData)));
    assert_eq!(DROPS.load(Relaxed), 1);
    let bound = Bound::new(Counts(PhantomData));
    assert!(std::thread::spawn(move || drop(bound)).join().is_ok());
    assert_eq!(DROPS.load(Relaxed), 1, "bound.drop");
}

use crate::driver::Until;
use crate::park::{Parker, Woken};
use crate::time::{self, Nanos};
use std::cell::OnceCell;
use std::time::Duration;

// WITNESS: park.token
#[test]
fn unpark_before_park_is_kept_once() {
    let parker = Parker::new();
    parker.unparker().unpark();
    parker.unparker().unpark();
    parker.park();
    assert_eq!(parker.park_until(Until::Now), Woken::TimedOut, "park.token");
}

// WITNESS: park.token
#[test]
fn token_is_taken_before_a_passed_deadline_is_looked_at() {
    let parker = Parker::new();
    assert_eq!(parker.park_until(Until::At(Nanos::ZERO)), Woken::TimedOut);
    parker.unparker().unpark();
    assert_eq!(parker.park_until(Until::At(Nanos::ZERO)), Woken::Notified);
}

#[test]
fn park_until_never_returns_early() {
    let parker = Parker::new();
    let deadline = time::now().saturating_add(Duration::from_millis(2));
    assert_eq!(parker.park_until(Until::At(deadline)), Woken::TimedOut);
    assert!(time::now() >= deadline);
}

// WITNESS: park.asleep
#[test]
fn sleeper_is_woken_from_another_thread_every_time() {
    let parker = Parker::new();
    let reply = Parker::new();
    let (there, back) = (parker.unparker(), reply.unparker());
    let other = std::thread::spawn(move || {
        for _ in 0..1_000 {
            there.unpark();
            reply.park();
        }
    });
    for _ in 0..1_000 {
        parker.park();
        back.unpark();
    }
    assert!(other.join().is_ok());
}

#[test]
fn parker_moves_between_threads_and_works_during_thread_exit() {
    struct ParksInDrop(Parker);
    impl Drop for ParksInDrop {
        fn drop(&mut self) {
            self.0.unparker().unpark();
            self.0.park();
        }
    }
    thread_local! { static LATE: OnceCell<ParksInDrop> = const { OnceCell::new() }; }
    let parker = Parker::new();
    let other = std::thread::spawn(move || LATE.with(|late| late.set(ParksInDrop(parker)).is_ok()));
    assert_eq!(other.join().ok(), Some(true));
}

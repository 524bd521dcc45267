use super::{Controller, enter, signal};
use crate::park::Parker;
use crate::time::{Deadline, Nanos};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

struct Order(usize, Arc<Mutex<Vec<usize>>>);

impl Wake for Order {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
    }
}

fn poll<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

// WITNESS: shutdown.told
#[test]
fn request_wakes_all_who_wait_in_the_order_they_came() {
    let controller = Controller::new();
    let woken = Arc::new(Mutex::new(Vec::new()));
    let mut waits: Vec<_> = (0..100)
        .map(|_| Box::pin(controller.signal().requested()))
        .collect();
    for (i, wait) in waits.iter_mut().enumerate() {
        let waker = Waker::from(Arc::new(Order(i, Arc::clone(&woken))));
        assert!(poll(wait.as_mut(), &waker).is_pending());
        assert!(poll(wait.as_mut(), &waker).is_pending());
    }
    drop(waits.remove(40));
    let deadline = Deadline::from_nanos(Nanos(5));
    controller.request(deadline);
    let expected: Vec<_> = (0..100).filter(|i| *i != 40).collect();
    assert_eq!(*woken.lock().unwrap(), expected);
    for wait in &mut waits {
        assert_eq!(poll(wait.as_mut(), Waker::noop()), Poll::Ready(deadline));
    }
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker, on purpose");
    }
}

// WITNESS: shutdown.told
#[test]
fn waker_that_panics_stops_neither_the_request_nor_the_others() {
    let controller = Controller::new();
    let woken = Arc::new(Mutex::new(Vec::new()));
    let mut waits: Vec<_> = (0..100)
        .map(|_| Box::pin(controller.signal().requested()))
        .collect();
    for (i, wait) in waits.iter_mut().enumerate() {
        let waker = match i % 10 {
            0 => Waker::from(Arc::new(Panics)),
            _ => Waker::from(Arc::new(Order(i, Arc::clone(&woken)))),
        };
        assert!(poll(wait.as_mut(), &waker).is_pending());
    }
    controller.request(Deadline::never());
    let expected: Vec<_> = (0..100).filter(|i| i % 10 != 0).collect();
    assert_eq!(*woken.lock().unwrap(), expected);
}

#[test]
fn second_request_can_only_bring_the_deadline_nearer() {
    let controller = Controller::new();
    assert!(controller.signal().deadline().is_never());
    let (near, far) = (
        Deadline::from_nanos(Nanos(5)),
        Deadline::from_nanos(Nanos(9)),
    );
    for (asked, held) in [(far, far), (near, near), (far, near)] {
        controller.request(asked);
        assert_eq!(controller.signal().deadline(), held);
    }
}

struct Reenters(Controller, AtomicUsize);

impl Wake for Reenters {
    fn wake(self: Arc<Self>) {
        self.1
            .fetch_add(usize::from(self.0.signal().is_requested()), Relaxed);
    }
}

impl Drop for Reenters {
    fn drop(&mut self) {
        // Also a waker's last reference runs code of the user's.
        assert!(self.0.signal().deadline().is_never() || self.1.load(Relaxed) == 1);
    }
}

#[test]
fn waker_may_ask_the_signal_when_it_is_woken_replaced_and_dropped() {
    let controller = Controller::new();
    let reenters = |controller: &Controller| {
        let controller = Controller {
            shared: controller.shared.clone(),
        };
        Arc::new(Reenters(controller, AtomicUsize::new(0)))
    };
    let mut wait = pin!(controller.signal().requested());
    assert!(poll(wait.as_mut(), &Waker::from(reenters(&controller))).is_pending());
    assert!(poll(wait.as_mut(), Waker::noop()).is_pending());
    let mut dropped = Box::pin(controller.signal().requested());
    assert!(poll(dropped.as_mut(), &Waker::from(reenters(&controller))).is_pending());
    drop(dropped);
    let asked = reenters(&controller);
    assert!(poll(wait.as_mut(), &Waker::from(Arc::clone(&asked))).is_pending());
    controller.request(Deadline::never());
    assert_eq!(asked.1.load(Relaxed), 1);
}

// WITNESS: shutdown.told
#[test]
fn request_from_another_thread_is_heard() {
    let controller = Controller::new();
    let signal = controller.signal();
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(parker.unparker()));
    let requesting = std::thread::spawn(move || controller.request(Deadline::never()));
    let mut wait = pin!(signal.requested());
    while poll(wait.as_mut(), &waker).is_pending() {
        parker.park();
    }
    assert!(requesting.join().is_ok());
}

#[test]
fn signal_is_the_entered_one_and_never_comes_where_none_is() {
    assert!(!signal().is_requested());
    assert!(poll(pin!(signal().requested()), Waker::noop()).is_pending());
    let controller = Controller::new();
    let entered = enter(&controller.signal());
    controller.request(Deadline::never());
    assert!(signal().is_requested());
    drop(entered);
    assert!(!signal().is_requested());
}

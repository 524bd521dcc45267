//! Wrong protocols that have to fail: the stage can.

use mainspring_core::park::Parker;
use mainspring_core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use mainspring_core::sync::{Mutex, explore, thread};
use std::sync::Arc;
use std::task::Waker;

/// A flag and a waiter, in the textbook's order.
#[derive(Default)]
struct Event {
    is_set: AtomicBool,
    waiter: Mutex<Option<Waker>>,
}

impl Event {
    /// Looks first and registers then: a set in between finds nobody.
    fn wait(&self) {
        let parker = Parker::new();
        while !self.is_set.load(SeqCst) {
            let waker = Waker::from(Arc::new(parker.unparker()));
            *self.waiter.lock() = Some(waker);
            parker.park();
        }
    }

    fn set(&self) {
        self.is_set.store(true, SeqCst);
        if let Some(waker) = self.waiter.lock().take() {
            waker.wake();
        }
    }
}

#[test]
fn notification_between_look_and_registration_is_lost() {
    explore(|| {
        let event = Arc::new(Event::default());
        let other = Arc::clone(&event);
        let other = thread::spawn(move || other.set());
        event.wait();
        other.join().unwrap();
    });
}

//! Code of the user's that comes back to the channel from where it is called.

use super::kit::Hand;
use crate::channel::{Receiver, Sender, bounded};
use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

/// Sends once more when it is dropped, through the channel that it was in.
struct Echo {
    tx: Sender<Echo>,
    again: Cell<bool>,
}

impl Drop for Echo {
    fn drop(&mut self) {
        if self.again.get() {
            let echo = Self {
                tx: self.tx.clone(),
                again: Cell::new(false),
            };
            drop(self.tx.try_send(echo));
        }
    }
}

/// S5, B125: no lock is held while a message is dropped.
#[test]
fn message_whose_destructor_sends_may_be_dropped_with_the_channel() {
    let (tx, rx) = bounded(2);
    for _ in 0..2 {
        let echo = Echo {
            tx: tx.clone(),
            again: Cell::new(true),
        };
        assert!(tx.try_send(echo).is_ok());
    }
    drop(rx.try_recv());
    drop(rx);
    assert!(tx.is_closed() && tx.is_empty());
    // And in the hands of a send that is given up.
    let echo = Echo {
        tx: tx.clone(),
        again: Cell::new(true),
    };
    drop(Hand::new(tx.send(echo)));
    assert_eq!(tx.sender_count(), 1);
}

/// Uses the channel in its wake and in its drop.
struct Busybody(Mutex<Option<(Sender<u32>, Receiver<u32>)>>);

impl Busybody {
    fn meddle(&self) {
        let ends = self.0.try_lock().ok().and_then(|ends| ends.clone());
        if let Some((tx, rx)) = ends {
            let _ = tx.try_send(100);
            let _ = rx.try_recv();
            let _ = Hand::new(rx.recv()).poll();
            let _ = Hand::new(tx.send(200)).poll();
        }
    }
}

impl Wake for Busybody {
    fn wake(self: Arc<Self>) {
        self.meddle();
    }
}

impl Drop for Busybody {
    fn drop(&mut self) {
        self.meddle();
    }
}

/// S5, B124: no lock is held while a waker is woken or dropped.
#[test]
fn waker_may_use_the_channel_that_wakes_it() {
    let (tx, rx) = bounded(1);
    let busybody = Busybody(Mutex::new(Some((tx.clone(), rx.clone()))));
    let waker = Waker::from(Arc::new(busybody));
    let mut cx = Context::from_waker(&waker);
    let mut recv = Box::pin(rx.recv());
    assert!(recv.as_mut().poll(&mut cx).is_pending());
    tx.try_send(1).unwrap();
    drop(recv);
    let mut filled = 0;
    while tx.try_send(2).is_ok() {
        filled += 1;
    }
    assert!(filled <= 1);
    let mut send = Box::pin(tx.send(3));
    assert!(send.as_mut().poll(&mut cx).is_pending());
    drop(waker);
    // The last reference to the waker goes with the channel's.
    let _ = rx.try_recv();
    drop(send);
    drop(rx.drain().collect::<Vec<_>>());
    tx.close();
    assert_eq!((tx.sender_count(), tx.receiver_count()), (1, 1));
}

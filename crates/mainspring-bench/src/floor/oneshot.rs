//! A oneshot within one thread: a shared cell and a waker. Dropping the sender unsent leaves
//! the receiver pending for ever, which no row does.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

struct Shared<T> {
    value: Cell<Option<T>>,
    waiter: Cell<Option<Waker>>,
}

pub struct Sender<T>(Rc<Shared<T>>);

pub struct Receiver<T>(Rc<Shared<T>>);

pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Rc::new(Shared {
        value: Cell::new(None),
        waiter: Cell::new(None),
    });
    (Sender(Rc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    pub fn send(self, value: T) {
        self.0.value.set(Some(value));
        if let Some(waiter) = self.0.waiter.take() {
            waiter.wake();
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match self.0.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                self.0.waiter.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }
}

//! The suite of the testkit, on receivers that wait: a grant is a sender that parks.

use crate::channel;
use crate::channel::rendezvous::{Receiver, Sender};
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Shape, Subject, Waited};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

struct Receivers {
    tx: Arc<Sender<()>>,
    rx: Receiver<()>,
    parked: Mutex<Vec<Boxed<()>>>,
}

impl Subject for Receivers {
    fn shape() -> Shape {
        Shape::counting().budgeted()
    }

    fn new() -> Self {
        let (tx, rx) = channel::rendezvous();
        Self {
            tx: Arc::new(tx),
            rx,
            parked: Mutex::default(),
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.rx.recv().await {
                Ok(()) => Waited::Granted,
                Err(_) => Waited::Closed,
            }
        })
    }

    fn grant(&self) {
        let tx = Arc::clone(&self.tx);
        let thrown = Arc::new(Mutex::new(None));
        let catch = Arc::clone(&thrown);
        // A receiver's waker that panics leaves a send that is parked all the same.
        let mut send: Boxed<()> = Box::pin(async move {
            let mut send = pin!(tx.send(()));
            poll_fn(|cx| {
                let polled = catch_unwind(AssertUnwindSafe(|| send.as_mut().poll(cx)));
                polled.map_or_else(
                    |payload| {
                        *catch.lock().unwrap() = Some(payload);
                        Poll::Pending
                    },
                    |polled| polled.map(|_| ()),
                )
            })
            .await;
        });
        let mut cx = Context::from_waker(Waker::noop());
        if send.as_mut().poll(&mut cx).is_pending() {
            self.parked.lock().unwrap().push(send);
        }
        let payload = thrown.lock().unwrap().take();
        if let Some(payload) = payload {
            resume_unwind(payload);
        }
    }

    fn close(&self) {
        self.tx.close();
    }
}

mainspring_testkit::conformance! {
    mod receivers: super::Receivers;
}

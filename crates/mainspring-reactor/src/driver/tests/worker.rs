//! Threads that have a reactor each, and do what they are told, one after the other: what moves
//! between them, moves where the test says.

use super::Count;
use crate::backend::uring;
use crate::driver::{Hub, Reactor};
use mainspring_core::driver::{Driver, Until};
use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};

pub(super) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

type Job = Box<dyn FnOnce(&mut Option<Reactor>) + Send>;

/// A thread on which a reactor is current.
pub(super) struct Worker {
    jobs: Option<mpsc::Sender<Job>>,
    hub: Hub,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(super) fn new(make: fn() -> io::Result<Reactor>) -> io::Result<Self> {
        let (jobs, todo) = mpsc::channel::<Job>();
        let (say, hear) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut reactor = match make() {
                Ok(reactor) => Some(reactor),
                Err(error) => return say.send(Err(error)).unwrap(),
            };
            let made = reactor.as_ref().unwrap();
            let _entered = made.handle().enter();
            say.send(Ok(made.hub())).unwrap();
            for job in todo {
                job(&mut reactor);
            }
        });
        Ok(Self {
            hub: hear.recv().unwrap()?,
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    fn with<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Option<Reactor>) -> T + Send + 'static,
    ) -> T {
        let (say, hear) = mpsc::channel();
        let job = Box::new(move |reactor: &mut _| say.send(job(reactor)).unwrap());
        self.jobs.as_ref().unwrap().send(job).unwrap();
        hear.recv().expect("it panicked there")
    }

    /// Does this there.
    pub(super) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        self.with(|_| job())
    }

    /// Polls there.
    pub(super) fn poll<T: Send + 'static>(&self, future: &mut Boxed<T>, waker: &Waker) -> Poll<T> {
        let mut moved = std::mem::replace(future, Box::pin(pending()));
        let waker = waker.clone();
        let (back, polled) = self.run(move || {
            let polled = moved.as_mut().poll(&mut Context::from_waker(&waker));
            (moved, polled)
        });
        *future = back;
        polled
    }

    /// One turn of its driver.
    pub(super) fn turn(&self, until: Until) {
        self.with(move |reactor| _ = reactor.as_mut().unwrap().park(until).unwrap());
    }

    /// Turns until that many have been woken: each waits for the kernel.
    pub(super) fn until_woken(&self, count: &Count, times: usize) {
        while count.0.load(SeqCst) < times {
            self.turn(Until::Forever);
        }
    }

    /// What its kernel has, is delivered.
    pub(super) fn look(&self) {
        for _ in 0..8 {
            self.turn(Until::Now);
        }
    }

    /// Its driver goes; the thread stays, and a reactor that has gone is current on it.
    pub(super) fn end(&self) {
        self.with(|reactor| drop(reactor.take()));
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(super) fn ring(&self) -> &Arc<uring::Hub> {
        match &self.hub {
            Hub::Ring(ring) => ring,
            Hub::Poll(_) => panic!("no ring"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        let joined = self.thread.take().unwrap().join();
        if !thread::panicking() {
            joined.unwrap();
        }
    }
}

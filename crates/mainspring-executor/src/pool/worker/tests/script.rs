//! A worker over a driver that does what it is told, stepped by the test.

use crate::pool::desk::Seated;
use crate::pool::lane::LaneRef;
use crate::pool::tests::rig::{Rig, rig};
use crate::pool::worker::Worker;
use crate::worker::Step;
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, DriverHandle, Turn, Until};
use mainspring_core::time::Nanos;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::Waker;

/// What a scripted driver does, in its test's hands.
#[derive(Clone, Default)]
pub(in crate::pool) struct Script {
    /// Whom the next turn wakes.
    pub(in crate::pool) events: Rc<RefCell<Vec<Waker>>>,
    /// What `peek` says.
    pub(in crate::pool) is_ready: Rc<Cell<bool>>,
    pub(in crate::pool) handle: Arc<Handle>,
}

/// Counts what an unpark would have been.
#[derive(Default)]
pub(in crate::pool) struct Handle(AtomicUsize);

impl Script {
    /// How often the worker was unparked since this was asked.
    pub(in crate::pool) fn unparks(&self) -> usize {
        self.handle.0.swap(0, Relaxed)
    }
}

impl DriverHandle for Handle {
    fn enter(&self) -> Entered {
        Entered::nothing()
    }
    fn unpark(&self) {
        self.0.fetch_add(1, Relaxed);
    }
    fn rescue(&self, _now: Nanos, _limit: usize) -> usize {
        0
    }
    fn next(&self) -> Option<Nanos> {
        None
    }
}

impl Driver for Script {
    /// Never waits: who steps the worker decides when it may.
    fn park(&mut self, _until: Until) -> io::Result<Turn> {
        let events = self.events.take();
        let woken = events.len();
        events.into_iter().for_each(Waker::wake);
        // A clock that stands still leaves the pace as it is.
        let now = Nanos(1);
        Ok(Turn { now, woken })
    }
    fn peek(&self) -> bool {
        self.is_ready.get()
    }
    fn handle(&self) -> Arc<dyn DriverHandle> {
        Arc::clone(&self.handle) as Arc<dyn DriverHandle>
    }
}

/// One worker in the test's hands.
pub(in crate::pool) struct Stepped {
    pub(in crate::pool) worker: Worker,
    pub(in crate::pool) lane: LaneRef,
    pub(in crate::pool) script: Script,
}

pub(in crate::pool) fn workers(many: usize) -> (Rig, Vec<Stepped>) {
    let scripts: Vec<Script> = (0..many).map(|_| Script::default()).collect();
    let drivers = scripts.iter().cloned();
    let (rig, berths) = rig(drivers.map(|script| Box::new(script) as _).collect());
    let stepped = berths.into_iter().zip(scripts).map(|(berth, script)| {
        let (worker, lane) = berth.settle();
        Stepped {
            worker,
            lane,
            script,
        }
    });
    (rig, stepped.collect())
}

impl Stepped {
    /// Calls `act` as this worker's thread would.
    pub(in crate::pool) fn here<R>(&mut self, act: impl FnOnce(&mut Worker) -> R) -> R {
        let _seated = Seated::sit(&Rc::clone(self.worker.desk()));
        act(&mut self.worker)
    }

    pub(in crate::pool) fn step(&mut self) -> Step {
        self.here(|worker| worker.step(Nanos(1)))
    }

    /// Steps until nothing is ready, and says how many turns that took.
    pub(in crate::pool) fn run(&mut self) -> usize {
        let mut turns = 1;
        while self.step() == Step::Busy {
            turns += 1;
            assert!(turns < 10_000, "there is always work");
        }
        turns
    }
}

/// Who was polled, in order.
#[derive(Clone, Default)]
pub(in crate::pool) struct Log(Arc<Mutex<Vec<u32>>>);

impl Log {
    pub(in crate::pool) fn note(&self, who: u32) {
        self.0.lock().unwrap().push(who);
    }

    pub(in crate::pool) fn take(&self) -> Vec<u32> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub(in crate::pool) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

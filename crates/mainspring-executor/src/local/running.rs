//! The time in which an executor runs on its thread: everything that is current then.

use super::{CURRENT, LocalExecutor};
use crate::outer_turn::OuterTurn;
use crate::worker::Worker;
use mainspring_core::context::Entered;
use mainspring_core::driver::Until;
use mainspring_core::task::Resident;
use mainspring_core::{blocking, shutdown, spawn};
use std::sync::Arc;

/// The executor runs on this thread until this is dropped, which happens on unwind too.
pub(super) struct Running<'a> {
    executor: &'a LocalExecutor,
    worker: Option<Worker>,
    /// Goes back after the worker, before what was current.
    _outer_turn: OuterTurn,
    _entered: Entered,
    _resident: Resident,
}

impl<'a> Running<'a> {
    /// Takes the worker and makes the executor current.
    ///
    /// # Panics
    ///
    /// With `MS0002` if it runs already: a waker called by the driver came back to it.
    #[track_caller]
    pub(super) fn begin(executor: &'a LocalExecutor) -> Self {
        let worker = executor.worker.take();
        assert!(
            worker.is_some(),
            "MS0002: this executor is running already, further up on this thread's stack \
             (docs/errors.md)"
        );
        let hub = &executor.hub;
        let entered = hub
            .shared
            .driver()
            .enter()
            .and(spawn::enter(&executor.spawner))
            .and(spawn::enter_local(&executor.local_spawner))
            .and(shutdown::enter(&executor.controller.signal()))
            .and(blocking::enter(hub.blocking()))
            .and(Entered::new(&CURRENT, Arc::clone(hub)));
        Self {
            executor,
            worker,
            _outer_turn: OuterTurn::keep(),
            _entered: entered,
            _resident: hub.tasks().enter(),
        }
    }

    /// Nobody may run here for a while: the driver has a look, so that what was dropped last, a
    /// socket say, is seen off.
    pub(super) fn leave(&mut self) {
        let _turn = self.worker().park(Until::Now);
    }

    pub(super) fn worker(&mut self) -> &mut Worker {
        self.worker
            .as_mut()
            .expect("the worker is here until `Running` is dropped")
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.executor.worker.replace(self.worker.take());
    }
}

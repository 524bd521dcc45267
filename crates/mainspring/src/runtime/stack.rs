//! The reactor that a thread keeps between two calls of [`block_on`](super::block_on()).

use mainspring_core::driver::{Driver, DriverHandle, Turn, Until};
use mainspring_reactor::Reactor;
use std::cell::RefCell;
use std::io;
use std::sync::Arc;

thread_local! {
    static KEPT: RefCell<Option<Reactor>> = const { RefCell::new(None) };
}

/// This thread's reactor on loan: goes back when it is dropped, on unwind too.
///
/// Only the reactor is kept. What stands on it, the timers and their clock, the tasks, is made anew
/// for every call, so that no call finds what another left behind.
pub(super) struct Lent {
    reactor: Option<Reactor>,
}

impl Lent {
    /// Takes the kept reactor, or makes one.
    pub(super) fn take() -> io::Result<Self> {
        // During thread-local destruction there is none to be had: a fresh one serves.
        let kept = KEPT.try_with(RefCell::take).ok().flatten();
        let reactor = kept.map_or_else(Reactor::new, Ok)?;
        Ok(Self {
            reactor: Some(reactor),
        })
    }

    fn reactor(&self) -> &Reactor {
        self.reactor
            .as_ref()
            .expect("a reactor on loan is there until the loan is dropped")
    }
}

impl Driver for Lent {
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        self.reactor
            .as_mut()
            .expect("a reactor on loan is there until the loan is dropped")
            .park(until)
    }

    fn peek(&self) -> bool {
        self.reactor().peek()
    }

    fn handle(&self) -> Arc<dyn DriverHandle> {
        self.reactor().handle()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let reactor = self.reactor.take();
        // Nothing is kept when the thread is ending. What was there before, if anything was, is
        // dropped after the cell was let go: its drop wakes tasks, which may come back here.
        let before = KEPT.try_with(|kept| kept.replace(reactor));
        drop(before);
    }
}

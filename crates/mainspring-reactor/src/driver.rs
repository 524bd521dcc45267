//! The reactor: a driver that waits for sockets.

use crate::backend::Backend;
use crate::backend::poll::Hub;
use mainspring_core::context::{Entered, Slot};
use mainspring_core::driver::{Driver, DriverHandle, Turn, Until};
use mainspring_core::time::{self, Nanos};
use mio::Events;
use std::fmt;
use std::io;
use std::sync::Arc;

/// How many events one wait brings at most. Those above it come with the next one.
const EVENTS_MAX: usize = 1024;

thread_local! {
    static CURRENT: Slot<Hub> = const { Slot::new() };
}

/// The hub that was entered on this thread.
pub(crate) fn current() -> Option<Arc<Hub>> {
    CURRENT.with(Slot::cloned)
}

/// Waits for sockets on behalf of one worker: the innermost driver of a runtime that knows I/O.
///
/// One for each worker; wrap it in the timer's driver to have timers. A socket belongs to the
/// reactor that was [entered](DriverHandle::enter) on the thread that made it, for its whole life,
/// and may be used from any thread. Without an executor of the mainspring family none is needed:
/// where no reactor is current, one background thread serves.
///
/// # Guarantees
///
/// - A wait ends less than a timer interrupt after its moment on Linux; elsewhere the system's poll
///   rounds up to a millisecond.
/// - `unpark` costs a system call only while the driver sleeps.
/// - Dropping the reactor wakes every task that waits for one of its sockets. A socket of it that
///   would have to wait says [`ReactorError::Gone`](crate::ReactorError::Gone); what has arrived
///   can still be read.
///
/// # Trade-offs
///
/// Three descriptors and 12 KiB for the events of a turn.
///
/// ```
/// use mainspring_core::driver::{Driver, Until};
/// use mainspring_reactor::{Reactor, net::TcpListener};
/// use std::{pin::pin, task::{Context, Waker}};
///
/// let mut reactor = Reactor::new()?;
/// let entered = reactor.handle().enter();
/// let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap())?;
/// let _client = std::net::TcpStream::connect(listener.local_addr()?)?;
/// let mut accept = pin!(listener.accept());
/// let mut cx = Context::from_waker(Waker::noop());
/// while accept.as_mut().poll(&mut cx).is_pending() {
///     let _turn = reactor.park(Until::Forever)?; // returns when somebody connects
/// }
/// # drop(entered);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Reactor {
    handle: Arc<Handle>,
    events: Events,
}

struct Handle {
    hub: Arc<Hub>,
}

impl Reactor {
    /// A reactor over [`Backend::Auto`].
    ///
    /// # Errors
    ///
    /// What the operating system says: too many descriptors, above all.
    pub fn new() -> io::Result<Self> {
        Self::with_backend(Backend::Auto)
    }

    /// A reactor over the backend that is asked for.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_backend(backend: Backend) -> io::Result<Self> {
        // One backend is built: both names mean it.
        let (Backend::Auto | Backend::Poll) = backend;
        Ok(Self {
            handle: Arc::new(Handle {
                hub: Arc::new(Hub::new()?),
            }),
            events: Events::with_capacity(EVENTS_MAX),
        })
    }

    /// Which backend serves: never [`Backend::Auto`].
    #[must_use]
    pub fn backend(&self) -> Backend {
        Backend::Poll
    }

    /// How many sockets are registered.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.handle.hub.len()
    }

    pub(crate) fn hub(&self) -> Arc<Hub> {
        Arc::clone(&self.handle.hub)
    }
}

impl Driver for Reactor {
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        self.events.clear();
        let result = self.handle.hub.wait(&mut self.events, until);
        // Before anything else, so that who is woken finds the time of this turn.
        let now = time::anchor();
        result.map_err(|error| crate::error::while_doing("wait for sockets", error))?;
        let woken = self.handle.hub.dispatch(&self.events);
        Ok(Turn { now, woken })
    }

    /// Always `false`: whether a socket is ready, only the kernel knows.
    fn peek(&self) -> bool {
        false
    }

    fn handle(&self) -> Arc<dyn DriverHandle> {
        Arc::clone(&self.handle) as Arc<dyn DriverHandle>
    }
}

impl DriverHandle for Handle {
    fn enter(&self) -> Entered {
        Entered::new(&CURRENT, Arc::clone(&self.hub))
    }

    fn unpark(&self) {
        self.hub.unpark();
    }

    fn rescue(&self, _now: Nanos, limit: usize) -> usize {
        // Whatever is taken out of the poll has to be delivered, and one event may wake two.
        let events_max = (limit / 2).min(EVENTS_MAX);
        if events_max == 0 {
            return 0;
        }
        let mut events = Events::with_capacity(events_max);
        if !self.hub.look(&mut events) {
            return 0;
        }
        self.hub.dispatch(&events)
    }

    fn next(&self) -> Option<Nanos> {
        None
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        self.handle.hub.close();
    }
}

impl fmt::Debug for Reactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reactor")
            .field("backend", &self.backend())
            .field("sockets", &self.sockets())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

//! The reactor: a driver that waits for sockets.

use crate::backend::uring::{self, Completed, Profile};
use crate::backend::{Backend, Explanation, RingRefusal, poll};
use crate::error::ReactorError;
use mainspring_core::context::{Entered, Slot};
use mainspring_core::driver::{Driver, DriverHandle, Turn, Until};
use mainspring_core::sync::thread_local;
use mainspring_core::time::{self, Nanos};
use mio::Events;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::sync::Arc;

/// How many events one wait brings at most. Those above it come with the next one.
const EVENTS_MAX: usize = 1024;

thread_local! {
    static CURRENT: Slot<Hub> = const { Slot::new() };
}

/// What a reactor shares with its sockets.
#[derive(Clone, Debug)]
pub(crate) enum Hub {
    Poll(Arc<poll::Hub>),
    Ring(Arc<uring::Hub>),
}

/// The hub that was entered on this thread.
pub(crate) fn current() -> Option<Hub> {
    CURRENT.with(|current| current.with(|hub| hub.cloned()))
}

/// Looks at the ring that was entered on this thread, which costs a load.
#[inline]
pub(crate) fn with_ring<R>(look: impl FnOnce(Option<&Arc<uring::Hub>>) -> R) -> R {
    CURRENT.with(|current| {
        current.with(|hub| {
            look(match hub {
                Some(Hub::Ring(ring)) => Some(ring),
                Some(Hub::Poll(_)) | None => None,
            })
        })
    })
}

/// Waits for sockets on behalf of one worker: the innermost driver of a runtime that knows I/O.
///
/// One for each worker; wrap it in the timer's driver to have timers. The reactor that is
/// [entered](DriverHandle::enter) on the thread that makes a socket says over which backend that is
/// served, for its whole life. The socket may be used from any thread; the reactor itself stays
/// where it was made. Without an executor of the mainspring family none is needed: where no reactor
/// is current, one background thread serves.
///
/// # Sockets whose tasks move
///
/// What a socket does is served by the reactor that is current on the thread that polls, if that is
/// over the same backend; else by the one that served it last, else by that of the thread that made
/// it.
///
/// - Over the ring each operation begins there, and stays there until it has ended. A receive that
///   would go on and on, as it does in a reactor that one thread has for itself, is stopped when
///   its reader waits on another thread; an accept goes on where it is.
/// - With readiness a socket is registered there when it waits for the first time, and stays
///   registered there: to move a registration costs two system calls. (On Windows it is registered
///   where it was made.)
///
/// A reactor that is entered and not [parked](Driver::park) serves nobody, and what waits in it
/// waits until it is.
///
/// # Guarantees
///
/// - A wait ends less than a timer interrupt after its moment on Linux; elsewhere the system's poll
///   rounds up to a millisecond.
/// - `unpark` costs a system call only while the driver sleeps.
/// - Dropping the reactor wakes every task that waits in it. Polled where another serves, its
///   socket goes on there, and nothing is lost: neither what has arrived, nor the rest of a write.
///   Where none does, a socket that would have to wait says [`ReactorError::Gone`]; what has
///   arrived can still be read. Operations that the kernel has are cancelled and waited for, two
///   seconds at most; if some are left, their memory is leaked on purpose and one line on stderr
///   says so (MS0010).
///
/// A process that forks has the ring's memory in the parent only: the child must not use what
/// belongs to a reactor.
///
/// # Trade-offs
///
/// Over the ring: two descriptors, 200 KiB of queues, and buffers as they are needed, from half a
/// MiB to 18 MiB. Over readiness: three descriptors, and 12 KiB for the events of a turn.
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
    side: Side,
    refusal: Option<RingRefusal>,
    /// The ring is its thread's, and a parity that is checked by the compiler is one.
    one_thread: PhantomData<*const ()>,
}

/// The owner's side.
enum Side {
    Poll {
        hub: Arc<poll::Hub>,
        events: Events,
    },
    Ring {
        hub: Arc<uring::Hub>,
        completed: Vec<Completed>,
    },
}

struct Handle {
    hub: Hub,
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

    /// A reactor over the backend that is asked for, for a thread that shares it with nobody.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new). [`ReactorError::NoRing`] if the ring is asked for by its name, and
    /// refused; [`Backend::Auto`] takes readiness then.
    pub fn with_backend(backend: Backend) -> io::Result<Self> {
        Self::build(backend, Profile::Owned)
    }

    /// As [`with_backend`](Self::with_backend), for one of several workers that serve for each
    /// other: [`DriverHandle::rescue`] works on a ring that is made by this, and a receive ends
    /// with what it brings, so that the next one is wherever the task is then. It costs up to a
    /// tenth of the throughput.
    ///
    /// # Errors
    ///
    /// As [`with_backend`](Self::with_backend).
    pub fn shared(backend: Backend) -> io::Result<Self> {
        Self::build(backend, Profile::Shared)
    }

    fn build(backend: Backend, profile: Profile) -> io::Result<Self> {
        let ring = match backend {
            Backend::Poll => Err(None),
            Backend::Auto if Backend::is_poll_asked_for() => Err(Some(RingRefusal::Environment)),
            Backend::Auto => uring::Hub::new(profile).map_err(Some),
            Backend::Uring => Ok(uring::Hub::new(profile)
                .map_err(|refusal| ReactorError::NoRing(refusal).into_io())?),
        };
        let (side, refusal) = match ring {
            Ok(hub) => (
                Side::Ring {
                    hub: Arc::new(hub),
                    completed: Vec::new(),
                },
                None,
            ),
            Err(refusal) => (
                Side::Poll {
                    hub: Arc::new(poll::Hub::new()?),
                    events: Events::with_capacity(EVENTS_MAX),
                },
                refusal,
            ),
        };
        Ok(Self {
            side,
            refusal,
            one_thread: PhantomData,
        })
    }

    /// Which backend serves: never [`Backend::Auto`].
    #[must_use]
    pub fn backend(&self) -> Backend {
        match self.side {
            Side::Poll { .. } => Backend::Poll,
            Side::Ring { .. } => Backend::Uring,
        }
    }

    /// Why the ring does not serve, if this reactor was to have one and has none.
    #[must_use]
    pub fn refusal(&self) -> Option<RingRefusal> {
        self.refusal
    }

    /// Which backend serves, and why no other, as it was found when this reactor was made.
    #[must_use]
    pub fn explanation(&self) -> Explanation {
        match self.side {
            Side::Ring { .. } => Explanation::of(None),
            Side::Poll { .. } => {
                Explanation::of(Some(self.refusal.unwrap_or(RingRefusal::Unasked)))
            }
        }
    }

    /// How many receive buffers of the ring's are in the hands of tasks, as
    /// [`PooledBuf`](crate::buf::PooledBuf)s. None with readiness.
    #[must_use]
    pub fn pinned_buffers(&self) -> usize {
        match &self.side {
            Side::Poll { .. } => 0,
            Side::Ring { hub, .. } => hub.pins(),
        }
    }

    /// How many sockets that were made where it is current there are.
    #[must_use]
    pub fn sockets(&self) -> usize {
        match &self.side {
            Side::Poll { hub, .. } => hub.len(),
            Side::Ring { hub, .. } => hub.len(),
        }
    }

    pub(crate) fn hub(&self) -> Hub {
        match &self.side {
            Side::Poll { hub, .. } => Hub::Poll(Arc::clone(hub)),
            Side::Ring { hub, .. } => Hub::Ring(Arc::clone(hub)),
        }
    }
}

impl Driver for Reactor {
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        let result = match &mut self.side {
            Side::Poll { hub, events } => {
                events.clear();
                hub.wait(events, until)
            }
            Side::Ring { hub, completed } => {
                completed.clear();
                hub.park(until, completed)
            }
        };
        // Before anything else, so that who is woken finds the time of this turn.
        let now = time::anchor();
        // A wait that failed may have brought something all the same, and would not bring it again.
        let woken = match &self.side {
            Side::Poll { hub, events } => hub.dispatch(events),
            Side::Ring { hub, completed } => hub.dispatch(completed),
        };
        result.map_err(|error| crate::error::while_doing("wait for sockets", error))?;
        Ok(Turn { now, woken })
    }

    /// With readiness always `false`: whether a socket is ready, only the kernel knows.
    fn peek(&self) -> bool {
        match &self.side {
            Side::Poll { .. } => false,
            Side::Ring { hub, .. } => hub.peek(),
        }
    }

    fn handle(&self) -> Arc<dyn DriverHandle> {
        Arc::new(Handle { hub: self.hub() })
    }
}

impl DriverHandle for Handle {
    /// Sockets that are made or polled while the guard lives are served by the reactor. One that is
    /// entered and not parked serves nobody: a wait in it does not end.
    fn enter(&self) -> Entered {
        Entered::new(&CURRENT, Arc::new(self.hub.clone()))
    }

    fn unpark(&self) {
        match &self.hub {
            Hub::Poll(hub) => hub.unpark(),
            Hub::Ring(hub) => hub.unpark(),
        }
    }

    fn rescue(&self, _now: Nanos, limit: usize) -> usize {
        match &self.hub {
            Hub::Poll(hub) => {
                // Whatever is taken out of the poll has to be delivered, and one event may wake
                // two.
                let events_max = (limit / 2).min(EVENTS_MAX);
                if events_max == 0 {
                    return 0;
                }
                let mut events = Events::with_capacity(events_max);
                if !hub.look(&mut events) {
                    return 0;
                }
                hub.dispatch(&events)
            }
            Hub::Ring(hub) => {
                let mut completed = Vec::new();
                if !hub.rescue(limit, &mut completed) {
                    return 0;
                }
                hub.dispatch(&completed)
            }
        }
    }

    fn next(&self) -> Option<Nanos> {
        None
    }

    /// With readiness none: the kernel is only asked, and has nobody's memory.
    fn in_flight(&self) -> Option<usize> {
        match &self.hub {
            Hub::Poll(_) => Some(0),
            Hub::Ring(hub) => Some(hub.in_flight()),
        }
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        match &self.side {
            Side::Poll { hub, .. } => hub.close(),
            Side::Ring { hub, .. } => hub.close(),
        }
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

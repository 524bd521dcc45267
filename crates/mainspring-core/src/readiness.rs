//! What a loop of callbacks needs of a reactor: to be told when a source can be read or written.
//!
//! Futures do not come here: sockets have waiters of their own. An event loop does, whose users
//! hand it callbacks, and it shall not know which reactor serves it.
//!
//! ```
//! use mainspring_core::readiness::{self, Interest};
//!
//! # #[cfg(unix)] {
//! use std::os::fd::AsRawFd;
//! let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
//! let refused = readiness::register(socket.as_raw_fd(), Interest::READABLE, |_ready| {});
//! // No reactor is current on this thread, and the error says so.
//! assert!(refused.is_err_and(|error| error.kind() == std::io::ErrorKind::Unsupported));
//! # }
//! # Ok::<(), std::io::Error>(())
//! ```

use crate::context::{Entered, Slot};
use crate::sync::thread_local;
use std::error::Error;
use std::fmt;
use std::io;
use std::ops::BitOr;
use std::sync::Arc;

/// A descriptor or a socket of the operating system.
#[cfg(unix)]
pub type RawSource = std::os::fd::RawFd;

/// A descriptor or a socket of the operating system.
#[cfg(windows)]
pub type RawSource = std::os::windows::io::RawSocket;

/// A descriptor or a socket of the operating system.
#[cfg(not(any(unix, windows)))]
pub type RawSource = u64;

/// What a source is asked about, and what it turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interest(u8);

impl Interest {
    /// Something can be read, accepted, or the other side has closed.
    pub const READABLE: Self = Self(1);

    /// Something can be written, or a connection was established.
    pub const WRITABLE: Self = Self(2);

    /// Whether reading is among it.
    #[must_use]
    pub const fn is_readable(self) -> bool {
        self.0 & Self::READABLE.0 != 0
    }

    /// Whether writing is among it.
    #[must_use]
    pub const fn is_writable(self) -> bool {
        self.0 & Self::WRITABLE.0 != 0
    }
}

impl BitOr for Interest {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.is_readable(), self.is_writable()) {
            (true, true) => "READABLE | WRITABLE",
            (true, false) => "READABLE",
            (false, _) => "WRITABLE",
        })
    }
}

/// What is called when a source is ready, on the thread that drives the reactor, between two turns
/// and with none of its locks held.
pub type Callback = Box<dyn FnMut(Interest) + Send>;

/// A reactor that reports readiness to callbacks.
///
/// # Contract
///
/// - The callback is called after the source became ready and at least once for each time it did
///   since the last call; it may be called for nothing. It tries its system call and goes by that.
/// - After the [`Registration`] is dropped on the reactor's thread, the callback is not called
///   again; dropped elsewhere, it may be called once more. It is dropped on the reactor's thread
///   or the dropping one, with no lock held.
/// - The source stays open while it is registered: closing is the caller's duty, after.
pub trait Readiness {
    /// Watches `source`.
    ///
    /// # Errors
    ///
    /// What the operating system says to it: no descriptor, of a kind that cannot be watched, too
    /// many.
    fn register(
        &self,
        source: RawSource,
        interest: Interest,
        callback: Callback,
    ) -> io::Result<Registration>;
}

/// A source is watched until this is dropped.
#[must_use = "the source is watched only while the registration lives"]
pub struct Registration {
    _on_drop: Box<dyn Send>,
}

impl Registration {
    /// For a reactor: `on_drop` ends the registration by its own drop.
    pub fn new(on_drop: impl Send + 'static) -> Self {
        Self {
            _on_drop: Box::new(on_drop),
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").finish_non_exhaustive()
    }
}

/// No reactor is current on this thread. Carried by the [`io::Error`] of [`register`], whose kind
/// is [`io::ErrorKind::Unsupported`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoReactor;

impl NoReactor {
    /// Never: the thread does not get a reactor by waiting.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        false
    }
}

impl fmt::Display for NoReactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "MS0008: no reactor is current on this thread: drive one here, or enter its handle \
             (docs/errors.md)",
        )
    }
}

impl Error for NoReactor {}

thread_local! {
    static READINESS: Slot<dyn Readiness> = const { Slot::new() };
}

/// Watches `source` with the reactor of this thread.
///
/// # Errors
///
/// [`NoReactor`] where none is current, else what the reactor says.
pub fn register(
    source: RawSource,
    interest: Interest,
    callback: impl FnMut(Interest) + Send + 'static,
) -> io::Result<Registration> {
    match READINESS.with(Slot::cloned) {
        Some(reactor) => reactor.register(source, interest, Box::new(callback)),
        None => Err(io::Error::new(io::ErrorKind::Unsupported, NoReactor)),
    }
}

/// Makes `reactor` this thread's, for a worker's life.
pub fn enter(reactor: Arc<dyn Readiness>) -> Entered {
    Entered::new(&READINESS, reactor)
}

impl fmt::Debug for dyn Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness").finish_non_exhaustive()
    }
}

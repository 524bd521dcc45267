//! What the reactor itself may have to say, inside an [`io::Error`].

use crate::backend::RingRefusal;
use std::error::Error;
use std::fmt;
use std::io;

/// A fault that is not the operating system's word on a call: carried by an [`io::Error`], from
/// which [`io::Error::get_ref`] and a downcast take it.
///
/// ```
/// use mainspring_reactor::ReactorError;
///
/// fn is_reactor_gone(error: &std::io::Error) -> bool {
///     let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ReactorError>());
///     matches!(inner, Some(ReactorError::Gone))
/// }
/// # assert!(!is_reactor_gone(&std::io::ErrorKind::NotFound.into()));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ReactorError {
    /// No reactor is current, and the background thread could not be started. Code MS0004. The kind
    /// of the [`io::Error`] is the one of the error inside.
    Background(io::Error),
    /// No reactor is left that would serve the socket: none of its backend is current on this
    /// thread, and the one that served it last and the one of the thread that made it have been
    /// dropped. Code MS0005. The kind is [`io::ErrorKind::NotConnected`].
    Gone,
    /// The ring was asked for by its name, and this is why there is none. Code MS0009. The kind is
    /// [`io::ErrorKind::Unsupported`].
    NoRing(RingRefusal),
    /// The reactor has no place for another socket. The kind is [`io::ErrorKind::OutOfMemory`].
    Full,
}

impl ReactorError {
    /// Whether the same may succeed if it is tried again later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Background(_) | Self::Full => true,
            Self::Gone => false,
            Self::NoRing(refusal) => refusal.is_transient(),
        }
    }

    pub(crate) fn into_io(self) -> io::Error {
        let kind = match &self {
            Self::Background(error) => error.kind(),
            Self::Gone => io::ErrorKind::NotConnected,
            Self::NoRing(_) => io::ErrorKind::Unsupported,
            Self::Full => io::ErrorKind::OutOfMemory,
        };
        io::Error::new(kind, self)
    }
}

impl fmt::Display for ReactorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Background(error) => write!(
                f,
                "no reactor is current on this thread, and the background thread that would serve \
                 its sockets could not be started: {error} (MS0004)"
            ),
            Self::Gone => f.write_str(
                "the reactors that have served this socket have been dropped, and none is current \
                 here: nobody would tell when it is ready (MS0005)",
            ),
            Self::NoRing(refusal) => write!(
                f,
                "the backend \"uring\" is not to be had, and was asked for by its name; \
                 \"auto\" takes readiness instead: {refusal} (MS0009)"
            ),
            Self::Full => f.write_str("the reactor has no place for another socket"),
        }
    }
}

impl Error for ReactorError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Background(error) => Some(error),
            Self::Gone | Self::NoRing(_) | Self::Full => None,
        }
    }
}

/// Adds what was being done to an error, and keeps its kind.
pub(crate) fn while_doing(what: impl fmt::Display, error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        Doing {
            what: what.to_string(),
            error,
        },
    )
}

#[derive(Debug)]
struct Doing {
    what: String,
    error: io::Error,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.what, self.error)
    }
}

impl Error for Doing {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

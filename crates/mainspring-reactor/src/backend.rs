//! Which part of the operating system serves the sockets, and why that one.
//!
//! # What a backend must provide
//!
//! Sockets match on one private enum of backends; whatever joins it owes them all of this:
//!
//! | duty | readiness | ring |
//! |---|---|---|
//! | a source: takes a socket in, knows its halves, lets it go | `poll::Io` | `uring::Stream` |
//! | a wait that misses no event | `poll_io` | an operation in flight |
//! | waiters: one for a half, a queue for `&self` | `poll::waiters` | beside the halves |
//! | losslessness: what arrives late is the next call's | the kernel keeps it | the socket does |
//! | a driver: park, unpark, rescue of a stuck owner | `poll::Hub` | `uring::Hub` |
//! | an end: whoever waits gets one clear error | `poll::Hub::close` | `uring::Hub::close` |
//! | a name in [`Backend`], its reason in [`Explanation`] | this file | this file |

pub(crate) mod notify;
pub(crate) mod poll;
mod refusal;

#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
))]
pub(crate) mod uring;

#[cfg(not(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
)))]
#[path = "backend/no_uring.rs"]
pub(crate) mod uring;

pub use self::refusal::RingRefusal;

use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

/// Which part of the operating system serves the sockets.
///
/// The environment variable `MAINSPRING_BACKEND`, if it is `poll`, makes [`Auto`](Self::Auto) mean
/// [`Poll`](Self::Poll): for comparing the two without a rebuild. `auto`, or nothing, changes
/// nothing; anything else is ignored, and one line on stderr says so (MS0012). A backend that is
/// asked for by its name in the program asks no environment.
///
/// ```
/// use mainspring_reactor::Backend;
///
/// let explanation = Backend::explain();
/// assert_ne!(explanation.used(), Backend::Auto);
/// println!("{explanation}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The best one that this system allows: what [`explain`](Self::explain) says is used.
    #[default]
    Auto,
    /// The kernel's completion ring: io_uring, on Linux 6.1 and later where nothing forbids it.
    Uring,
    /// Readiness: epoll, kqueue, or what Windows has in their place.
    Poll,
}

impl Backend {
    /// What [`Auto`](Self::Auto) means here and now, and why. Asks the kernel each time.
    ///
    /// It speaks of what would be made now. What was made before may be served by another, since a
    /// limit or the environment has changed, or a backend was asked for by its name:
    /// [`Reactor::explanation`](crate::Reactor::explanation) speaks of one that there is.
    #[must_use]
    pub fn explain() -> Explanation {
        let refusal = if Self::is_poll_asked_for() {
            Some(RingRefusal::Environment)
        } else {
            uring::probe()
        };
        Explanation::would_be(refusal)
    }

    /// Whether the environment asks for readiness.
    pub(crate) fn is_poll_asked_for() -> bool {
        let name = std::env::var_os("MAINSPRING_BACKEND");
        match Asked::by(name.as_deref()) {
            Asked::Nothing => false,
            Asked::Poll => true,
            Asked::Unknown(name) => {
                UNKNOWN_ASKED.call_once(|| {
                    eprintln!(
                        "mainspring: MS0012 MAINSPRING_BACKEND is {name:?}, which is neither \
                         \"auto\" nor \"poll\", and is ignored (docs/errors.md)"
                    );
                });
                false
            }
        }
    }
}

/// A process is told once.
// DOOR: one static for the process, which no model explores.
static UNKNOWN_ASKED: std::sync::Once = std::sync::Once::new();

/// What the environment asks of [`Backend::Auto`].
#[derive(Debug, PartialEq, Eq)]
enum Asked<'n> {
    Nothing,
    Poll,
    Unknown(&'n OsStr),
}

impl<'n> Asked<'n> {
    fn by(name: Option<&'n OsStr>) -> Self {
        match name {
            None => Self::Nothing,
            Some(name) if name.is_empty() || name == "auto" => Self::Nothing,
            Some(name) if name == "poll" => Self::Poll,
            Some(name) => Self::Unknown(name),
        }
    }
}

impl fmt::Display for Backend {
    /// `auto`, `uring` or `poll`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Uring => "uring",
            Self::Poll => "poll",
        })
    }
}

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(name: &str) -> Result<Self, UnknownBackend> {
        match name {
            "auto" => Ok(Self::Auto),
            "uring" => Ok(Self::Uring),
            "poll" => Ok(Self::Poll),
            _ => Err(UnknownBackend(name.to_owned())),
        }
    }
}

/// A name that is no [`Backend`]'s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBackend(String);

impl UnknownBackend {
    /// Never: a name stays what it is.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        false
    }
}

impl fmt::Display for UnknownBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no backend is called {:?}: there are auto, uring and poll",
            self.0
        )
    }
}

impl Error for UnknownBackend {}

/// Which backend is used, and why no other: for a person to read, by its `Display`.
///
/// Two are equal if they name the same backend for the same reason, whether they speak of a reactor
/// that there is or of one that would be made.
#[derive(Clone, Copy, Debug)]
pub struct Explanation {
    refusal: Option<RingRefusal>,
    /// It speaks of a reactor that was made, and not of one that would be made now.
    is_made: bool,
}

impl PartialEq for Explanation {
    fn eq(&self, other: &Self) -> bool {
        self.refusal == other.refusal
    }
}

impl Eq for Explanation {}

impl Explanation {
    /// Of a reactor that was made.
    pub(crate) fn of(refusal: Option<RingRefusal>) -> Self {
        Self {
            refusal,
            is_made: true,
        }
    }

    /// Of a reactor that would be made now.
    fn would_be(refusal: Option<RingRefusal>) -> Self {
        Self {
            refusal,
            is_made: false,
        }
    }

    /// The backend that serves, or would; never [`Backend::Auto`].
    #[must_use]
    pub fn used(&self) -> Backend {
        match self.refusal {
            None => Backend::Uring,
            Some(_) => Backend::Poll,
        }
    }

    /// Why it is not the ring, if it is not.
    #[must_use]
    pub fn refusal(&self) -> Option<RingRefusal> {
        self.refusal
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backend = match self.used() {
            Backend::Uring => "the kernel's completion ring (io_uring)",
            _ => "readiness (epoll, kqueue or their like)",
        };
        if self.is_made {
            write!(f, "{backend} serves the sockets")?;
        } else {
            write!(f, "{backend} would serve the sockets of a reactor made now")?;
        }
        match self.refusal {
            None => Ok(()),
            Some(refusal) => write!(f, ": {refusal}"),
        }
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

//! Which part of the operating system serves the sockets, and why that one.
//!
//! # What a backend must provide
//!
//! Sockets match on one private enum of backends; whatever joins it owes them all of this:
//!
//! | duty | today |
//! |---|---|
//! | a source: takes a socket in, tells its halves apart, lets it go explicitly | `poll::Io` |
//! | a try that comes first and a wait that misses no event after it | `poll::Io::poll_io` |
//! | waiters: one for a half of a stream, a queue for calls on `&self` | `poll::waiters` |
//! | losslessness: a dropped future leaves what arrived to the next call | the kernel keeps it |
//! | a driver: park until a moment, unpark from any thread, rescue of a stuck owner | `Reactor` |
//! | an end: whoever waits when the driver goes gets one clear error | `poll::Hub::close` |
//! | a name in [`Backend`] and its reason in [`Explanation`] | this file |

pub(crate) mod poll;

use std::fmt;

/// Which part of the operating system serves the sockets.
///
/// ```
/// use mainspring_reactor::Backend;
///
/// let explanation = Backend::explain();
/// assert_eq!(explanation.used(), Backend::Poll);
/// println!("{explanation}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The best one that this system allows: what [`explain`](Self::explain) says is used.
    #[default]
    Auto,
    /// Readiness: epoll, kqueue, or what Windows has in their place.
    Poll,
}

impl Backend {
    /// What [`Auto`](Self::Auto) means here, and why.
    #[must_use]
    pub fn explain() -> Explanation {
        Explanation { used: Self::Poll }
    }
}

/// Which backend is used, and why no other: for a person to read, by its `Display`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    used: Backend,
}

impl Explanation {
    /// The backend that [`Backend::Auto`] stands for; never `Auto` itself.
    #[must_use]
    pub fn used(&self) -> Backend {
        self.used
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "readiness (epoll, kqueue or their like) serves the sockets; \
             a backend over the kernel's completion ring is not built yet",
        )
    }
}

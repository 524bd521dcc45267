//! Why there is no ring.

use std::fmt;

/// Why the kernel's completion ring (io_uring) does not serve the sockets.
///
/// Its `Display` is for a person: it says what to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RingRefusal {
    /// This system, or this kind of processor, has none, or the crate is built without it.
    Platform,
    /// The kernel was built without it, or a filter pretends that (ENOSYS).
    Missing,
    /// A filter of system calls forbids it (EPERM): the usual profile of a container.
    Filtered,
    /// The system's administrator has switched it off: `kernel.io_uring_disabled`.
    Disabled,
    /// The limit on locked memory is too low (ENOMEM).
    Memlock,
    /// The process or the system has no descriptor left (EMFILE, ENFILE).
    Descriptors,
    /// The kernel is too old: this is what it does not know. Linux 6.1 knows all of it.
    TooOld {
        /// The feature.
        lacks: &'static str,
    },
    /// Readiness was asked for by its name.
    Unasked,
    /// The environment variable `MAINSPRING_BACKEND` asks for readiness.
    Environment,
    /// Another error of the operating system.
    Other {
        /// Its number.
        code: i32,
    },
}

impl RingRefusal {
    /// Whether the same may succeed if it is tried again later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Memlock | Self::Descriptors)
    }
}

impl fmt::Display for RingRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Platform => f.write_str("this platform has no io_uring"),
            Self::Missing => f.write_str("the kernel has no io_uring (ENOSYS)"),
            Self::Filtered => f.write_str(
                "a filter of system calls forbids io_uring (EPERM): allow io_uring_setup, \
                 io_uring_enter and io_uring_register in the container's seccomp profile",
            ),
            Self::Disabled => {
                f.write_str("io_uring is switched off: the sysctl kernel.io_uring_disabled is set")
            }
            Self::Memlock => f.write_str(
                "io_uring needs more locked memory than the limit allows (ENOMEM): raise \
                 RLIMIT_MEMLOCK (ulimit -l)",
            ),
            Self::Descriptors => f.write_str(
                "no descriptor is left for io_uring (EMFILE or ENFILE): raise RLIMIT_NOFILE \
                 (ulimit -n)",
            ),
            Self::TooOld { lacks } => write!(
                f,
                "the kernel is too old for the ring: it lacks {lacks}, which Linux 6.1 has"
            ),
            Self::Unasked => f.write_str("it was asked for by its name"),
            Self::Environment => f.write_str("MAINSPRING_BACKEND=poll asks for readiness"),
            Self::Other { code } => write!(
                f,
                "the kernel refuses io_uring: {}",
                std::io::Error::from_raw_os_error(*code)
            ),
        }
    }
}

//! What an error of `accept` says about: this connection, this process, or the listener.

use std::io;

#[cfg(unix)]
mod codes {
    /// The connection has gone before it was accepted, or brought an error of its own along.
    pub(super) const CONNECTION: &[i32] = &[
        libc::ECONNABORTED,
        libc::EPROTO,
        libc::ENETDOWN,
        libc::ENOPROTOOPT,
        libc::EHOSTDOWN,
        libc::EHOSTUNREACH,
        libc::ENETUNREACH,
    ];
    /// There is no room for another descriptor, or no memory. It passes.
    pub(super) const RESOURCES: &[i32] = &[libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
}

#[cfg(not(unix))]
mod codes {
    /// WSAECONNRESET, WSAECONNABORTED.
    pub(super) const CONNECTION: &[i32] = &[10054, 10053];
    /// WSAEMFILE, WSAENOBUFS.
    pub(super) const RESOURCES: &[i32] = &[10024, 10055];
}

/// What the accepting task does about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an error that is ignored would spin"]
pub(super) enum OnAcceptError {
    /// One connection is lost, the next may be there: at once.
    NextOne,
    /// Nothing can be accepted for a while: wait, then again.
    BackOff,
    /// The listener is of no use.
    Report,
}

/// How many connections in a row may be lost before the accepting task waits. A system that loses
/// each of them, by a filter say, would have it spin.
const LOST_MAX: u32 = 16;

impl OnAcceptError {
    pub(super) fn of(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(code) if codes::CONNECTION.contains(&code) => Self::NextOne,
            Some(code) if codes::RESOURCES.contains(&code) => Self::BackOff,
            _ => Self::Report,
        }
    }

    /// As [`of`](Self::of), for a task that has lost so many connections in a row; counts on.
    pub(super) fn after(error: &io::Error, lost: &mut u32) -> Self {
        match Self::of(error) {
            Self::NextOne if *lost < LOST_MAX => {
                *lost += 1;
                Self::NextOne
            }
            Self::NextOne => {
                *lost = 0;
                Self::BackOff
            }
            other => other,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::{LOST_MAX, OnAcceptError};
    use std::io;

    #[test]
    fn errors_of_accept_are_told_apart() {
        let of = |code| OnAcceptError::of(&io::Error::from_raw_os_error(code));
        for code in [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM] {
            assert_eq!(of(code), OnAcceptError::BackOff, "{code}");
        }
        for code in [libc::ECONNABORTED, libc::EPROTO] {
            assert_eq!(of(code), OnAcceptError::NextOne, "{code}");
        }
        for code in [libc::EBADF, libc::EINVAL, libc::ENOTSOCK] {
            assert_eq!(of(code), OnAcceptError::Report, "{code}");
        }
        let foreign = io::Error::other("no code");
        assert_eq!(OnAcceptError::of(&foreign), OnAcceptError::Report);
    }

    #[test]
    fn connections_lost_without_end_are_waited_for() {
        let error = io::Error::from_raw_os_error(libc::ECONNABORTED);
        let mut lost = 0;
        for _ in 0..3 {
            for _ in 0..LOST_MAX {
                let next = OnAcceptError::after(&error, &mut lost);
                assert_eq!(next, OnAcceptError::NextOne);
            }
            let then = OnAcceptError::after(&error, &mut lost);
            assert_eq!(then, OnAcceptError::BackOff);
        }
    }
}

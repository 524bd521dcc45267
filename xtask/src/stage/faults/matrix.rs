//! The matrix: which call fails with which error, which time, on which backend, and what then.

use super::Extent;
use super::cell::{Cell, Expect, Fault};
use super::reference::Reference;
use std::fmt;

use Expect::{Ends, NoRing, Refused, Survives, Told, Unseen};
use Served::{Auto, Background, Poll, Uring};
use Which::{Always, Each, EverySecond, Few, Nth, RingMaps, SecondHalf};

/// Who serves the sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Served {
    /// The ring, asked for by its name.
    Uring,
    /// Whatever there is, asked for as programs do.
    Auto,
    /// Readiness, on the thread itself.
    Poll,
    /// Readiness, on the background thread.
    Background,
}

impl Served {
    pub(super) const ALL: [Self; 4] = [Self::Uring, Self::Auto, Self::Poll, Self::Background];

    /// How the program is told.
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Auto => "auto",
            Self::Poll => "poll",
            Self::Background => "background",
        }
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.option())
    }
}

/// Which of the calls fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    /// One of them, by its number.
    Nth(u32),
    /// One of them, each in its turn.
    Each,
    /// The same with the first ones: how often the call is made depends on the moment.
    Few,
    /// The second, the fourth, and so on.
    EverySecond,
    /// Those of the second half: the first ones are the loader's.
    SecondHalf,
    /// All of them.
    Always,
    /// One of those that belong to the making of the ring, each in its turn.
    RingMaps,
}

/// In the short form, how many turns [`Which::Each`] has; in the full one, how many at most.
const EACH_SHORT: u32 = 2;
const EACH_FULL: u32 = 48;

/// How many turns [`Which::Few`] has at most.
const FEW: u32 = 6;

/// Limits on descriptors: below, the program's libraries are not found; above, all goes well.
const DESCRIPTORS: std::ops::RangeInclusive<u32> = 4..=30;

struct Row {
    /// The names that the call may have, as strace takes them.
    calls: &'static str,
    errors: &'static [&'static str],
    which: &'static [Which],
    served: &'static [Served],
    expect: Expect,
}

const fn row(
    calls: &'static str,
    errors: &'static [&'static str],
    which: &'static [Which],
    served: &'static [Served],
    expect: Expect,
) -> Row {
    Row {
        calls,
        errors,
        which,
        served,
        expect,
    }
}

/// Where calls on sockets are alike.
const ANY: &[Served] = &[Uring, Poll, Background];
const READINESS: &[Served] = &[Poll, Background];
const RING: &[Served] = &[Uring, Auto];

const EPOLL_WAIT: &str = "epoll_wait,epoll_pwait,epoll_pwait2";
const CLONE: &str = "clone,clone3";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // No ring, and why.
    row("io_uring_setup", &["ENOSYS"], &[Always], RING, NoRing("no io_uring (ENOSYS)")),
    row("io_uring_setup", &["EPERM", "EACCES"], &[Always], RING, NoRing("seccomp profile")),
    row("io_uring_setup", &["ENOMEM"], &[Always], RING, NoRing("RLIMIT_MEMLOCK")),
    row("io_uring_setup", &["EMFILE", "ENFILE"], &[Always], RING, NoRing("RLIMIT_NOFILE")),
    row("io_uring_setup", &["EINVAL"], &[Always], RING, NoRing("too old")),
    row("io_uring_setup", &["EBUSY"], &[Always], RING, NoRing("Device or resource busy")),
    row("io_uring_register", &["ENOSYS"], &[Nth(1)], RING, NoRing("no io_uring (ENOSYS)")),
    row("io_uring_register", &["EPERM", "EACCES"], &[Nth(1)], RING, NoRing("seccomp profile")),
    row("io_uring_register", &["ENOMEM"], &[Nth(1), Nth(2)], RING, NoRing("RLIMIT_MEMLOCK")),
    row("io_uring_register", &["EINVAL"], &[Nth(1), Nth(2)], RING, NoRing("too old")),
    row("io_uring_register", &["EPERM"], &[Nth(2)], RING, NoRing("Operation not permitted")),
    row("mmap", &["ENOMEM", "EPERM"], &[RingMaps], RING, NoRing("")),
    row("madvise", &["ENOMEM"], &[Nth(1), Nth(2)], RING, NoRing("RLIMIT_MEMLOCK")),
    row("madvise", &["ENOMEM"], &[Nth(3), Nth(4)], &[Uring], Unseen),
    row("eventfd2", &["EMFILE", "ENFILE"], &[Nth(1)], RING, NoRing("RLIMIT_NOFILE")),
    row("eventfd2", &["ENOMEM"], &[Nth(1)], RING, NoRing("Cannot allocate memory")),
    row("eventfd2", &["EMFILE"], &[Always], &[Auto], Refused("Too many open files")),

    // The ring at work.
    row("io_uring_enter", &["EINTR", "EAGAIN", "EBUSY"], &[Each, EverySecond], &[Uring], Unseen),
    row("io_uring_enter", &["ENOMEM"], &[Each, EverySecond], &[Uring], Unseen),
    row("io_uring_enter", &["EAGAIN", "EBUSY", "ENOMEM", "EPERM"], &[Always], &[Uring],
        Refused("MS0003")),
    row("sendto", &["EAGAIN"], &[Each, EverySecond], &[Uring], Unseen),

    // No poll, and why.
    row("epoll_create1", &["EMFILE", "ENFILE"], &[Nth(1)], READINESS, Refused("open files")),
    row("epoll_create1", &["ENOMEM", "ENOSYS"], &[Nth(1)], READINESS, Refused("epoll")),
    row("eventfd2", &["EMFILE", "ENFILE"], &[Nth(1)], READINESS, Refused("open files")),
    row("timerfd_create", &["EMFILE", "ENFILE"], &[Nth(1)], READINESS, Refused("open files")),
    row("timerfd_create", &["ENOMEM", "ENOSYS"], &[Nth(1)], READINESS, Refused("timer")),
    row("epoll_ctl", &["ENOMEM", "ENOSPC"], &[Nth(1), Nth(2)], READINESS, Refused("os error")),
    row("epoll_create1", &["EMFILE"], &[Nth(1)], &[Background], Refused("MS0004")),
    row(CLONE, &["EAGAIN"], &[Always], &[Background], Refused("MS0004")),

    // The poll at work.
    // A socket is registered when it first waits: the call that waits is told.
    row("epoll_ctl", &["ENOMEM", "ENOSPC"], &[Nth(3), Nth(4)], &[Poll], Told("os error")),
    row("epoll_ctl", &["ENOMEM"], &[Each, EverySecond], READINESS, Ends),
    row(EPOLL_WAIT, &["EINTR"], &[Few, EverySecond], READINESS, Unseen),
    row(EPOLL_WAIT, &["EPERM"], &[Few], READINESS, Survives),
    row(EPOLL_WAIT, &["EPERM"], &[EverySecond], READINESS, Ends),
    row(EPOLL_WAIT, &["EPERM"], &[Always], READINESS, Refused("MS0003")),
    row("timerfd_settime", &["EINVAL"], &[Nth(1)], &[Poll], Unseen),
    row("timerfd_settime", &["EPERM"], &[Always], &[Poll], Unseen),

    // A listener.
    row("socket", &["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "EACCES"], &[Nth(1), Always], ANY,
        Refused("cannot listen on")),
    row("setsockopt", &["ENOBUFS"], &[Nth(1)], ANY, Refused("cannot listen on")),
    row("bind", &["EADDRINUSE", "EACCES"], &[Nth(1)], ANY, Refused("cannot listen on")),
    row("listen", &["EADDRINUSE"], &[Nth(1)], ANY, Refused("cannot listen on")),
    row("getsockname", &["ENOBUFS"], &[Nth(1)], ANY, Refused("No buffer space")),
    row("accept4", &["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"], &[Each, EverySecond], READINESS,
        Unseen),
    row("accept4", &["ECONNABORTED", "EPROTO", "ENETDOWN", "EINTR"], &[Each, EverySecond],
        READINESS, Unseen),
    row("accept4", &["EPERM"], &[Nth(1), EverySecond], READINESS, Told("the server's accept")),
    row("accept4", &["EMFILE", "ECONNABORTED", "EPERM"], &[Always], READINESS,
        Refused("timed out")),

    // A stream.
    row("socket", &["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"], &[Nth(2), EverySecond], ANY,
        Told("cannot connect to")),
    row("connect", &["ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "EADDRNOTAVAIL", "EAGAIN",
        "EPERM", "EINTR"], &[Nth(1), EverySecond], ANY, Told("cannot connect to")),
    row("connect", &["ECONNREFUSED", "EADDRNOTAVAIL", "EAGAIN"], &[Always], ANY,
        Refused("cannot connect to")),
    row("setsockopt", &["ENOBUFS"], &[Nth(2), Nth(3)], ANY, Told("No buffer space")),
    row("getsockopt", &["ENOBUFS"], &[Nth(1)], ANY, Told("No buffer space")),
    row("getpeername", &["ENOBUFS"], &[Each], ANY, Survives),
    row("fcntl", &["ENOMEM", "EMFILE"], &[Each, EverySecond], ANY, Ends),
    row("recvfrom", &["ECONNRESET", "ETIMEDOUT", "EHOSTUNREACH", "ENOMEM"], &[Each], READINESS,
        Told("")),
    row("recvfrom", &["EINTR"], &[Each, EverySecond], READINESS, Unseen),
    row("recvfrom", &["ECONNRESET"], &[Always], READINESS, Refused("Connection reset")),
    row("sendto", &["EPIPE", "ECONNRESET", "ENOBUFS", "EPERM"], &[Each], ANY, Told("")),
    row("sendto", &["EINTR"], &[Each, EverySecond], ANY, Unseen),
    row("sendto", &["EPIPE"], &[Always], ANY, Refused("Broken pipe")),
    row("shutdown", &["ENOTCONN"], &[Nth(1)], ANY, Survives),
    row("close", &["EINTR", "EIO"], &[Each, SecondHalf], ANY, Unseen),
];

/// Calls before which, or behind which, the thread is held up for a moment: other threads, and the
/// kernel's own work, overtake it.
const DELAYED: &[(&str, &[Served])] = &[
    ("io_uring_enter", &[Uring]),
    (EPOLL_WAIT, READINESS),
    ("epoll_ctl", READINESS),
    ("accept4", READINESS),
    ("recvfrom", READINESS),
    ("sendto", ANY),
    ("connect", ANY),
    ("close", ANY),
];
const DELAYS: [&str; 2] = ["delay_enter=500", "delay_exit=500"];

/// Every call that a row names.
pub(super) fn calls() -> Vec<&'static str> {
    let mut calls: Vec<_> = ROWS.iter().flat_map(|row| row.calls.split(',')).collect();
    calls.sort_unstable();
    calls.dedup();
    calls
}

/// The cells of a backend.
pub(super) fn cells(served: Served, reference: &Reference, extent: Extent) -> Vec<Cell> {
    let mut cells = Vec::new();
    for row in ROWS.iter().filter(|row| row.served.contains(&served)) {
        for which in row.which {
            for when in whens(*which, row.calls, reference, extent) {
                cells.extend(row.errors.iter().map(|error| Cell {
                    served,
                    fault: Fault::Call {
                        calls: row.calls,
                        what: format!("error={error}"),
                        when: when.clone(),
                    },
                    expect: row.expect,
                }));
            }
        }
    }
    for (calls, _) in DELAYED.iter().filter(|(_, on)| on.contains(&served)) {
        cells.extend(DELAYS.iter().map(|delay| Cell {
            served,
            fault: Fault::Call {
                calls,
                what: (*delay).to_owned(),
                when: String::new(),
            },
            expect: Unseen,
        }));
    }
    let step = match extent {
        Extent::Short => 3,
        Extent::Full => 1,
    };
    cells.extend(DESCRIPTORS.step_by(step).map(|count| Cell {
        served,
        fault: Fault::Descriptors(count),
        expect: Ends,
    }));
    cells
}

/// Which calls fail, in strace's words, cell by cell.
fn whens(which: Which, calls: &str, reference: &Reference, extent: Extent) -> Vec<String> {
    match which {
        Nth(number) => vec![number.to_string()],
        EverySecond => vec!["2+2".to_owned()],
        SecondHalf => vec![format!("{}+1", reference.count(calls).div_ceil(2))],
        Always => vec![String::new()],
        RingMaps => reference.ring_maps().iter().map(u32::to_string).collect(),
        Each | Few => {
            let at_most = match (extent, which) {
                (Extent::Short, _) => EACH_SHORT,
                (Extent::Full, Few) => FEW,
                (Extent::Full, _) => EACH_FULL,
            };
            // Of the later ones it depends on the moment whether they are made.
            let sure = reference.count(calls).div_ceil(2);
            (1..=sure.min(at_most)).map(|nth| nth.to_string()).collect()
        }
    }
}

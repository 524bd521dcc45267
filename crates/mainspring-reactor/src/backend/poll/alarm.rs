//! The end of a wait, exact to the nanosecond: the poll itself counts milliseconds.
//!
//! # Invariants
//!
//! - **alarm.fd** — the timer's descriptor is open and owned by the alarm for as long as it lives,
//!   and what is lent to the kernel outlives the call.
//! - **alarm.set** — while `set` names a deadline, the timer will ring for it: whoever takes the
//!   ringing out of the poll forgets it, under the poll's lock.

use super::registry::ALARM;
use mainspring_core::time::Nanos;
use mio::unix::SourceFd;
use mio::{Interest, Registry};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A timer of the kernel's among the poll's sources, set to an absolute moment.
#[derive(Debug)]
pub(crate) struct Alarm {
    timer: OwnedFd,
    /// What it is set to, if it has not rung since.
    set: Option<Nanos>,
}

impl Alarm {
    /// Creates it and adds it to the poll.
    pub(crate) fn new(registry: &Registry) -> io::Result<Self> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: [alarm.fd] no pointers are passed.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: [alarm.fd] the kernel has just given us this descriptor, and nobody else has it.
        let timer = unsafe { OwnedFd::from_raw_fd(fd) };
        registry.register(&mut SourceFd(&timer.as_raw_fd()), ALARM, Interest::READABLE)?;
        Ok(Self { timer, set: None })
    }

    /// Arranges that a wait of `left` ends at `deadline`, and says what the poll is to be told.
    /// A system call only if the deadline is not the one that is set.
    pub(crate) fn wait(&mut self, deadline: Nanos, left: Duration) -> io::Result<Option<Duration>> {
        if left.subsec_nanos() % 1_000_000 == 0 {
            // Nothing to wait for, or a wait that the poll can express.
            return Ok(Some(left));
        }
        if self.set != Some(deadline) {
            self.set_to(monotonic()?.saturating_add(left))?;
            self.set = Some(deadline);
        }
        Ok(None)
    }

    /// The poll has reported it. Whoever polled, the next wait sets it again.
    pub(crate) fn rang(&mut self) {
        // CLAIM: [alarm.set] also when it is not the owner who polls.
        self.set = None;
    }

    fn set_to(&self, moment: Duration) -> io::Result<()> {
        let spec = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: libc::timespec {
                tv_sec: libc::time_t::try_from(moment.as_secs()).unwrap_or(libc::time_t::MAX),
                tv_nsec: moment.subsec_nanos() as _,
            },
        };
        let fd = self.timer.as_raw_fd();
        // SAFETY: [alarm.fd] the descriptor is ours and open; `spec` is read during the call only,
        // and no old value is asked for.
        let result = unsafe {
            libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &spec, std::ptr::null_mut())
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

/// The time on the timer's own clock.
fn monotonic() -> io::Result<Duration> {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: [alarm.fd] `now` is valid for the write that the call makes.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(now.tv_sec as u64, now.tv_nsec as u32))
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

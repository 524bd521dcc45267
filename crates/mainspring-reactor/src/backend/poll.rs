//! The readiness backend: the caller makes the system call, the poll says when it is worth it.
//!
//! A source is registered when somebody waits for it for the first time, with the poll of the
//! thread that polls: a connection that one worker accepts and another serves is that one's. It
//! stays there, wherever its task goes later: to move it costs two system calls, a wake from
//! another thread costs one, and that only if nobody is awake.

pub(crate) mod hub;
pub(crate) mod io;
pub(crate) mod readiness;
pub(crate) mod registry;
pub(crate) mod waiters;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) mod alarm;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
#[path = "poll/no_alarm.rs"]
pub(crate) mod alarm;

#[cfg(unix)]
pub(crate) mod attach;

#[cfg(not(unix))]
#[path = "poll/attach_at_once.rs"]
pub(crate) mod attach;

pub(crate) use self::hub::Hub;
pub(crate) use self::io::Io;
pub(crate) use self::readiness::Half;

//! The readiness backend: the caller makes the system call, the poll says when it is worth it.

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

pub(crate) use self::hub::Hub;
pub(crate) use self::io::Io;
pub(crate) use self::readiness::Half;

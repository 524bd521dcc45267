//! The crate as its users see it: one suite, run by a driver on the caller's thread and by the
//! background thread.

#![cfg(unix)]

#[macro_use]
mod rig;

mod accept;
mod cancel;
mod connect;
#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
))]
mod denied;
#[cfg(target_os = "linux")]
mod drop_everywhere;
#[cfg(target_os = "linux")]
mod faults;
mod idle;
#[cfg(target_os = "linux")]
mod many;
mod options;
mod owned;
mod parity;
#[cfg(target_os = "linux")]
mod quarantine;
mod short;
mod steal;
mod stream;
mod takeover;
#[cfg(feature = "tokio-io")]
mod tokio_io;

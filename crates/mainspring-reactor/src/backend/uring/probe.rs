//! Whether the kernel gives a ring with what we need of it, and if not, why not.
//!
//! Every feature is asked for by name where the kernel can be asked; what it cannot be asked
//! (multishot receive, for one) came before DEFER_TASKRUN, which a kernel of 6.1 or later knows.

use crate::backend::RingRefusal;
use io_uring::{IoUring, Probe, opcode};
use std::io;

/// Room for entries between two entries into the kernel.
const SUBMISSIONS: u32 = 512;
/// Room for completions. What comes above it waits in the kernel, at a price.
const COMPLETIONS: u32 = 8192;

/// Who may touch the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// One thread alone: the kernel defers its work until that thread asks for completions.
    Owned,
    /// One thread submits; any thread may reap and enter, when the owner does not.
    Shared,
}

/// Why there would be no ring now.
pub(crate) fn probe() -> Option<RingRefusal> {
    build(Profile::Owned).err()
}

/// A ring of that profile, with every feature that the backend relies on.
pub(crate) fn build(profile: Profile) -> Result<IoUring, RingRefusal> {
    let mut builder = IoUring::builder();
    builder
        .dontfork()
        .setup_cqsize(COMPLETIONS)
        .setup_submit_all()
        .setup_taskrun_flag();
    match profile {
        Profile::Owned => builder.setup_single_issuer().setup_defer_taskrun(),
        Profile::Shared => builder.setup_coop_taskrun(),
    };
    let ring = builder.build(SUBMISSIONS).map_err(|error| why(&error))?;
    check(&ring)?;
    Ok(ring)
}

fn check(ring: &IoUring) -> Result<(), RingRefusal> {
    let params = ring.params();
    let features = [
        (
            params.is_feature_nodrop(),
            "completions that are kept on overflow",
        ),
        (params.is_feature_ext_arg(), "a wait with a limit"),
        (params.is_feature_fast_poll(), "internal polling"),
        (
            params.is_feature_submit_stable(),
            "arguments that are read at once",
        ),
    ];
    for (is_there, lacks) in features {
        if !is_there {
            return Err(RingRefusal::TooOld { lacks });
        }
    }
    let mut probe = Probe::new();
    ring.submitter()
        .register_probe(&mut probe)
        .map_err(|error| why(&error))?;
    let operations = [
        (opcode::PollAdd::CODE, "poll"),
        (opcode::AsyncCancel::CODE, "cancel"),
        (opcode::Accept::CODE, "accept"),
        (opcode::Recv::CODE, "recv"),
        (opcode::Send::CODE, "send"),
        // Came with 6.0, as multishot receive did, for which the kernel cannot be asked.
        (opcode::SendZc::CODE, "multishot receive"),
    ];
    for (code, lacks) in operations {
        if !probe.is_supported(code) {
            return Err(RingRefusal::TooOld { lacks });
        }
    }
    Ok(())
}

/// What an error of the set-up says.
fn why(error: &io::Error) -> RingRefusal {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => RingRefusal::Missing,
        Some(libc::EPERM | libc::EACCES) if is_disabled() => RingRefusal::Disabled,
        Some(libc::EPERM | libc::EACCES) => RingRefusal::Filtered,
        Some(libc::ENOMEM) => RingRefusal::Memlock,
        Some(libc::EMFILE | libc::ENFILE) => RingRefusal::Descriptors,
        // A flag that it does not know.
        Some(libc::EINVAL) => RingRefusal::TooOld {
            lacks: "deferred completion work",
        },
        code => RingRefusal::Other {
            code: code.unwrap_or(0),
        },
    }
}

/// Whether the system's administrator has switched it off, for everybody or for the unprivileged.
fn is_disabled() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled")
        .is_ok_and(|value| matches!(value.trim(), "1" | "2"))
}

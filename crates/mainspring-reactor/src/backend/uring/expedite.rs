//! Work that the kernel has put off for a thread until that enters it, done now.
//!
//! A ring's completions are posted by the thread that submitted the operations. With cooperative
//! task work that happens when the thread enters the kernel by itself; one that spins in user space
//! does so at its next timer interrupt, milliseconds later. An expedited memory barrier interrupts
//! every thread of the process that runs, and on its way back from that a thread does its work.
//!
//! # Invariants
//!
//! - **expedite.asked** — a process registers before its first barrier; one that is refused (by an
//!   old kernel, or a filter of system calls) does without, and waits for the interrupt.

use mainspring_core::sync::global::OnceLock;

/// See `membarrier(2)`; the numbers are part of the kernel's interface.
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// What `membarrier(2)` said to the registration.
static IS_ALLOWED: OnceLock<bool> = OnceLock::new();

/// Has the kernel do what it has put off for threads of this process that run. A system call, and
/// an interrupt for each of them.
pub(super) fn expedite() {
    // CLAIM: [expedite.asked]
    if *IS_ALLOWED.get_or_init(|| membarrier(REGISTER_PRIVATE_EXPEDITED)) {
        // What it could say was found out by the registration.
        let _ = membarrier(PRIVATE_EXPEDITED);
    }
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: [expedite.asked] three numbers, and no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    result == 0
}

#[cfg(test)]
mod tests;

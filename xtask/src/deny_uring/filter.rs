//! The filter.
//!
//! # Invariants
//!
//! - **deny-uring.copied** — the kernel copies the filter during the call that installs it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The calls of io_uring.
const CALLS: [libc::c_long; 3] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Becomes the program, or says why not.
pub(super) fn become_program(program: &str, args: &[String]) -> String {
    match deny() {
        Ok(()) => Command::new(program).args(args).exec().to_string(),
        Err(error) => format!("the filter is refused: {error}"),
    }
}

/// Has the calls fail on this thread and whatever it becomes.
fn deny() -> io::Result<()> {
    let step = |code: u32, jump_false, k| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: jump_false,
        k,
    };
    // The number of the call lies at the beginning of what is looked at.
    let mut steps = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for call in CALLS {
        let is_other = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
        steps.push(step(is_other, 1, call as u32));
        steps.push(step(libc::BPF_RET | libc::BPF_K, 0, refuse));
    }
    steps.push(step(
        libc::BPF_RET | libc::BPF_K,
        0,
        libc::SECCOMP_RET_ALLOW,
    ));
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: [deny-uring.copied] the call takes numbers alone.
    answer(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: [deny-uring.copied] the program and its steps live during the call.
    answer(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) })
}

fn answer(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What io_uring says on a thread that is denied it.
#[cfg(test)]
pub(super) fn denied_here() -> Option<i32> {
    let denied = std::thread::spawn(|| {
        deny().unwrap();
        // SAFETY: [deny-uring.copied] refused before anything is looked at, or after a null
        // pointer was.
        let made = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, std::ptr::null::<u8>()) };
        assert_eq!(made, -1);
        io::Error::last_os_error().raw_os_error()
    });
    denied.join().unwrap()
}

//! Runs a program where a filter of system calls forbids io_uring, as the usual profile of a
//! container does: each of its calls fails with EPERM. No compiler of C is needed for it.

use crate::context::Context;
use std::ffi::OsString;
use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod filter;

#[cfg(not(target_os = "linux"))]
#[path = "deny_uring/no_filter.rs"]
mod filter;

/// The words in front of a program that shall have no io_uring.
pub(crate) fn launcher(_: &Context) -> Result<Vec<OsString>, String> {
    let xtask = std::env::current_exe().map_err(|error| format!("cannot find xtask: {error}"))?;
    Ok(vec![xtask.into(), "deny-uring".into()])
}

/// The command: becomes the program.
pub(crate) fn main(args: &[String]) -> ExitCode {
    let Some((program, args)) = args.split_first() else {
        eprintln!("xtask: deny-uring needs a program");
        return ExitCode::from(2);
    };
    let why = filter::become_program(program, args);
    eprintln!("xtask: cannot run {program} without io_uring: {why}");
    ExitCode::from(2)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::context::Context;

    #[test]
    fn program_behind_the_launcher_is_denied_the_ring() {
        // In a test, the program that runs is the test's: only the words are looked at.
        let ctx = Context::new(std::path::PathBuf::from("."));
        let words = super::launcher(&ctx).unwrap();
        assert_eq!(words[1], "deny-uring");
        assert_eq!(super::filter::denied_here(), Some(1));
    }
}

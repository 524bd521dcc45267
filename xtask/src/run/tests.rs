use super::{Command, Ending};
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn shell(script: &str) -> Command {
    let command = Command::new("sh").args(["-c", script]).quiet();
    command.limit(Duration::from_secs(20))
}

/// Whether the process is there and not merely waiting to be collected.
fn is_alive(pid: &str) -> bool {
    let stat = PathBuf::from("/proc").join(pid.trim()).join("stat");
    match std::fs::read_to_string(stat) {
        Ok(stat) => !stat.contains(") Z "),
        Err(_) => false,
    }
}

fn is_gone_soon(pid: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while is_alive(pid) {
        if Instant::now() > until {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

#[test]
fn captured_streams_are_kept_apart() {
    let output = shell("echo out; echo err >&2").capture();
    assert_eq!(output.ending, Ending::Success);
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("out\n", "err\n")
    );
}

#[test]
fn merged_streams_keep_their_order() {
    let output = shell("echo 1; echo 2 >&2; echo 3").capture_merged();
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("1\n2\n3\n", "")
    );
}

#[test]
fn endings_tell_code_signal_and_absence_apart() {
    assert_eq!(shell("exit 3").capture().ending, Ending::Code(3));
    assert_eq!(shell("kill -6 $$").capture().ending, Ending::Signal(6));
    let absent = Command::new("/nonexistent/program").quiet().capture();
    assert!(matches!(absent.ending, Ending::NotStarted(_)), "{absent:?}");
}

#[test]
fn time_out_kills_the_whole_process_group() {
    let limit = Duration::from_millis(300);
    let output = shell("sleep 600 & echo $!; wait").limit(limit).capture();
    assert_eq!(output.ending, Ending::TimedOut(limit));
    assert!(!output.stdout.trim().is_empty(), "{output:?}");
    assert!(is_gone_soon(&output.stdout), "the grandchild survived");
}

#[test]
fn children_left_behind_by_a_success_are_killed() {
    let output = shell("sleep 600 >/dev/null 2>&1 & echo $!").capture();
    assert_eq!(output.ending, Ending::Success);
    assert!(is_gone_soon(&output.stdout), "the grandchild survived");
}

#[test]
fn flood_of_output_is_stopped() {
    let output = shell("exec yes").capture();
    assert_eq!(output.ending, Ending::Flooded);
}

#[test]
fn line_can_be_pasted_into_a_shell() {
    let command = Command::new("cargo")
        .args(["test", "it's", ""])
        .env("RUSTFLAGS", "--cfg a");
    assert_eq!(
        command.line(),
        r"RUSTFLAGS='--cfg a' cargo test 'it'\''s' ''"
    );
    let elsewhere = Command::new("cargo").home("/w").dir("/w/a b");
    assert_eq!(elsewhere.line(), "(cd '/w/a b' && cargo)");
}

#[test]
fn package_variables_of_xtask_do_not_reach_commands() {
    let output = shell("env").capture();
    assert!(!output.stdout.contains("CARGO_PKG_NAME="), "{output:?}");
}

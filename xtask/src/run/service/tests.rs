use crate::run::Command;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

fn shell(script: &str) -> Command {
    Command::new("sh").args(["-c", script]).quiet()
}

#[test]
fn line_is_waited_for_and_the_end_after_a_signal() {
    let script = "trap 'echo bye; exit 0' TERM; echo ready at 7; while :; do sleep 0.01; done";
    let mut service = shell(script).start_service().expect("a shell");
    assert_eq!(service.wait_for_line("ready at ", LONG).as_deref(), Ok("7"));
    service.terminate();
    // The shell may have something to say about the program it waited for.
    let written = service.wait_for_end(LONG).expect("an end");
    let has_both = written.starts_with("ready at 7\n") && written.ends_with("bye\n");
    assert!(has_both, "{written}");
}

#[test]
fn service_that_ends_or_stays_silent_is_an_error_that_tells_what_it_said() {
    let mut ended = shell("echo no luck; exit 3")
        .start_service()
        .expect("a shell");
    let why = ended.wait_for_line("ready", LONG).expect_err("it ended");
    assert!(
        why.starts_with("exited with 3") && why.contains("no luck"),
        "{why}"
    );
    let mut silent = shell("while :; do sleep 0.01; done")
        .start_service()
        .expect("a shell");
    let why = silent
        .wait_for_line("ready", Duration::ZERO)
        .expect_err("it is silent");
    assert!(why.starts_with("no line"), "{why}");
    let why = silent.wait_for_end(Duration::ZERO).expect_err("it stays");
    assert!(why.starts_with("still there"), "{why}");
}

#[test]
fn failure_after_a_signal_is_an_error() {
    let script = "trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done";
    let mut service = shell(script).start_service().expect("a shell");
    service.wait_for_line("ready", LONG).expect("a line");
    service.terminate();
    let why = service.wait_for_end(LONG).expect_err("it failed");
    assert!(why.starts_with("exited with 4"), "{why}");
}

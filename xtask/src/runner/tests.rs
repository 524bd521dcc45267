use super::{Binary, Pass, is_for_the_loom_stage, judge, run};
use crate::context::Context;
use crate::run::{Ending, Output};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Stands in front of this very test binary and, in its place, acts by the name it is given.
const STAND_IN: &str = r#"
case $3 in
*merged_outcomes*) echo "test result: ok. 1 passed; 0 failed; 0 ignored" ;;
*nothing_run*) exit 0 ;;
*package_filter*) echo "seed $SEED"; exit 101 ;;
*) echo "test result: ok. 1 passed; 0 failed; 0 ignored" ;;
esac
"#;

fn stand_in(_: &Context) -> Result<Vec<OsString>, String> {
    Ok(["sh", "-c", STAND_IN, "sh"].map(OsString::from).into())
}

/// The binary that this test is in.
pub(super) fn ourselves() -> Binary {
    Binary {
        package: "xtask".to_owned(),
        dir: PathBuf::from("."),
        kind: "bin".to_owned(),
        target: "xtask".to_owned(),
        is_test: true,
        executable: std::env::current_exe().unwrap_or_default(),
    }
}

fn output(ending: Ending, stdout: &str) -> Output {
    Output {
        ending,
        elapsed: Duration::ZERO,
        stdout: stdout.to_owned(),
        stderr: String::new(),
    }
}

#[test]
fn each_test_is_a_process_behind_the_launcher_with_the_environment_of_the_pass() {
    let binary = ourselves();
    let pass = Pass {
        name: "stand-in",
        env: &[("SEED", "7")],
        launcher: Some(stand_in),
        packages: &[],
    };
    let outcome = run(
        &Context::new(PathBuf::from(".")),
        &pass,
        std::slice::from_ref(&binary),
    );
    assert!(outcome.passed() > 10, "{}", outcome.passed());
    assert_eq!(outcome.failed(), 2, "{:?}", outcome.failures());

    let elsewhere = Pass {
        packages: &["mainspring-reactor"],
        ..pass
    };
    let outcome = run(&Context::new(PathBuf::from(".")), &elsewhere, &[binary]);
    assert_eq!(outcome.closing_line(), "0 passed, 0 failed, 0 skipped");
}

#[test]
fn launcher_that_cannot_be_made_fails_the_pass() {
    let pass = Pass {
        name: "seccomp",
        env: &[],
        launcher: Some(|_| Err("no compiler for it".to_owned())),
        packages: &[],
    };
    let outcome = run(&Context::new(PathBuf::from(".")), &pass, &[]);
    assert_eq!(outcome.failures(), ["pass seccomp"]);
}

#[test]
fn exit_with_zero_alone_is_no_pass() {
    let passed = "noise\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n\n";
    assert_eq!(judge(&output(Ending::Success, passed)), Ok(()));
    let unmatched = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured";
    assert!(judge(&output(Ending::Success, unmatched)).is_err());
    assert!(judge(&output(Ending::Success, "")).is_err());
    assert!(judge(&output(Ending::Signal(6), passed)).is_err());
    assert!(judge(&output(Ending::TimedOut(Duration::from_secs(1)), passed)).is_err());
}

#[test]
fn models_are_left_to_the_loom_stage_wherever_they_stand() {
    assert!(is_for_the_loom_stage(
        "park::tests::loom::unpark_races_park"
    ));
    assert!(is_for_the_loom_stage("park::tests::printed::plain_store"));
    assert!(is_for_the_loom_stage("loom::a"));
    assert!(!is_for_the_loom_stage("bloom::filter::heirloom::works"));
}

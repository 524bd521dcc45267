use super::SCRIPT;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

fn sleeper() -> Child {
    let mut sleep = Command::new("sleep");
    sleep.arg("600").process_group(0);
    sleep.spawn().unwrap_or_else(|error| panic!("{error}"))
}

/// Gives a fresh reaper these orders and closes its pipe, as the death of xtask would.
fn reap(orders: &str) {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stderr(Stdio::null());
    let mut shell = shell.spawn().unwrap_or_else(|error| panic!("{error}"));
    let mut stdin = shell.stdin.take();
    if let Some(stdin) = &mut stdin {
        stdin
            .write_all(orders.as_bytes())
            .unwrap_or_else(|error| panic!("{error}"));
    }
    drop(stdin);
    shell.wait().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn groups_that_live_when_xtask_dies_are_killed() {
    let mut sleepers = [sleeper(), sleeper()];
    let [first, second] = [sleepers[0].id(), sleepers[1].id()];
    reap(&format!("start {first}\nstart {second}\n"));
    for child in &mut sleepers {
        let status = child.wait().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(status.signal(), Some(9));
    }
}

#[test]
fn order_to_kill_reaches_only_the_named_group() {
    let mut named = sleeper();
    let mut other = sleeper();
    reap(&format!("start {0}\nend {0}\n", named.id()));
    let status = named.wait().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(status.signal(), Some(9));
    let alive = other.try_wait().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(alive, None, "the other group was hit");
    other
        .kill()
        .and_then(|()| other.wait())
        .unwrap_or_else(|error| panic!("{error}"));
}

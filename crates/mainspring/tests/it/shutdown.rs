//! Runtimes whose tasks wait for a socket or a lock, ended in every way over every backend.
//!
//! Each cell asserts that the end returns, that the report names what was left and what it waited
//! for, and that every task is gone with its sockets: the process has as many descriptors and
//! threads as before. What does not need a reactor has its cells in the executor's tests.

#[cfg(target_os = "linux")]
mod matrix;

use mainspring::task::Blocking;
use mainspring::{Runtime, spawn_blocking_as};
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The one who asked for the process holds its standard input open, and writes nothing.
#[test]
fn read_from_the_terminal_holds_up_neither_the_shutdown_nor_the_exit() {
    const MARK: &str = "MAINSPRING_TEST_STDIN";
    if std::env::var_os(MARK).is_some() {
        return reads_from_the_terminal();
    }
    let name = "shutdown::read_from_the_terminal_holds_up_neither_the_shutdown_nor_the_exit";
    let mut child = Command::new(std::env::current_exe().expect("this executable"))
        .args(["--exact", name, "--test-threads", "2"])
        .env(MARK, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("a process");
    // Waiting for it would close its input.
    let input = child.stdin.take();
    let status = child.wait().expect("it ends");
    drop(input);
    assert!(status.success(), "{status}");
}

fn reads_from_the_terminal() {
    let hour = Duration::from_secs(3_600);
    let runtime = Runtime::builder().workers(2).build().expect("a runtime");
    let (begun, begins) = mpsc::channel();
    let line = line!() + 2;
    let task = runtime.spawn(async move {
        spawn_blocking_as(Blocking::Abandonable, move || {
            let _ = begun.send(());
            std::io::stdin().read(&mut [0])
        })
        .await
    });
    begins.recv().expect("it runs");
    // Nobody is waited for who waits for it, either: a tenth of it is for the task.
    let runtime_ends = std::thread::spawn(move || runtime.shutdown(hour / 36_000));
    let report = runtime_ends.join().expect("no panic");
    assert!(task.is_finished());
    assert_eq!(report.dropped.len(), 1, "{report}");
    assert_eq!(report.abandoned_jobs.len(), 1, "{report}");
    let job = report.abandoned_jobs[0];
    assert_eq!(job.submitted_at.line(), line);
    assert!(!report.is_leaking(), "{report}");
    // The same with nobody who waits, and an hour that is not taken.
    let runtime = Runtime::builder().workers(1).build().expect("a runtime");
    let (begun, begins) = mpsc::channel();
    let task = runtime.spawn(async move {
        let job = spawn_blocking_as(Blocking::Abandonable, move || {
            let _ = begun.send(());
            std::io::stdin().read(&mut [0])
        });
        job.detach();
    });
    begins.recv().expect("it runs");
    while !task.is_finished() {
        std::thread::yield_now();
    }
    let report = runtime.shutdown(hour);
    assert_eq!(report.abandoned_jobs.len(), 1, "{report}");
    assert!(report.took < hour / 2);
}

use super::{Overruns, ShutdownReport, ThreadInfo};

fn thread(worker: Option<usize>, in_flight: Option<usize>) -> ThreadInfo {
    ThreadInfo {
        name: "intake-1".into(),
        worker,
        in_flight,
    }
}

#[test]
fn thread_that_was_left_is_named_with_what_the_kernel_has() {
    let said = [
        (Some(1), None, "the thread intake-1 and its driver"),
        (Some(1), Some(0), "the thread intake-1 and its driver"),
        (
            Some(1),
            Some(1),
            "the thread intake-1 and its driver, with one operation in the kernel",
        ),
        (
            Some(1),
            Some(3),
            "the thread intake-1 and its driver, with 3 operations in the kernel",
        ),
        (None, None, "the thread intake-1"),
    ];
    for (worker, in_flight, expected) in said {
        assert_eq!(thread(worker, in_flight).to_string(), expected);
    }
}

#[test]
fn report_that_left_a_thread_behind_is_not_clean() {
    let mut report = ShutdownReport::default();
    assert!(report.is_clean() && !report.is_leaking());
    report.left_threads.push(thread(None, None));
    assert!(!report.is_clean() && report.is_leaking());
    assert_eq!(
        report.to_string(),
        "shutdown in 0ns\nleft behind: the thread intake-1"
    );
    assert!(Overruns::default().take().is_empty());
}

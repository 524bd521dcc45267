use super::{Lines, StallReport};
use crate::{Pool, TaskBuilder};
use mainspring_core::time::Nanos;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;

fn report(worker: Option<usize>, is_over: bool) -> StallReport {
    StallReport {
        worker,
        task: None,
        duration: Duration::from_millis(12),
        is_over,
    }
}

#[test]
fn report_says_who_and_how_long() {
    let texts = [(Some(3), false), (None, true)].map(|(worker, is_over)| {
        let report = report(worker, is_over);
        report.to_string()
    });
    let expected = [
        "worker 3 has been stuck for 12.0ms in one poll of a task that has ended",
        "the spare worker is back after 12.0ms in one poll of a task that has ended",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn hook_is_told_of_the_task_by_number_name_and_place() {
    let (reports, inbox) = channel();
    let builder = Pool::builder()
        .workers(1)
        .stall_threshold(Duration::from_millis(1));
    let builder = builder.on_stall(move |report| drop(reports.send(report.clone())));
    let pool = builder.build().expect("threads");
    // Blocks its worker until that is reported.
    let blocks = async move {
        let report = inbox.recv().expect("a report");
        (report, inbox)
    };
    let line = line!() + 1;
    let (task,) = pool.block_on(async { (TaskBuilder::new().name("sorter").spawn(blocks),) });
    let id = task.id();
    let (begun, inbox) = pool.block_on(task).expect("no panic");
    let over = inbox.recv().expect("another report");
    assert_eq!((begun.worker, begun.is_over), (Some(0), false));
    assert_eq!((over.worker, over.is_over), (Some(0), true));
    for report in [&begun, &over] {
        let task = report.task.as_ref().expect("it had not ended");
        assert_eq!((task.id, task.name.as_deref()), (id, Some("sorter")));
        assert_eq!(
            (task.spawned_at.file(), task.spawned_at.line()),
            (file!(), line)
        );
    }
    assert!(begun.duration >= Duration::from_millis(1), "{begun}");
    let text = format!(
        "in one poll of task {id} \"sorter\", spawned at {}:{line}:",
        file!()
    );
    assert!(begun.to_string().contains(&text), "{begun}");
    assert_eq!(pool.metrics().stalls, 1);
}

#[test]
fn hook_that_panics_ends_nothing() {
    let (reports, inbox) = channel();
    let builder = Pool::builder()
        .workers(1)
        .stall_threshold(Duration::from_millis(1));
    let builder = builder.on_stall(move |_| {
        let _ = reports.send(());
        panic!("a hook of no use");
    });
    let pool = builder.build().expect("threads");
    for _ in 0..3 {
        let inbox = &inbox;
        let (release, held) = channel::<()>();
        let task = pool.spawn(async move { held.recv() });
        inbox.recv().expect("noticed");
        drop(release);
        assert!(pool.block_on(task).is_ok());
        inbox.recv().expect("over");
    }
}

// WITNESS: pool-end.not-itself
#[test]
fn hook_that_drops_the_pool_does_not_wait_for_its_own_thread() {
    let place: Arc<Mutex<Option<Pool>>> = Arc::default();
    let (reports, inbox) = channel();
    let (ended, end) = channel();
    let builder = Pool::builder()
        .workers(2)
        .stall_threshold(Duration::from_millis(1));
    let builder = builder.on_stall({
        let place = Arc::clone(&place);
        move |_| {
            let _ = reports.send(());
            let pool = place.lock().expect("no panic").take();
            if pool.is_some() {
                drop(pool);
                let _ = ended.send(());
            }
        }
    });
    let mut guard = place.lock().expect("no panic");
    let pool = guard.insert(builder.build().expect("threads"));
    let task = pool.spawn(async move { inbox.recv() });
    drop(guard);
    end.recv().expect("it comes to an end");
    assert!(crate::block_on(task).is_ok());
}

#[test]
fn lines_are_for_one_stall_a_second_and_count_the_others() {
    let mut lines = Lines::default();
    let mut line = |worker, is_over, now| lines.line(&report(Some(worker), is_over), Nanos(now));
    let told = line(0, false, 0).expect("the first");
    assert!(
        told.starts_with("mainspring: MS0019 worker 0 has been stuck for 12.0ms"),
        "{told}"
    );
    assert!(!told.contains("more since"), "{told}");
    assert_eq!(line(1, false, SECOND / 2), None);
    assert_eq!(line(1, true, SECOND / 2), None, "of one that was not told");
    assert!(line(0, true, SECOND / 2).is_some_and(|told| told.contains("is back after")));
    assert_eq!(line(0, false, SECOND - 1), None);
    let told = line(1, false, SECOND).expect("a second later");
    assert!(told.contains("; 2 more since the last report"), "{told}");
    assert_eq!(line(0, true, SECOND), None);
    assert!(line(1, true, 2 * SECOND).is_some());
}

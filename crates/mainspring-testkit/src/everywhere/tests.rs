use super::{Turn, drop_everywhere};
use crate::block::block_on;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::cell::Cell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

/// Waits so often, and wakes itself.
async fn waits(times: usize) -> usize {
    let mut left = times;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(times);
        }
        left -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[test]
fn each_operation_is_dropped_at_each_of_its_points() {
    let runs = AtomicUsize::new(0);
    let dropped = block_on(drop_everywhere(async |points| {
        runs.fetch_add(1, Relaxed);
        let mut dropped = 0;
        for times in [2, 0, 3] {
            match points.run("waits", waits(times)).await {
                Some(waited) => assert_eq!(waited, times),
                None => dropped += 1,
            }
        }
        if points.run("another", waits(1)).await.is_none() {
            dropped += 1;
        }
        assert_eq!(dropped, usize::from(!points.is_counting()));
    }));
    assert_eq!(dropped.points(), 6);
    assert_eq!(dropped.by_name["waits"], (5, 5));
    assert_eq!(dropped.by_name["another"], (1, 1));
    // One to count, and one for each point.
    assert_eq!(runs.load(Relaxed), 7);
}

#[test]
fn world_is_told_of_each_turn() {
    let seen = std::sync::Mutex::new(Vec::new());
    block_on(drop_everywhere(async |points| {
        let mut turns = Vec::new();
        points
            .run_with("waits", waits(2), |turn| turns.push(turn))
            .await;
        seen.lock().unwrap().push(turns);
    }));
    use Turn::{Doomed, Dropped, Waits};
    let expected = [
        vec![Waits, Waits],
        vec![Doomed, Dropped],
        vec![Waits, Doomed, Dropped],
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

fn words_of_the_panic(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    let words = payload.downcast_ref::<String>().cloned();
    words.unwrap_or_else(|| payload.downcast_ref::<&str>().unwrap().to_string())
}

/// A scenario whose later runs wait less often than the counting run shows less than it seems to.
#[test]
fn run_that_waits_less_often_than_the_counting_run_is_found() {
    let runs = Cell::new(0);
    let words = words_of_the_panic(|| {
        let _ = block_on(drop_everywhere(async |points| {
            runs.set(runs.get() + 1);
            let times = if runs.get() == 1 { 3 } else { 1 };
            points.run("waits", waits(times)).await;
        }));
    });
    assert_eq!(
        words,
        "not dropped everywhere:\nwaits: dropped at 1 of 3 points\n"
    );
}

#[test]
fn scenario_that_never_waits_is_found() {
    let words = words_of_the_panic(|| {
        let _ = block_on(drop_everywhere(async |points| {
            points.run("waits", waits(0)).await;
        }));
    });
    assert!(words.contains("nothing waits"), "{words}");
}

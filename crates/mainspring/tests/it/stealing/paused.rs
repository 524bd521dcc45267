//! Paused time, with several workers.

mod programs;

use super::{never, on, over, stealing};
use crate::backends;
use mainspring::sync::oneshot;
use mainspring::task::{JoinHandle, WaitKind};
use mainspring::time::clock::{self, ClockHold};
use mainspring::time::{Nanos, Sleep, interval, now, sleep, timeout};
use mainspring::{Backend, Handle, Runtime, spawn, spawn_blocking, yield_now};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// Runs a test on four workers, over each backend, with the clock paused from the start.
fn paused<F: Future>(test: impl Fn() -> F) {
    for runtime in stealing() {
        runtime.block_on(async {
            clock::pause().expect("a clock");
            test().await;
        });
    }
}

async fn join<T>(task: JoinHandle<T>) -> T {
    task.await.expect("no panic")
}

/// A sleep that was polled once, on this worker.
async fn armed(nap: Sleep) -> Pin<Box<Sleep>> {
    let mut nap = Box::pin(nap);
    poll_fn(|cx| {
        assert!(nap.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    nap
}

#[test]
fn sleeps_of_many_tasks_end_in_order_and_at_their_very_moment() {
    paused(|| async {
        let start = now();
        let order = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = (0..300_u64)
            .map(|number| {
                let order = Arc::clone(&order);
                // 300 different moments, in no order.
                let due = start.saturating_add(Duration::from_nanos(1 + number * 7919 % 10_007));
                spawn(async move {
                    Sleep::until(due).await;
                    order.lock().expect("no panic").push((now(), due));
                })
            })
            .collect();
        for task in tasks {
            join(task).await;
        }
        let order = std::mem::take(&mut *order.lock().expect("no panic"));
        assert_eq!(order.len(), 300);
        assert!(order.is_sorted() && order.iter().all(|(woken, due)| woken == due));
    });
}

#[test]
fn a_day_of_ticks_on_every_worker_takes_no_time() {
    let real = Instant::now();
    paused(|| async {
        let start = now();
        let ticking = [0, 1, 2, 3].map(|worker| {
            mainspring::spawn_pinned(worker, move || async move {
                let mut ticks = interval(HOUR);
                for hour in 0..=24 {
                    ticks.tick().await;
                    assert_eq!(now().since(start), hour * HOUR);
                }
            })
        });
        for task in ticking {
            join(task).await;
        }
        assert_eq!(now().since(start), 24 * HOUR);
    });
    assert!(real.elapsed() < 24 * HOUR);
}

#[test]
fn sleep_armed_on_one_worker_is_awaited_and_reset_on_others() {
    paused(|| async {
        let start = now();
        let nap = on(0, || armed(sleep(2 * HOUR))).await;
        let woken = on(1, move || async move {
            nap.await;
            now()
        });
        assert_eq!(woken.await.since(start), 2 * HOUR);
        for (later, due) in [(3, 3), (1, 1)] {
            let start = now();
            let mut nap = on(2, || armed(sleep(2 * HOUR))).await;
            let woken = on(3, move || async move {
                nap.as_mut().reset_nanos(start.saturating_add(later * HOUR));
                yield_now().await;
                nap.await;
                now()
            });
            assert_eq!(woken.await.since(start), due * HOUR);
        }
        // One that is dropped elsewhere does not count.
        let start = now();
        let nap = on(0, || armed(sleep(HOUR))).await;
        on(1, move || async move { drop(nap) }).await;
        sleep(2 * HOUR).await;
        assert_eq!(now().since(start), 2 * HOUR);
    });
}

/// Spends some real time, and says so on a thread of its own.
fn slowly<T: Send + 'static>(then: impl FnOnce() -> T + Send + 'static) -> mpsc::Receiver<T> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for _ in 0..200 {
            thread::yield_now();
        }
        let _ = tell.send(then());
    });
    told
}

#[test]
fn blocking_job_keeps_the_clock_until_its_waiter_was_told() {
    paused(|| async {
        for _ in 0..20 {
            let start = now();
            let told = slowly(|| 7);
            let job = on(2, || {
                std::future::ready(spawn_blocking(move || told.recv().ok()))
            })
            .await;
            let result = on(1, || timeout(Duration::from_nanos(1), job)).await;
            assert!(matches!(result, Ok(Ok(Some(7)))), "overtaken by the clock");
            assert_eq!(now(), start);
        }
        // Nobody waits for this one: the clock stands until it has ended, and then goes on.
        let start = now();
        let ended = Arc::new(AtomicUsize::new(0));
        let (told, seen) = (slowly(|| ()), Arc::clone(&ended));
        spawn_blocking(move || {
            let _ = told.recv();
            seen.fetch_add(1, SeqCst);
        })
        .detach();
        join(spawn(sleep(HOUR))).await;
        assert_eq!((now().since(start), ended.load(SeqCst)), (HOUR, 1));
    });
}

#[test]
fn hold_keeps_the_clock_of_all_workers_until_its_thread_lets_go() {
    paused(|| async {
        for _ in 0..20 {
            let start = now();
            let hold = on(3, || async { ClockHold::take().expect("a clock") }).await;
            let (answer, answered) = oneshot::channel();
            drop(slowly(move || {
                let _ = answer.send(1);
                drop(hold);
            }));
            let result = on(0, || timeout(Duration::from_nanos(1), answered)).await;
            assert!(matches!(result, Ok(Ok(1))), "overtaken by the clock");
            assert_eq!(now(), start);
        }
        let start = now();
        let hold = ClockHold::take().expect("a clock");
        drop(slowly(move || drop(hold)));
        join(spawn(sleep(HOUR))).await;
        assert_eq!(now().since(start), HOUR);
    });
}

#[test]
fn advance_goes_through_the_deadlines_of_every_worker_also_under_a_hold() {
    paused(|| async {
        let start = now();
        let hold = ClockHold::take().expect("a clock");
        let ticks: Vec<_> = (0..4)
            .map(|worker| {
                let step = HOUR + worker as u32 * Duration::from_secs(1);
                mainspring::spawn_pinned(worker, move || async move {
                    let mut seen = 0_u32;
                    for tick in 1.. {
                        sleep(step).await;
                        assert_eq!(now().since(start), tick * step);
                        seen = tick;
                        if tick == 3 {
                            break;
                        }
                    }
                    seen
                })
            })
            .collect();
        on(2, || clock::advance(4 * HOUR)).await;
        assert_eq!(now().since(start), 4 * HOUR);
        for task in ticks {
            assert_eq!(join(task).await, 3);
        }
        assert_eq!(now().since(start), 4 * HOUR);
        drop(hold);
    });
}

#[test]
fn pause_and_resume_on_one_worker_hold_for_all() {
    for runtime in stealing() {
        runtime.block_on(async {
            let real = now();
            on(1, || async { clock::pause().expect("a clock") }).await;
            let stands = now();
            assert!(stands >= real);
            for worker in 0..4 {
                assert_eq!(on(worker, || async { now() }).await, stands);
            }
            on(3, || sleep(HOUR)).await;
            assert_eq!(now().since(stands), HOUR);
            // Those who sleep when it runs on have a deadline to wait for.
            let hold = ClockHold::take().expect("a clock");
            let naps: Vec<_> = (0..4)
                .map(|worker| {
                    mainspring::spawn_pinned(worker, || sleep(Duration::from_micros(200)))
                })
                .collect();
            while sleeping() < 4 {
                yield_now().await;
            }
            on(0, || async { clock::resume() }).await;
            for nap in naps {
                join(nap).await;
            }
            let ran = now().since(stands);
            assert!(ran >= HOUR + Duration::from_micros(200) && ran < 2 * HOUR);
            drop(hold);
            on(2, || async { clock::pause().expect("a clock") }).await;
            let again = now();
            join(spawn(sleep(HOUR))).await;
            assert_eq!(now().since(again), HOUR);
        });
    }
}

/// How many tasks wait for a timer.
fn sleeping() -> usize {
    let tasks = Handle::current().tasks().unwrap_or_default();
    let waits = tasks.iter().filter_map(|task| task.waits_for);
    waits
        .filter(|reason| reason.kind == WaitKind::Timer)
        .count()
}

#[test]
fn two_runtimes_have_two_clocks() {
    for backend in backends() {
        let (one, other) = (over(backend), over(backend));
        let handle = other.handle();
        let real = now();
        one.block_on(async {
            clock::pause().expect("a clock");
            let start = now();
            join(spawn(sleep(1000 * HOUR))).await;
            // The other's tasks are somebody outside: a hold is for that.
            let hold = ClockHold::take().expect("a clock");
            let there = handle.spawn(async {
                sleep(Duration::from_micros(100)).await;
                (now(), clock_is_paused())
            });
            let (there, is_paused) = join(there).await;
            assert!(there.since(real) < HOUR && !is_paused);
            drop(hold);
            assert_eq!(now().since(start), 1000 * HOUR);
        });
        assert!(now().since(real) < HOUR, "outside again");
        other.block_on(async { assert!(now().since(real) < HOUR) });
        one.block_on(async { assert!(now().since(real) > 999 * HOUR) });
    }
}

/// Whether two readings are the same, with something in between that takes its time.
fn clock_is_paused() -> bool {
    let before = now();
    let real = Instant::now();
    while real.elapsed() < Duration::from_micros(10) {}
    now() == before
}

#[test]
fn threads_in_block_on_have_the_same_clock_and_leave_it() {
    for runtime in stealing() {
        runtime.block_on(async { clock::pause().expect("a clock") });
        let start = runtime.block_on(async { now() });
        let order = Mutex::new(Vec::new());
        // All are in before anybody sleeps.
        let all_in = Barrier::new(3);
        thread::scope(|scope| {
            for hours in [3, 1, 2] {
                let (runtime, order, all_in) = (&runtime, &order, &all_in);
                scope.spawn(move || {
                    runtime.block_on(async {
                        all_in.wait();
                        sleep(hours * HOUR).await;
                        order.lock().expect("no panic").push((hours, now()));
                    });
                });
            }
        });
        let order = order.into_inner().expect("no panic");
        let expected = [1, 2, 3].map(|hours| (hours, start.saturating_add(hours * HOUR)));
        assert_eq!(order, expected);
    }
}

#[test]
fn runtime_on_a_thread_of_its_own_inside_a_job_has_the_real_time() {
    paused(|| async {
        let start = now();
        let inside = spawn_blocking(|| {
            mainspring::block_on(async {
                let before = now();
                sleep(Duration::from_millis(1)).await;
                now().since(before)
            })
        });
        let inside = timeout(Duration::from_nanos(1), inside).await;
        let inside = inside.expect("a job keeps the clock").expect("no panic");
        assert!(inside >= Duration::from_millis(1) && now() == start);
    });
}

#[test]
fn runtime_that_is_dropped_while_its_clock_stands_drops_its_tasks() {
    for runtime in stealing() {
        let drops = Arc::new(AtomicUsize::new(0));
        runtime.block_on(async {
            clock::pause().expect("a clock");
            let _hold = ClockHold::take().expect("a clock");
            for _ in 0..10 {
                let never = never(&drops);
                spawn(async move {
                    sleep(HOUR).await;
                    never.await;
                })
                .detach();
            }
            yield_now().await;
        });
        drop(runtime);
        assert_eq!(drops.load(SeqCst), 10);
    }
}

#[test]
fn sockets_work_while_the_clock_stands() {
    paused(|| async {
        let start = now();
        let hold = ClockHold::take().expect("a clock");
        let (mut client, mut server) = crate::pair().await;
        let echo = mainspring::spawn_pinned(1, move || async move {
            let mut byte = [0];
            for _ in 0..50 {
                server.read_exact(&mut byte).await.expect("a byte");
                server.write_all(&byte).await.expect("written");
            }
        });
        on(2, move || async move {
            for n in 0..50 {
                client.write_all(&[n]).await.expect("written");
                let mut byte = [0];
                let answer = timeout(HOUR, client.read_exact(&mut byte)).await;
                assert!(answer.expect("in no time").is_ok() && byte == [n]);
            }
        })
        .await;
        join(echo).await;
        assert_eq!(now(), start);
        drop(hold);
        sleep(HOUR).await;
        assert_eq!(now().since(start), HOUR);
    });
}

#[test]
fn shutdown_of_a_runtime_whose_clock_stands_ends() {
    for runtime in stealing() {
        runtime.block_on(async {
            clock::pause().expect("a clock");
            spawn(sleep(HOUR)).detach();
        });
        let report = runtime.shutdown(Duration::from_secs(30));
        assert!(report.is_clean(), "{report}");
    }
}

#[test]
fn one_worker_and_its_caller_are_two() {
    let runtime = Runtime::builder().workers(1).backend(Backend::Poll).build();
    runtime.expect("a runtime").block_on(async {
        clock::pause().expect("a clock");
        let start: Nanos = now();
        let task = spawn(async {
            sleep(HOUR).await;
            now()
        });
        sleep(HOUR / 2).await;
        assert_eq!(now().since(start), HOUR / 2);
        assert_eq!(join(task).await.since(start), HOUR);
    });
}

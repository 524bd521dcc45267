use mainspring::Backend;
use mainspring::time::{interval, now, sleep};
use std::io;
use std::time::{Duration, Instant};

mod program {
    use std::num::ParseIntError;

    #[mainspring::main]
    pub(super) async fn main() -> Result<u8, ParseIntError> {
        mainspring::yield_now().await;
        let number: u8 = "x".parse()?;
        Ok(number)
    }

    /// A doc comment, and a lint that reaches the body.
    #[allow(unused_variables, reason = "a test of the attribute")]
    #[mainspring::main(flavor = "local", backend = "poll")]
    pub(super) async fn generous() -> impl Sized + use<> {
        let unused = 1;
        [0_u8; 3]
    }
}

#[test]
fn main_keeps_its_return_type() {
    assert!(program::main().is_err());
    assert_eq!(size_of_val(&program::generous()), 3);
}

#[mainspring::test]
async fn test_runs_on_a_runtime() {
    let task = mainspring::spawn_local(async { 1 });
    assert_eq!(task.await.ok(), Some(1));
}

#[mainspring::test(backend = "poll")]
async fn test_may_fail_with_an_error() -> io::Result<()> {
    let (mut client, mut server) = super::pair().await;
    client.write_all(b"x").await?;
    server.read_exact(&mut [0]).await?;
    assert_eq!("poll".parse(), Ok(Backend::Poll));
    Ok(())
}

#[mainspring::test]
#[should_panic(expected = "as it should")]
async fn test_may_panic() {
    mainspring::yield_now().await;
    panic!("as it should");
}

#[mainspring::test(paused)]
async fn paused_test_of_a_day_takes_no_time() {
    let (start, real) = (now(), Instant::now());
    let mut tick = interval(Duration::from_secs(3600));
    for _ in 0..=24 {
        tick.tick().await;
    }
    assert_eq!(now().since(start), Duration::from_secs(24 * 3600));
    assert!(real.elapsed() < Duration::from_secs(3600));
}

#[mainspring::test(paused)]
async fn paused_clock_moves_for_tasks_too() {
    let start = now();
    let tasks = [3, 1, 2].map(|hours| {
        mainspring::spawn_local(async move {
            sleep(Duration::from_secs(hours * 3600)).await;
            now()
        })
    });
    for (task, hours) in tasks.into_iter().zip([3, 1, 2]) {
        let woken = task.await.expect("no panic");
        assert_eq!(woken.since(start), Duration::from_secs(hours * 3600));
    }
}

#[mainspring::main(workers = 2, backend = "poll")]
async fn on_two_workers() -> usize {
    let task = mainspring::spawn(async { mainspring::Handle::current().workers() });
    task.await.expect("no panic")
}

#[mainspring::main]
async fn on_all_cores() -> (usize, bool) {
    let workers = mainspring::Handle::current().workers();
    let task = mainspring::spawn(async { std::thread::current().id() });
    let elsewhere = task.await.expect("no panic") != std::thread::current().id();
    (workers, elsewhere)
}

#[test]
fn main_runs_on_workers_unless_told_otherwise() {
    assert_eq!(on_two_workers(), 2);
    let cores = std::thread::available_parallelism().expect("a number of cores");
    assert_eq!(on_all_cores(), (cores.get(), true));
}

#[mainspring::test(workers = 3)]
async fn test_runs_on_workers_if_told_so() {
    let own = std::thread::current().id();
    let places = [0, 1, 2]
        .map(|worker| mainspring::spawn_pinned(worker, || async { std::thread::current().id() }));
    let mut seen = vec![own];
    for place in places {
        let place = place.await.expect("no panic");
        assert!(!seen.contains(&place), "{place:?} of {seen:?}");
        seen.push(place);
    }
}

#[mainspring::test(paused, workers = 3)]
async fn paused_test_on_workers_has_one_clock() {
    let (start, real) = (now(), Instant::now());
    let tasks: Vec<_> = (1..=48)
        .map(|hours| {
            mainspring::spawn(async move {
                assert_eq!(now(), start, "whoever runs it, and whenever");
                sleep(Duration::from_secs(hours * 3600)).await;
                now()
            })
        })
        .collect();
    for (hours, task) in (1..).zip(tasks) {
        let woken = task.await.expect("no panic");
        assert_eq!(woken.since(start), Duration::from_secs(hours * 3600));
    }
    assert!(real.elapsed() < Duration::from_secs(3600));
}

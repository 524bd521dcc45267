//! Each crate alone, as a guest under tokio and under smol: what needs a driver falls back to a
//! thread of its own, and works.

use mainspring_cancel::{CancelToken, Phase, Reason, TaskTracker, What};
use mainspring_core::spawn::{self, Boxed, Spawn, Spawner};
use mainspring_core::time::{Deadline, sleep};
use mainspring_executor::{JoinSet, LocalExecutor, TaskBuilder, spawn_local, task_local};
use mainspring_reactor::net::{TcpListener, TcpStream};
use mainspring_reactor::{Backend, Reactor};
use mainspring_timer::{TimerDriver, interval, timeout};
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A runtime that runs the tests as a user's program runs in it.
trait Host {
    fn block_on<T>(future: impl Future<Output = T>) -> T;
    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> Pin<Box<dyn Future<Output = T> + Send>>;
    fn spawner() -> Spawner;
}

struct Tokio;
struct Smol;

/// tokio as a spawner, as the documentation of `mainspring_core::spawn` has it.
struct TokioSpawn(tokio::runtime::Handle);

impl Spawn for TokioSpawn {
    fn spawn(&self, future: Boxed) {
        drop(self.0.spawn(future));
    }
}

/// smol as a spawner, as the documentation of `mainspring_core::spawn` has it.
struct SmolSpawn;

impl Spawn for SmolSpawn {
    fn spawn(&self, future: Boxed) {
        smol::spawn(future).detach();
    }
}

impl Host for Tokio {
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build();
        runtime.unwrap().block_on(future)
    }

    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> Pin<Box<dyn Future<Output = T> + Send>> {
        let task = tokio::spawn(future);
        Box::pin(async { task.await.unwrap() })
    }

    fn spawner() -> Spawner {
        Spawner::new(TokioSpawn(tokio::runtime::Handle::current()))
    }
}

impl Host for Smol {
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        smol::block_on(future)
    }

    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> Pin<Box<dyn Future<Output = T> + Send>> {
        Box::pin(smol::spawn(future))
    }

    fn spawner() -> Spawner {
        Spawner::new(SmolSpawn)
    }
}

macro_rules! under_each {
    ($($name:ident),* $(,)?) => {
        mod under_tokio {
            $(#[test] fn $name() { super::$name::<super::Tokio>(); })*
        }
        mod under_smol {
            $(#[test] fn $name() { super::$name::<super::Smol>(); })*
        }
    };
}

under_each! {
    sockets_serve_many_tasks,
    read_dropped_by_a_timeout_loses_no_byte,
    timers_are_neither_early_nor_lost,
    spawner_runs_tasks_of_ours,
    executor_runs_on_a_thread_beside_the_host,
    join_set_gathers_tasks_that_have_values_of_their_own,
    cancelled_tree_of_tasks_is_drained_when_all_have_cleaned_up,
    deadline_stops_tasks_and_calls_back_in_a_task,
    tracker_waits_for_tasks_of_the_host,
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let mut buf = [0; 1024];
    loop {
        match stream.read(&mut buf).await? {
            0 => return stream.shutdown().await,
            read => stream.write_all(&buf[..read]).await?,
        }
    }
}

fn listener() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    // With nobody to drive, readiness serves.
    assert_eq!(listener.backend(), Backend::Poll);
    listener
}

fn sockets_serve_many_tasks<H: Host>() {
    H::block_on(async {
        let listener = listener();
        let address = listener.local_addr().unwrap();
        const CLIENTS: usize = 50;
        let server = H::spawn(async move {
            let mut served = Vec::new();
            for _ in 0..CLIENTS {
                let (stream, _) = listener.accept().await.unwrap();
                served.push(H::spawn(echo(stream)));
            }
            for connection in served {
                connection.await.unwrap();
            }
        });
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                H::spawn(async move {
                    let stream = TcpStream::connect(address).await.unwrap();
                    let (mut read, mut write) = stream.into_split();
                    let sent = [number as u8; 10_000];
                    let writer = H::spawn(async move { write.write_all(&sent).await });
                    let mut received = [0; 10_000];
                    read.read_exact(&mut received).await.unwrap();
                    assert_eq!(received, sent);
                    writer.await.unwrap();
                })
            })
            .collect();
        for client in clients {
            client.await;
        }
        server.await;
    });
}

fn read_dropped_by_a_timeout_loses_no_byte<H: Host>() {
    H::block_on(async {
        let listener = listener();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        for round in 0..20_u8 {
            let mut buf = [0; 4];
            let early = timeout(Duration::from_millis(1), server.read(&mut buf)).await;
            assert!(early.is_err());
            client.write_all(&[round; 3]).await.unwrap();
            server.read_exact(&mut buf[..3]).await.unwrap();
            assert_eq!(buf, [round, round, round, 0]);
        }
    });
}

fn timers_are_neither_early_nor_lost<H: Host>() {
    H::block_on(async {
        let began = Instant::now();
        let sleeps: Vec<_> = (1..=100)
            .map(|n| {
                H::spawn(async move {
                    sleep(Duration::from_millis(n % 20)).await;
                    assert!(began.elapsed() >= Duration::from_millis(n % 20));
                })
            })
            .collect();
        for sleep in sleeps {
            sleep.await;
        }
        let mut ticks = pin!(interval(Duration::from_millis(1)));
        for _ in 0..5 {
            ticks.as_mut().tick().await;
        }
        let never = std::future::pending::<()>();
        assert!(timeout(Duration::from_millis(2), never).await.is_err());
    });
}

fn spawner_runs_tasks_of_ours<H: Host>() {
    H::block_on(async {
        let spawner = H::spawner();
        let task = spawner.spawn(async {
            sleep(Duration::from_millis(1)).await;
            7
        });
        assert_eq!(task.await.unwrap(), 7);
        let failing = spawner.spawn(async { panic!("contained") });
        assert!(failing.await.unwrap_err().is_panic());
        let stuck = spawner.spawn(std::future::pending::<()>());
        stuck.abort();
        assert!(stuck.await.unwrap_err().is_cancelled());
    });
}

/// A thread of ours with its own driver, whose socket a task of the host's uses.
fn executor_runs_on_a_thread_beside_the_host<H: Host>() {
    let (say, hear) = std::sync::mpsc::channel();
    let ours = std::thread::spawn(move || {
        let driver = Box::new(TimerDriver::new(Reactor::new().unwrap()));
        LocalExecutor::with_driver(driver).block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            say.send(listener.local_addr().unwrap()).unwrap();
            let (mut stream, _) = listener.accept().await.unwrap();
            let task = spawn_local(async move {
                let mut buf = [0; 5];
                stream.read_exact(&mut buf).await.unwrap();
                // Away from the thread whose reactor it belongs to, from here on.
                (stream, buf)
            });
            task.await.unwrap()
        })
    });
    let address = hear.recv().unwrap();
    H::block_on(async {
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"hello").await.unwrap();
        assert_eq!(&ours.join().unwrap().1, b"hello");
    });
}

task_local! {
    static REQUEST: usize;
}

fn join_set_gathers_tasks_that_have_values_of_their_own<H: Host>() {
    const TASKS: usize = 1_000;
    H::block_on(async {
        let spawner = H::spawner();
        let mut set = JoinSet::new();
        for n in 0..TASKS {
            let work = REQUEST.scope(n, async {
                for _ in 0..3 {
                    sleep(Duration::from_micros(50)).await;
                }
                REQUEST.get()
            });
            set.insert(TaskBuilder::new().name("work").spawn_on(&spawner, work));
        }
        set.spawn_on(&spawner, std::future::pending()).abort();
        let mut seen = vec![false; TASKS];
        let mut aborted = 0;
        while let Some(result) = set.join_next().await {
            match result {
                Ok(n) => assert!(!std::mem::replace(&mut seen[n], true), "{n} twice"),
                Err(error) => aborted += usize::from(error.is_cancelled()),
            }
        }
        assert!(seen.into_iter().all(|seen| seen) && aborted == 1);
        assert!(REQUEST.try_get().is_err());
    });
}

fn cancelled_tree_of_tasks_is_drained_when_all_have_cleaned_up<H: Host>() {
    H::block_on(async {
        const TASKS: usize = 200;
        let root = CancelToken::new();
        let cleaned = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..TASKS)
            .map(|number| {
                let hold = root.child().child().hold().unwrap();
                let cleaned = Arc::clone(&cleaned);
                H::spawn(async move {
                    let reason = if number % 2 == 0 {
                        hold.token().cancelled().await
                    } else {
                        let never = std::future::pending::<()>();
                        let stopped = hold.token().run_until_cancelled(never).await;
                        stopped.unwrap_err().reason
                    };
                    assert_eq!(reason.origin().what(), What::Shutdown);
                    sleep(Duration::from_millis(1)).await;
                    cleaned.fetch_add(1, Relaxed);
                    drop(hold);
                })
            })
            .collect();
        let left = root.drained_within(Duration::from_millis(1)).await;
        assert_eq!(left.unwrap_err().holds.len(), TASKS);
        let canceller = root.clone();
        H::spawn(async move {
            canceller.cancel(Reason::shutdown());
        })
        .await;
        root.drained().await;
        assert_eq!(cleaned.load(Relaxed), TASKS);
        for task in tasks {
            task.await;
        }
    });
}

fn deadline_stops_tasks_and_calls_back_in_a_task<H: Host>() {
    H::block_on(async {
        let root = CancelToken::new();
        let token = {
            let _entered = spawn::enter(&H::spawner());
            root.with_deadline(Deadline::after(Duration::from_millis(2)))
        };
        let calls = Arc::new(AtomicUsize::new(0));
        let called = Arc::clone(&calls);
        let registration = token.on_cancel(move |reason| {
            assert_eq!(reason.what(), What::Timeout);
            called.fetch_add(1, Relaxed);
        });
        let waits = token.child();
        H::spawn(async move {
            let _ = waits.cancelled().await;
        })
        .await;
        token.drained().await;
        assert_eq!(calls.load(Relaxed), 1);
        assert_eq!(root.phase(), Phase::Alive);
        drop(registration);
    });
}

fn tracker_waits_for_tasks_of_the_host<H: Host>() {
    H::block_on(async {
        let tracker = TaskTracker::new();
        let ended = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let ended = Arc::clone(&ended);
                H::spawn(tracker.track(async move {
                    sleep(Duration::from_millis(number % 5)).await;
                    ended.fetch_add(1, Relaxed);
                }))
            })
            .collect();
        tracker.close();
        tracker.wait().await;
        assert_eq!(ended.load(Relaxed), 100);
        for task in tasks {
            task.await;
        }
    });
}

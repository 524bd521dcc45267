//! A worker that one task keeps. Each such task waits, with its thread, for a message that only the
//! task, the timer or the socket under test can cause: the test ends only if others serve them.

use super::{backends, patiently};
use crate::{fallback_threads, listen};
use mainspring::net::TcpStream;
use mainspring::task::{JoinHandle, TaskId};
use mainspring::time::{Sleep, sleep};
use mainspring::{Runtime, StallReport, spawn, spawn_local, yield_now};
use std::future::{Future, poll_fn};
use std::io::Write;
use std::pin::{Pin, pin};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

/// A runtime of which worker 0 is about to be stuck.
struct Floor {
    runtime: Runtime,
    reports: Receiver<StallReport>,
    /// Held until the end, on the other workers.
    held: Vec<(Sender<()>, JoinHandle<()>)>,
}

/// One worker; two, the other of which sleeps; two, the other of which is stuck as well. Each over
/// every backend.
fn floors() -> Vec<Floor> {
    let of = |(workers, held)| {
        backends().into_iter().map(move |backend| {
            let (sender, reports) = channel();
            let sender = Mutex::new(sender);
            let sender = Arc::new(sender);
            let runtime = patiently(|| {
                let sender = Arc::clone(&sender);
                Runtime::builder()
                    .workers(workers)
                    .backend(backend)
                    .stall_threshold(Duration::from_millis(2))
                    .on_stall(move |report| {
                        let sender = sender.lock().expect("no panic");
                        let _ = sender.send(report.clone());
                    })
                    .build()
            });
            let held = (1..workers)
                .filter(|_| held)
                .map(|worker| hold(&runtime, worker));
            let held = held.collect();
            Floor {
                runtime,
                reports,
                held,
            }
        })
    };
    [(1, false), (2, false), (2, true)]
        .into_iter()
        .flat_map(of)
        .collect()
}

/// Keeps a worker until the sender says so or goes.
fn hold(runtime: &Runtime, worker: usize) -> (Sender<()>, JoinHandle<()>) {
    let (release, held) = channel();
    let (enter, entered) = channel();
    let task = runtime.spawn_pinned(worker, move || async move {
        let _ = enter.send(());
        let _ = held.recv();
    });
    entered.recv().expect("it runs");
    (release, task)
}

impl Floor {
    /// Runs on worker 0 what blocks there until it is told by somebody whom only others serve.
    fn stick<F>(&self, make: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        let task = self.runtime.spawn_pinned(0, make);
        let id = task.id();
        self.runtime.block_on(task).expect("no panic");
        // A free worker may have come before anybody noticed.
        if self.runtime.workers() == 1 || !self.held.is_empty() {
            self.is_told(0, id);
        }
    }

    /// Waits for the two reports of this stall.
    fn is_told(&self, worker: usize, id: TaskId) {
        for is_over in [false, true] {
            let report = self.reports.iter().find(|report| {
                let is_it = report.task.as_ref().is_some_and(|task| task.id == id);
                is_it && report.is_over == is_over
            });
            let report = report.expect("the runtime lives");
            assert_eq!(report.worker, Some(worker));
            assert!(
                report.duration >= Duration::from_millis(2) || is_over,
                "{report}"
            );
        }
    }

    /// Spawns a task, and waits until it has been polled once and waits, with `waits`, on worker 0
    /// if there is none that is free beside it.
    fn park<F>(&self, waits: F, tell: Sender<()>)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (arm, armed) = channel();
        let task = async move {
            let mut waits = pin!(waits);
            poll_fn(|cx| {
                let poll = waits.as_mut().poll(cx);
                if poll.is_pending() {
                    let _ = arm.send(());
                }
                poll
            })
            .await;
            let _ = tell.send(());
        };
        self.runtime.spawn(task).detach();
        armed.recv().expect("it is polled");
    }

    /// Ends what is held, and the runtime.
    fn end(self) {
        for (release, task) in self.held {
            drop(release);
            self.runtime.block_on(task).expect("no panic");
        }
        let report = self.runtime.shutdown(Duration::from_secs(60));
        assert!(report.is_clean(), "{report}");
        assert_eq!(fallback_threads(), [""; 0]);
    }
}

/// Polls once, for nobody.
fn begin<F: Future>(future: Pin<&mut F>) {
    let poll = future.poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll.is_pending());
}

#[test]
fn task_in_the_queue_of_a_stuck_worker_is_run_by_another() {
    for floor in floors() {
        floor.stick(|| async {
            let (tell, told) = channel();
            spawn(async move { tell.send(()) }).detach();
            told.recv().expect("it runs elsewhere");
        });
        floor.end();
    }
}

#[test]
fn many_tasks_in_the_queue_of_a_stuck_worker_are_all_run_by_others() {
    for floor in floors() {
        floor.stick(|| async {
            let (tell, told) = channel();
            for n in 0..1000 {
                let tell = tell.clone();
                let task = async move {
                    yield_now().await;
                    tell.send(n)
                };
                spawn(task).detach();
            }
            drop(tell);
            assert_eq!(told.iter().sum::<u32>(), (0..1000).sum());
        });
        floor.end();
    }
}

#[test]
fn task_in_the_slot_of_a_stuck_worker_is_run_by_another() {
    for floor in floors() {
        let (tell, told) = channel();
        let (completer, completion) = mainspring::sync::oneshot::channel::<()>();
        let waits = async move { assert!(completion.await.is_ok()) };
        floor.park(waits, tell);
        floor.stick(|| async move {
            assert!(completer.send(()).is_ok());
            told.recv().expect("it runs elsewhere");
        });
        floor.end();
    }
}

#[test]
fn timer_of_a_stuck_worker_fires() {
    for floor in floors() {
        floor.stick(|| async {
            // Belongs to the worker where it was polled first, and that is this one.
            let mut nap: Pin<Box<Sleep>> = Box::pin(sleep(Duration::from_millis(1)));
            begin(nap.as_mut());
            let (tell, told) = channel();
            let napping = async move {
                nap.await;
                tell.send(())
            };
            spawn(napping).detach();
            told.recv().expect("it fires");
        });
        floor.end();
    }
}

#[test]
fn timer_that_fell_due_before_a_spare_worker_is_there_fires_after_one_is_back() {
    for floor in floors() {
        // On whatever worker there is, the spare one among them; the naps outlive the stall.
        let (tell, told) = channel();
        floor.stick(|| async move {
            let tasks = (1..30).map(|n| {
                let tell = tell.clone();
                spawn(async move {
                    for _ in 0..3 {
                        sleep(Duration::from_micros(300 * n)).await;
                        let _ = tell.send(());
                    }
                })
            });
            tasks.for_each(JoinHandle::detach);
            drop(tell);
            for _ in 0..29 {
                told.recv().expect("the first naps end elsewhere");
            }
            // The others end where they are, or here.
            spawn(async move { drop(told) }).detach();
        });
        floor.end();
    }
}

/// A connection: one end for tasks, the other for a thread that blocks.
fn connection(runtime: &Runtime) -> (TcpStream, std::net::TcpStream) {
    runtime.block_on(async {
        let (listener, address) = listen();
        let peer = std::net::TcpStream::connect(address).expect("a connection");
        let (stream, _address) = listener.accept().await.expect("its other end");
        (stream, peer)
    })
}

async fn read_one(stream: &mut TcpStream) {
    let mut buf = [0];
    stream.read_exact(&mut buf).await.expect("a byte");
    assert_eq!(&buf, b"!");
}

#[test]
fn socket_that_waits_at_a_stuck_worker_is_served() {
    for floor in floors() {
        let (tell, told) = channel();
        let (mut stream, mut peer) = connection(&floor.runtime);
        // The operation is in flight, or the socket registered, where this is polled. A free worker
        // beside the stuck one would do, so it is held meanwhile.
        let beside = (1..floor.runtime.workers()).filter(|_| floor.held.is_empty());
        let beside: Vec<_> = beside.map(|worker| hold(&floor.runtime, worker)).collect();
        floor.park(async move { read_one(&mut stream).await }, tell);
        for (release, task) in beside {
            drop(release);
            floor.runtime.block_on(task).expect("no panic");
        }
        floor.stick(|| async move {
            peer.write_all(b"!").expect("an open connection");
            told.recv().expect("it is read elsewhere");
        });
        floor.end();
    }
}

#[test]
fn operation_that_a_stuck_worker_has_prepared_is_submitted() {
    for floor in floors() {
        let (mut stream, mut peer) = connection(&floor.runtime);
        floor.stick(|| async move {
            // In the ring of this worker, which does not come to submit it.
            let (stream, tell, told) = {
                let mut reading = Box::pin(async move {
                    read_one(&mut stream).await;
                    stream
                });
                begin(reading.as_mut());
                let (tell, told) = channel();
                (reading, tell, told)
            };
            let reading = async move {
                let _stream = stream.await;
                tell.send(())
            };
            spawn(reading).detach();
            peer.write_all(b"!").expect("an open connection");
            told.recv().expect("it is submitted, and read elsewhere");
        });
        floor.end();
    }
}

#[test]
fn conversation_goes_on_while_workers_are_stuck() {
    for floor in floors() {
        let (stream, mut peer) = connection(&floor.runtime);
        floor.stick(|| async move {
            // Each step begins anew on whichever worker there is.
            spawn(async move {
                let mut stream = stream;
                let mut buf = [0; 16];
                while let Ok(read @ 1..) = stream.read(&mut buf).await {
                    sleep(Duration::from_micros(100)).await;
                    stream
                        .write_all(&buf[..read])
                        .await
                        .expect("an open connection");
                }
            })
            .detach();
            for n in 0..20_u8 {
                peer.write_all(&[n]).expect("an open connection");
                let mut buf = [0];
                std::io::Read::read_exact(&mut peer, &mut buf).expect("an answer");
                assert_eq!(buf, [n]);
            }
        });
        floor.end();
    }
}

#[test]
fn local_tasks_of_a_spare_worker_stay_with_it_when_the_others_are_back() {
    for floor in floors() {
        let (tell, told) = channel();
        let (go, gone) = mainspring::sync::oneshot::channel::<()>();
        floor.stick(|| async move {
            let (began, has_begun) = channel();
            let task = async move {
                // At home wherever this is polled: on the spare worker, if all others are stuck.
                let home = thread::current().id();
                let local = spawn_local(async move {
                    let _ = began.send(());
                    let went = gone.await;
                    assert_eq!(thread::current().id(), home);
                    went.is_ok()
                });
                let _ = tell.send(local.await.expect("no panic"));
            };
            spawn(task).detach();
            has_begun.recv().expect("it runs elsewhere");
        });
        assert!(go.send(()).is_ok());
        assert_eq!(told.recv(), Ok(true));
        floor.end();
    }
}

#[test]
fn pinned_tasks_of_a_stuck_worker_wait_for_it() {
    for floor in floors() {
        let pinned = floor.runtime.block_on(async {
            let (sender, pinned) = channel();
            let stuck = mainspring::spawn_pinned(0, move || async move {
                let pinned = mainspring::spawn_pinned(0, || async { thread::current().id() });
                let (tell, told) = channel();
                // What others can do is done long before.
                spawn(async move { tell.send(()) }).detach();
                told.recv().expect("it runs elsewhere");
                assert!(!pinned.is_finished());
                let _ = sender.send((thread::current().id(), pinned));
            });
            stuck.await.expect("no panic");
            let (home, pinned) = pinned.recv().expect("it was sent");
            pinned.await.map(|thread| thread == home)
        });
        assert_eq!(pinned.ok(), Some(true));
        floor.end();
    }
}

#[test]
fn runtime_without_a_threshold_has_no_watchdog() {
    let build = |threshold: Option<Duration>| {
        let builder = Runtime::builder()
            .workers(1)
            .backend(mainspring::Backend::Poll);
        builder.stall_threshold(threshold).build()
    };
    let runtime = build(None).expect("a runtime");
    assert_eq!(runtime.metrics().stalls, 0);
    let refused = build(Some(Duration::from_micros(999))).expect_err("too short");
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
    assert!(matches!(runtime.block_on(poll_fn(|_| Poll::Ready(5))), 5));
}

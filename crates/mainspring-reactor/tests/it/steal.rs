//! Tasks that are polled now here and now there, by threads that have a reactor each, and one of
//! which goes in the middle.

use crate::rig::memory_is_whole;
use mainspring_core::driver::{Driver, DriverHandle, Until};
use mainspring_reactor::net::{TcpListener, TcpStream};
use mainspring_reactor::{Backend, Reactor};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::task::{Context, Wake, Waker};
use std::thread;

const WORKERS: usize = 3;
const CLIENTS: usize = 12;
const MESSAGES: usize = 60;
const BYTES_MAX: usize = 24_000;

/// Numbers that only look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    future: Mutex<Option<Boxed>>,
    pool: Arc<Pool>,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Arc<Task>>,
    /// Its worker has gone.
    is_closed: bool,
}

struct Pool {
    queues: [Mutex<Queue>; WORKERS],
    handles: [OnceLock<Arc<dyn DriverHandle>>; WORKERS],
    dice: Mutex<Dice>,
    left: AtomicUsize,
    polls: [AtomicUsize; WORKERS],
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        Arc::clone(&self.pool).push(self);
    }
}

impl Pool {
    fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            queues: Default::default(),
            handles: Default::default(),
            dice: Mutex::new(Dice(seed)),
            left: AtomicUsize::new(0),
            polls: Default::default(),
        })
    }

    fn spawn(self: &Arc<Self>, future: impl Future<Output = ()> + Send + 'static) {
        self.left.fetch_add(1, SeqCst);
        self.push(Arc::new(Task {
            future: Mutex::new(Some(Box::pin(future))),
            pool: Arc::clone(self),
        }));
    }

    fn roll(&self, sides: usize) -> usize {
        self.dice.lock().unwrap().roll(sides)
    }

    /// To whichever worker.
    fn push(&self, task: Arc<Task>) {
        loop {
            let worker = self.roll(WORKERS);
            let mut queue = self.queues[worker].lock().unwrap();
            if !queue.is_closed {
                queue.tasks.push_back(task);
                drop(queue);
                return self.unpark(worker);
            }
        }
    }

    fn unpark(&self, worker: usize) {
        if let Some(handle) = self.handles[worker].get() {
            handle.unpark();
        }
    }

    fn pop(&self, worker: usize) -> Option<Arc<Task>> {
        self.queues[worker].lock().unwrap().tasks.pop_front()
    }

    fn poll(&self, worker: usize, task: Arc<Task>) {
        self.polls[worker].fetch_add(1, SeqCst);
        let waker = Waker::from(Arc::clone(&task));
        let mut future = task.future.lock().unwrap();
        let Some(running) = &mut *future else { return };
        if running
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
        {
            return;
        }
        *future = None;
        if self.left.fetch_sub(1, SeqCst) == 1 {
            (0..WORKERS).for_each(|worker| self.unpark(worker));
        }
    }

    /// Serves until all tasks are done, or as many polls as that.
    fn serve(&self, worker: usize, reactor: &mut Reactor, polls_max: usize) {
        while self.left.load(SeqCst) > 0 && self.polls[worker].load(SeqCst) < polls_max {
            let until = match self.pop(worker) {
                Some(task) => {
                    self.poll(worker, task);
                    Until::Now
                }
                None => Until::Forever,
            };
            let _turn = reactor.park(until).unwrap();
        }
    }

    /// Its tasks are the others'.
    fn leave(&self, worker: usize) {
        let mut queue = self.queues[worker].lock().unwrap();
        queue.is_closed = true;
        let left = std::mem::take(&mut queue.tasks);
        drop(queue);
        left.into_iter().for_each(|task| self.push(task));
    }
}

/// Reads what has come, in one of three ways.
async fn read(stream: &mut TcpStream, way: usize) -> io::Result<Vec<u8>> {
    match way {
        0 => {
            let mut buf = vec![0; 5_000];
            let count = stream.read(&mut buf).await?;
            buf.truncate(count);
            Ok(buf)
        }
        1 => Ok(stream.recv_pooled().await?.to_vec()),
        _ => {
            let (result, buf) = stream.read_owned(Vec::with_capacity(3_000)).await;
            result.map(|_| buf)
        }
    }
}

async fn write(stream: &mut TcpStream, way: usize, bytes: Vec<u8>) -> io::Result<()> {
    if way == 0 {
        return stream.write_all(&bytes).await;
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        let (result, buf) = stream.write_owned(rest).await;
        rest = buf;
        rest.drain(..result?);
    }
    Ok(())
}

async fn echo(pool: Arc<Pool>, mut stream: TcpStream) {
    loop {
        let bytes = read(&mut stream, pool.roll(3)).await.unwrap();
        if bytes.is_empty() {
            return;
        }
        write(&mut stream, pool.roll(2), bytes).await.unwrap();
    }
}

async fn ask(pool: Arc<Pool>, address: std::net::SocketAddr, number: usize) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut next = number;
    for _ in 0..MESSAGES {
        let bytes = pool.roll(BYTES_MAX) + 1;
        let message: Vec<u8> = (next..next + bytes)
            .map(|byte| (byte % 251) as u8)
            .collect();
        next += bytes;
        write(&mut stream, pool.roll(2), message.clone())
            .await
            .unwrap();
        let mut found = Vec::new();
        while found.len() < bytes {
            let more = read(&mut stream, pool.roll(3)).await.unwrap();
            assert!(!more.is_empty(), "the end in the middle");
            found.extend(more);
        }
        assert!(found == message, "a seam");
    }
}

fn tasks_move(backend: Backend, seed: u64, polls_max: usize) {
    println!("seed {seed:#x}");
    let pool = Pool::new(seed);
    let ready = Barrier::new(WORKERS);
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (pool, ready) = (&pool, &ready);
            scope.spawn(move || {
                let mut reactor = Reactor::shared(backend).unwrap();
                let _entered = reactor.handle().enter();
                assert!(pool.handles[worker].set(reactor.handle()).is_ok());
                if worker == 0 {
                    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
                    begin(pool, listener);
                }
                ready.wait();
                // The first one, whose the listener is, goes in the middle.
                let polls_max = if worker == 0 { polls_max } else { usize::MAX };
                pool.serve(worker, &mut reactor, polls_max);
                if pool.left.load(SeqCst) > 0 {
                    pool.leave(worker);
                }
                drop(reactor);
            });
        }
    });
    let polls = pool.polls.each_ref().map(|polls| polls.load(SeqCst));
    assert!(polls.iter().all(|polls| *polls > 100), "{polls:?}");
    // What was woken after its end is still there, and has the pool.
    for queue in &pool.queues {
        queue.lock().unwrap().tasks.clear();
    }
    drop(pool);
    memory_is_whole();
}

fn begin(pool: &Arc<Pool>, listener: TcpListener) {
    let address = listener.local_addr().unwrap();
    let accepting = Arc::clone(pool);
    pool.spawn(async move {
        for _ in 0..CLIENTS {
            let stream = listener.accept().await.unwrap().0;
            accepting.spawn(echo(Arc::clone(&accepting), stream));
        }
    });
    for number in 0..CLIENTS {
        pool.spawn(ask(Arc::clone(pool), address, number));
    }
}

#[test]
fn every_byte_arrives_once_whoever_polls_on_ring() {
    on_ring(usize::MAX);
}

#[test]
fn every_byte_arrives_once_though_a_ring_goes() {
    on_ring(400);
}

fn on_ring(polls_max: usize) {
    match Reactor::shared(Backend::Uring) {
        Ok(_) => tasks_move(Backend::Uring, 0x5eed_0001, polls_max),
        Err(error) => eprintln!("NOT RUN, for want of a ring: {error}"),
    }
}

#[test]
fn every_byte_arrives_once_whoever_polls_on_poll() {
    tasks_move(Backend::Poll, 0x5eed_0002, usize::MAX);
}

#[test]
fn every_byte_arrives_once_though_a_poll_goes() {
    tasks_move(Backend::Poll, 0x5eed_0003, 400);
}

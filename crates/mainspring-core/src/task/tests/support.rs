//! A scheduler that only queues, and futures that count, through the door: for tests and models.

use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::sync::cell::UnsafeCell;
use crate::sync::{Arc, Mutex};
use crate::task::{
    self, JoinHandle, Ran, Registry, RunQueue, Runnable, Schedule, SchedulerRef, TaskRef, WakeCause,
};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Where a future leaves its waker.
pub(crate) type Mailbox = Mutex<Option<Waker>>;

/// Queues what is scheduled and lists what is spawned.
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    /// A model sees here that no call races with the scheduler's end.
    alive: UnsafeCell<()>,
}

struct Inner {
    queue: RunQueue,
    causes: Vec<WakeCause>,
    registry: Registry,
    closed: bool,
}

// SAFETY: `alive` has no bytes, and is written by the last reference only.
unsafe impl Sync for Queue {}

impl Schedule for Queue {
    fn schedule(&self, runnable: Runnable, why: WakeCause) {
        let mut inner = self.inner.lock();
        if inner.closed {
            drop(inner);
            drop(runnable);
            return;
        }
        inner.queue.push(runnable);
        inner.causes.push(why);
        drop(inner);
        // The scheduler is used after the runnable was published, when it may have run and gone.
        self.alive.with(|_| ());
    }

    fn retire(&self, task: &TaskRef) {
        // SAFETY: every task of this scheduler is listed here and nowhere else.
        unsafe { self.inner.lock().registry.remove(task) };
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.alive.with_mut(|_| ());
    }
}

impl Queue {
    pub(crate) fn new() -> Arc<Self> {
        let inner = Inner {
            queue: RunQueue::new(),
            causes: Vec::new(),
            registry: Registry::new(),
            closed: false,
        };
        Arc::new(Self {
            inner: Mutex::new(inner),
            alive: UnsafeCell::new(()),
        })
    }

    /// Lists a new task and queues it; a closed queue drops it.
    pub(crate) fn accept(&self, runnable: Runnable) {
        let mut inner = self.inner.lock();
        if !inner.closed {
            // SAFETY: `retire` removes it, and every task of this scheduler is inserted here, once.
            unsafe { inner.registry.insert(runnable.task()) };
        }
        drop(inner);
        runnable.schedule();
    }

    pub(crate) fn pop(&self) -> Option<Runnable> {
        self.inner.lock().queue.pop()
    }

    pub(crate) fn run_one(&self) -> Option<Ran> {
        self.pop().map(Runnable::run)
    }

    pub(crate) fn run_all(&self) -> Vec<Ran> {
        std::iter::from_fn(|| self.run_one()).collect()
    }

    #[cfg(not(mainspring_loom))]
    pub(crate) fn causes(&self) -> Vec<WakeCause> {
        std::mem::take(&mut self.inner.lock().causes)
    }

    pub(crate) fn with_registry<R>(&self, look: impl FnOnce(&Registry) -> R) -> R {
        look(&self.inner.lock().registry)
    }

    /// Refuses from now on, whatever is still listed.
    pub(crate) fn refuse(&self) {
        self.inner.lock().closed = true;
    }

    /// What an executor does when it ends: aborts all that is listed, runs what is queued until
    /// nothing is left, and refuses. A wake or a spawn may slip in before the door is shut, so what
    /// stands inside is ended once more behind it; a wake that comes later drops its runnable.
    pub(crate) fn shut_down(&self) {
        self.end_listed();
        self.refuse();
        self.end_listed();
    }

    fn end_listed(&self) {
        loop {
            let listed = self.inner.lock().registry.pop();
            let Some(task) = listed else { break };
            task.abort();
        }
        self.run_all();
    }
}

/// Makes a task on the queue, without its own keeping the queue alive for longer than the task.
#[track_caller]
pub(crate) fn spawn<F>(queue: &Arc<Queue>, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (runnable, join) = task::create(future, scheduler(queue));
    queue.accept(runnable);
    join
}

pub(crate) fn scheduler(queue: &Arc<Queue>) -> SchedulerRef {
    SchedulerRef::from(Arc::clone(queue))
}

/// Polls once with a waker that does nothing.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Counts how often what holds it was dropped.
#[derive(Clone, Debug)]
pub(crate) struct Drops(Arc<AtomicUsize>);

impl Drops {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(0)))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Relaxed)
    }

    /// Something whose drop is counted.
    pub(crate) fn guard(&self) -> Guard {
        Guard(Self(Arc::clone(&self.0)))
    }
}

/// See [`Drops::guard`].
#[derive(Debug)]
pub(crate) struct Guard(Drops);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Relaxed);
    }
}

/// What a waker's thread leaves for the poll that it asks for, with no ordering of its own.
pub(crate) struct Letter(AtomicUsize);

impl Letter {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(0)))
    }

    pub(crate) fn write(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self) -> usize {
        self.0.load(Relaxed)
    }
}

/// Hands its waker out at its first poll, and is ready when enough letters have come.
pub(crate) struct Reader {
    pub(crate) letter: Arc<Letter>,
    pub(crate) wanted: usize,
    pub(crate) waker: Arc<Mailbox>,
    pub(crate) polls: usize,
    pub(crate) _future: Guard,
    pub(crate) output: Option<Guard>,
}

impl Future for Reader {
    type Output = Guard;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Guard> {
        self.polls += 1;
        if self.polls == 1 {
            let before = self.waker.lock().replace(cx.waker().clone());
            drop(before);
        }
        if self.letter.read() < self.wanted {
            return Poll::Pending;
        }
        Poll::Ready(self.output.take().expect("polled after its output"))
    }
}

/// A task that reads letters, and all that is needed to watch it.
pub(crate) struct Scene {
    pub(crate) queue: Arc<Queue>,
    pub(crate) letter: Arc<Letter>,
    pub(crate) futures: Drops,
    pub(crate) outputs: Drops,
    waker: Arc<Mailbox>,
    pub(crate) join: Option<JoinHandle<Guard>>,
}

impl Scene {
    /// A queue with one task that wants `wanted` letters; not polled yet.
    pub(crate) fn new(wanted: usize) -> Self {
        let queue = Queue::new();
        let (letter, waker) = (Letter::new(), Arc::new(Mutex::new(None)));
        let (futures, outputs) = (Drops::new(), Drops::new());
        let reader = Reader {
            letter: Arc::clone(&letter),
            wanted,
            waker: Arc::clone(&waker),
            polls: 0,
            _future: futures.guard(),
            output: Some(outputs.guard()),
        };
        let join = Some(spawn(&queue, reader));
        Self {
            queue,
            letter,
            futures,
            outputs,
            waker,
            join,
        }
    }

    /// A new one, polled once, with the waker that the task handed out.
    pub(crate) fn polled(wanted: usize) -> (Self, Waker) {
        let scene = Self::new(wanted);
        assert_eq!(scene.queue.run_one(), Some(Ran::Idle));
        let waker = scene.waker();
        (scene, waker)
    }

    /// Takes the waker that the task handed out at its first poll.
    pub(crate) fn waker(&self) -> Waker {
        let waker = self.waker.lock().take();
        waker.expect("the task was not polled")
    }

    /// Drops a waker that was handed out and not taken.
    pub(crate) fn drop_waker(&self) {
        let waker = self.waker.lock().take();
        drop(waker);
    }

    /// Ends everything and checks that each thing was dropped exactly once.
    pub(crate) fn end(mut self) {
        self.queue.run_all();
        self.queue.shut_down();
        self.join.take();
        self.drop_waker();
        assert_eq!(self.futures.count(), 1, "task.future-once");
        assert_eq!(self.outputs.count(), 1, "task.output-once");
        assert!(
            self.queue.with_registry(Registry::is_empty),
            "task.registry"
        );
    }
}

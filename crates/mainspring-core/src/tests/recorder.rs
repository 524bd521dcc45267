//! Wakers for tests: one that tells how often it was woken, one that does as it is told.

use crate::sync::thread::{self, ThreadId};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, RawWaker, RawWakerVTable, Wake, Waker};

struct Bell(Sender<ThreadId>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Nobody listens any more: the test has seen enough.
        let _ = self.0.send(thread::current().id());
    }
}

/// A waker of its own task, its count of references and its count of wakes.
pub(crate) struct Recorder {
    bell: Arc<Bell>,
    waker: Waker,
    wakes: Receiver<ThreadId>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        let (sender, wakes) = channel();
        let bell = Arc::new(Bell(sender));
        let waker = Waker::from(Arc::clone(&bell));
        Self { bell, waker, wakes }
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context::from_waker(&self.waker)
    }

    /// How many wakes there were since the last call.
    pub(crate) fn wakes(&self) -> usize {
        self.wakes.try_iter().count()
    }

    /// The threads that woke since the last call.
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub(crate) fn wakers(&self) -> Vec<ThreadId> {
        self.wakes.try_iter().collect()
    }

    /// How many clones of the waker exist beside the recorder's own.
    pub(crate) fn clones(&self) -> usize {
        Arc::strong_count(&self.bell) - 2
    }
}

/// Which of the two racers is the thread that loom starts with.
#[cfg(all(mainspring_loom, feature = "loom"))]
#[derive(Clone, Copy)]
pub(crate) enum Start {
    First,
    Second,
}

/// Explores `model` with either racer on the first thread.
///
/// loom remembers one latest access of an atomic. A racer that loads a word before it exchanges it
/// hides an earlier load of the other's, and the executions in which that load comes after the
/// exchange are not explored. From the other start they are.
#[cfg(all(mainspring_loom, feature = "loom"))]
pub(crate) fn explore(bound: Option<usize>, model: impl Fn(Start) + Copy + Send + Sync + 'static) {
    for start in [Start::First, Start::Second] {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = bound;
        builder.check(move || model(start));
    }
}

/// Runs both at once and returns what they return.
#[cfg(all(mainspring_loom, feature = "loom"))]
pub(crate) fn race<A: 'static, B: 'static>(
    start: Start,
    first: impl FnOnce() -> A + 'static,
    second: impl FnOnce() -> B + 'static,
) -> (A, B) {
    match start {
        Start::First => {
            let second = thread::spawn(second);
            (first(), second.join().unwrap())
        }
        Start::Second => {
            let first = thread::spawn(first);
            let second = second();
            (first.join().unwrap(), second)
        }
    }
}

/// What a waker made by [`Hooks::waker`] does beside what every waker does.
pub(crate) struct Hooks {
    pub(crate) on_clone: fn(),
    pub(crate) on_wake: fn(),
    pub(crate) on_drop: fn(),
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            on_clone: || (),
            on_wake: || (),
            on_drop: || (),
        }
    }
}

impl Hooks {
    pub(crate) fn waker(self) -> Waker {
        let data = Arc::into_raw(Arc::new(self)).cast();
        // SAFETY: the table below keeps the counts of an `Arc<Hooks>`, which is `Send` and `Sync`.
        unsafe { Waker::new(data, &HOOKED) }
    }
}

static HOOKED: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: a waker that is being cloned holds a reference.
        let hooks = unsafe { &*data.cast::<Hooks>() };
        (hooks.on_clone)();
        // SAFETY: as above; the clone owns the reference added here.
        unsafe { Arc::increment_strong_count(data.cast::<Hooks>()) };
        RawWaker::new(data, &HOOKED)
    },
    |data| {
        // SAFETY: `wake` consumes the waker and with it one reference.
        let hooks = unsafe { Arc::from_raw(data.cast::<Hooks>()) };
        (hooks.on_wake)();
    },
    |data| {
        // SAFETY: the borrowed waker holds a reference.
        let hooks = unsafe { &*data.cast::<Hooks>() };
        (hooks.on_wake)();
    },
    |data| {
        // SAFETY: the waker that is dropped owns one reference.
        let hooks = unsafe { Arc::from_raw(data.cast::<Hooks>()) };
        (hooks.on_drop)();
    },
);

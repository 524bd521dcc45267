//! A waker for tests, which tells how often it was woken.

use crate::sync::thread::{self, ThreadId};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Wake, Waker};

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

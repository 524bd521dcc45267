//! A task of mainspring that does what the test tells it, one poll at a time.

use crate::hand::Hand;
use crate::sync::Mutex;
use mainspring_core::poll::TaskStamp;
use mainspring_core::sync::Arc;
use mainspring_core::task::{self, JoinHandle, Runnable, Schedule, SchedulerRef, WakeCause};
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

type Act = Box<dyn FnOnce(&mut Context<'_>) + Send>;

/// What the test and the task share.
#[derive(Default)]
struct Stage {
    act: Mutex<Option<Act>>,
    /// The task's own; taken out when the puppet goes, or the task would own itself.
    waker: Mutex<Option<Waker>>,
    runnable: Mutex<Option<Runnable>>,
}

impl Schedule for Stage {
    fn schedule(&self, runnable: Runnable, _: WakeCause) {
        // There is one runnable a task, so nothing is replaced.
        *self.runnable.lock() = Some(runnable);
    }
}

/// A real task of `mainspring_core::task`, with a number, a poll record and a full budget, that
/// polls whichever [`Hand`] it is given.
///
/// For what depends on *which* task polls: two hands polled by one puppet are two branches of one
/// task, one of which it may stop polling; a poll of the puppet [without a hand](Self::step) is one
/// of its task that leaves them all alone.
///
/// ```
/// use mainspring_core::poll;
/// use mainspring_testkit::{Hand, Puppet};
/// use std::task::Poll;
///
/// let mut puppet = Puppet::new();
/// let mut hand = Hand::new(async { poll::stamp().map(|stamp| stamp.task) });
/// assert_eq!(puppet.poll(&mut hand), Poll::Ready(Some(puppet.id())));
/// ```
pub struct Puppet {
    stage: Arc<Stage>,
    join: Option<JoinHandle<()>>,
    id: u64,
}

impl Puppet {
    /// A task that was not polled yet.
    #[must_use]
    pub fn new() -> Self {
        let stage = Arc::new(Stage::default());
        let acts = Arc::clone(&stage);
        let future = poll_fn(move |cx| {
            let act = acts.act.lock().take();
            if let Some(act) = act {
                act(cx);
            }
            Poll::<()>::Pending
        });
        let scheduler = SchedulerRef::from(Arc::clone(&stage));
        let (runnable, join) = task::create(future, scheduler);
        let id = runnable.stamp().task;
        runnable.schedule();
        Self {
            stage,
            join: Some(join),
            id,
        }
    }

    /// The task's number, as [`TaskStamp::task`] has it.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Polls `hand` in one poll of this task, with this task's waker.
    ///
    /// # Panics
    ///
    /// If the hand was ready before, and with the panic of the future.
    #[track_caller]
    pub fn poll<T: Send + 'static>(&mut self, hand: &mut Hand<T>) -> Poll<T> {
        let mut future = hand.lend();
        let back = Arc::new(Mutex::new(None));
        let out = Arc::clone(&back);
        self.act(Box::new(move |cx| {
            let polled =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| future.as_mut().poll(cx)));
            *out.lock() = Some((polled, future));
        }));
        let (polled, future) = back.lock().take().expect("the task was polled");
        match polled {
            Ok(Poll::Pending) => {
                hand.take_back(future);
                Poll::Pending
            }
            Ok(ready) => ready,
            Err(payload) => {
                hand.take_back(future);
                std::panic::resume_unwind(payload)
            }
        }
    }

    /// One poll of this task in which no hand is polled.
    pub fn step(&mut self) -> TaskStamp {
        let stamp = Arc::new(Mutex::new(None));
        let out = Arc::clone(&stamp);
        self.act(Box::new(move |_| {
            *out.lock() = mainspring_core::poll::stamp();
        }));
        let stamp = stamp.lock().take();
        stamp.expect("a task is polled with its record")
    }

    /// Whether the task was woken since its last poll.
    #[must_use]
    pub fn is_woken(&self) -> bool {
        self.stage.runnable.lock().is_some()
    }

    fn act(&mut self, act: Act) {
        let stage = &self.stage;
        // The act is used up by this poll, or dropped with the puppet.
        let theirs = Arc::clone(stage);
        *stage.act.lock() = Some(Box::new(move |cx| {
            let old = theirs.waker.lock().replace(cx.waker().clone());
            drop(old);
            act(cx);
        }));
        if !self.is_woken() {
            let waker = stage.waker.lock().clone();
            waker.expect("a task that is idle was polled").wake();
        }
        let runnable = stage.runnable.lock().take();
        let _ = runnable.expect("a woken task is scheduled").run();
    }
}

impl Default for Puppet {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Puppet {
    fn drop(&mut self) {
        let waker = self.stage.waker.lock().take();
        drop(waker);
        let act = self.stage.act.lock().take();
        drop(act);
        if let Some(join) = self.join.take() {
            join.abort();
            join.detach();
        }
        // An aborted task is scheduled once more, to drop its future; dropping the runnable does.
        let runnable = self.stage.runnable.lock().take();
        drop(runnable);
    }
}

impl fmt::Debug for Puppet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Puppet")
            .field("id", &self.id)
            .field("woken", &self.is_woken())
            .finish()
    }
}

#[cfg(test)]
mod tests;

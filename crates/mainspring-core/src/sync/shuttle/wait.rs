//! Waiting for futures in an execution, by the shipped parker.

use super::below;
use crate::park::{Parker, Unparker};
use ::std::fmt;
use ::std::future::Future;
use ::std::pin::{Pin, pin};
use ::std::sync::Arc;
use ::std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use ::std::task::{Context, Poll, Wake, Waker};

/// Polls `future` on this simulated thread until it is ready, and sleeps in between.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(parker.unparker()));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        parker.park();
    }
}

/// As [`block_on`], but drops the future, with a probability of 1 in `odds`, at each of the places
/// where one can be dropped: before its first poll, while it waits, and when it was woken and has
/// not been polled. `None` says that it was dropped.
///
/// # Panics
///
/// If `odds` is 0.
pub fn wait_or_drop<F: Future>(odds: u32, future: F) -> Option<F::Output> {
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(parker.unparker()));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    let is_given_up = || below(odds) == 0;
    if is_given_up() {
        return None;
    }
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return Some(output);
        }
        if is_given_up() {
            return None;
        }
        parker.park();
        if is_given_up() {
            return None;
        }
    }
}

/// Tasks of one simulated thread, polled in a random order, and only when they were woken.
///
/// A wake that goes to the wrong one of them shows: the right one sleeps for ever.
pub struct Crew<'a> {
    parker: Parker,
    members: Vec<Member<'a>>,
}

struct Member<'a> {
    future: Pin<Box<dyn Future<Output = ()> + 'a>>,
    bell: Arc<Bell>,
}

/// One member's waker.
struct Bell {
    /// No step of the schedule: the unpark that comes after it is one.
    has_rung: AtomicBool,
    unparker: Unparker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.has_rung.store(true, Relaxed);
        self.unparker.unpark();
    }
}

impl<'a> Crew<'a> {
    /// Nobody.
    #[must_use]
    pub fn new() -> Self {
        Self {
            parker: Parker::new(),
            members: Vec::new(),
        }
    }

    /// One more, which has not been polled yet.
    pub fn add(&mut self, future: impl Future<Output = ()> + 'a) {
        self.members.push(Member {
            future: Box::pin(future),
            bell: Arc::new(Bell {
                has_rung: AtomicBool::new(true),
                unparker: self.parker.unparker(),
            }),
        });
    }

    /// Polls whoever was woken until all have ended.
    pub fn run(self) {
        self.run_or_drop(u32::MAX);
    }

    /// As [`run`](Self::run), but before each poll one of those who have not ended, woken or not,
    /// is dropped with a probability of 1 in `odds`.
    ///
    /// # Panics
    ///
    /// If `odds` is 0.
    pub fn run_or_drop(mut self, odds: u32) {
        while !self.members.is_empty() {
            if odds < u32::MAX && below(odds) == 0 {
                drop(self.members.swap_remove(self.any()));
                continue;
            }
            let start = self.any();
            let count = self.members.len();
            let mut order = (0..count).map(|step| (start + step) % count);
            match order.find(|at| self.members[*at].bell.has_rung.swap(false, Relaxed)) {
                Some(at) => self.poll(at),
                None => self.parker.park(),
            }
        }
    }

    fn any(&self) -> usize {
        below(self.members.len() as u32) as usize
    }

    fn poll(&mut self, at: usize) {
        let member = &mut self.members[at];
        let waker = Waker::from(Arc::clone(&member.bell));
        let polled = member
            .future
            .as_mut()
            .poll(&mut Context::from_waker(&waker));
        if polled.is_ready() {
            drop(self.members.swap_remove(at));
        }
    }
}

impl Default for Crew<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Crew<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew")
            .field("members", &self.members.len())
            .finish_non_exhaustive()
    }
}

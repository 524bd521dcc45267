//! A primitive under test, and the count of what was granted and used up.

use super::trail::ensure;
use super::{Check, Shape, Subject, Waited};
use crate::hand::Hand;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use crate::waker::{Script, Scripted};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Poll;

pub(super) type Waiter = Hand<Waited>;

/// One primitive and its books.
pub(super) struct World<S> {
    pub(super) subject: Arc<S>,
    given: AtomicUsize,
    taken: AtomicUsize,
    /// A grant may have been merged with another one, or lost because nobody waited.
    is_vague: AtomicBool,
}

impl<S: Subject> World<S> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            subject: Arc::new(S::new()),
            given: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            is_vague: AtomicBool::new(S::shape().stored == 0),
        })
    }

    pub(super) fn shape(&self) -> Shape {
        S::shape()
    }

    /// A waiter that was not polled yet.
    pub(super) fn waiter(&self) -> Waiter {
        Hand::new(self.subject.wait())
    }

    pub(super) fn scripted(&self, script: Script) -> Waiter {
        Hand::scripted(self.subject.wait(), script)
    }

    /// Waiters that were polled once, in order; it is an error if one of them does not wait.
    pub(super) fn waiting(&self, count: usize) -> Result<Vec<Waiter>, super::Miss> {
        let mut waiters = Vec::with_capacity(count);
        for _ in 0..count {
            let mut waiter = self.waiter();
            self.must_wait(&mut waiter, "with nothing granted")?;
            waiters.push(waiter);
        }
        Ok(waiters)
    }

    pub(super) fn given(&self) -> usize {
        self.given.load(Relaxed)
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// What was given and not used up. Read late on purpose: what another thread took meanwhile
    /// counts.
    pub(super) fn outstanding(&self) -> usize {
        self.given().saturating_sub(self.taken())
    }

    pub(super) fn grant(&self) {
        self.note_given(1);
        self.subject.grant();
    }

    /// Grants, if one more may be out.
    pub(super) fn try_grant(&self) -> bool {
        let fits = self.outstanding() < self.shape().at_once;
        if fits {
            self.grant();
        }
        fits
    }

    pub(super) fn grant_many(&self, count: usize) {
        self.note_given(count);
        if !self.subject.grant_many(count) {
            for _ in 0..count {
                self.subject.grant();
            }
        }
    }

    fn note_given(&self, count: usize) {
        if self.outstanding().saturating_add(count) > self.shape().stored {
            self.is_vague.swap(true, Relaxed);
        }
        self.given.fetch_add(count, Relaxed);
    }

    pub(super) fn poll(&self, waiter: &mut Waiter) -> Poll<Waited> {
        self.note(waiter.poll())
    }

    pub(super) fn note(&self, polled: Poll<Waited>) -> Poll<Waited> {
        if polled == Poll::Ready(Waited::Granted) {
            self.taken.fetch_add(1, Relaxed);
        }
        polled
    }

    pub(super) fn must_wait(&self, waiter: &mut Waiter, when: &str) -> Check {
        let polled = self.poll(waiter);
        ensure!(
            polled.is_pending(),
            "a waiter was let go {when}: {polled:?}"
        );
        Ok(())
    }

    pub(super) fn must_be_granted(&self, waiter: &mut Waiter, when: &str) -> Check {
        let polled = self.poll(waiter);
        ensure!(
            polled == Poll::Ready(Waited::Granted),
            "a waiter was not granted {when}: {polled:?}"
        );
        Ok(())
    }

    /// As [`must_be_granted`](Self::must_be_granted), and it was woken before.
    pub(super) fn must_be_served(&self, waiter: &mut Waiter, when: &str) -> Check {
        ensure!(waiter.is_woken(), "a waiter was not woken {when}");
        self.must_be_granted(waiter, when)
    }

    /// Polls whoever was woken, until nobody is; drops those that are ready. Returns how many that
    /// were.
    pub(super) fn serve(&self, waiters: &mut Vec<Waiter>) -> usize {
        let before = waiters.len();
        loop {
            let woken = waiters.iter().position(Hand::is_woken);
            let Some(at) = woken else { break };
            if self.poll(&mut waiters[at]).is_ready() {
                drop(waiters.remove(at));
            }
        }
        before - waiters.len()
    }

    /// Serves whoever was woken; then nobody may sleep while a grant is there to be had.
    pub(super) fn nobody_sleeps(&self, waiters: &mut Vec<Waiter>, when: &str) -> Check {
        self.serve(waiters);
        self.no_excess(when)?;
        let left = self.outstanding();
        ensure!(
            self.is_vague.load(Relaxed) || left == 0 || waiters.is_empty(),
            "{left} granted, nobody woken, and {} sleep {when}",
            waiters.len()
        );
        Ok(())
    }

    pub(super) fn no_excess(&self, when: &str) -> Check {
        let (given, taken) = (self.given(), self.taken());
        ensure!(
            taken <= given,
            "{given} granted, and {taken} were let go {when}"
        );
        Ok(())
    }

    /// With nobody waiting: what was given and not used up is there, neither more nor less.
    pub(super) fn is_balanced(&self, when: &str) -> Check {
        let left = self.outstanding().min(self.shape().stored);
        let mut found = 0;
        // One too many is enough to see.
        while found <= left {
            let mut waiter = self.waiter();
            match self.poll(&mut waiter) {
                Poll::Ready(Waited::Granted) => found += 1,
                _ => break,
            }
        }
        ensure!(found <= left, "more was granted than given {when}");
        ensure!(
            found == left || self.is_vague.load(Relaxed),
            "{left} granted and not used up, and {found} of them found {when}"
        );
        Ok(())
    }
}

/// Calls `f`, which may panic because a script says so. Any other panic goes on. Whether it did.
pub(super) fn survives(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => false,
        Err(payload) if Scripted::is(&*payload) => true,
        Err(payload) => resume_unwind(payload),
    }
}

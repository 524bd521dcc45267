//! The threads of a pool, as who ends it sees them.
//!
//! A thread says goodbye with the last thing that it does, so that it can be waited for with a
//! limit, and joined without one.
//!
//! # Invariants
//!
//! - **crew.goodbye** — every thread says goodbye once, on every path, after its driver has gone.
//! - **crew.joined** — only threads that have said goodbye are joined: what they run afterwards is
//!   the end of the thread itself, the destructors of its thread-locals above all. These may end
//!   the pool once more, so nothing is held meanwhile that an end takes.

use super::limits::Limits;
use crate::shutdown::ShutdownReport;
use mainspring_core::sync::Mutex;
use std::io;
use std::sync::mpsc::{Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Called with what a pool had to leave behind when it was dropped.
pub(super) type OnLeft = dyn Fn(&ShutdownReport) + Send + Sync;

/// How a pool wants to be ended.
pub(super) struct Manner {
    /// How long tasks are polled in a shutdown; unless told otherwise half of its time.
    pub(super) grace: Option<Duration>,
    /// How long nothing may happen before somebody who does not return is given up, if the pool's
    /// owner has an opinion.
    pub(super) patience: Option<Duration>,
    pub(super) on_left: Option<Box<OnLeft>>,
}

/// What is said by a thread that ends.
pub(super) struct Goodbye {
    number: usize,
    to: Sender<usize>,
}

impl Goodbye {
    pub(super) fn new(number: usize, to: Sender<usize>) -> Self {
        Self { number, to }
    }
}

impl Drop for Goodbye {
    fn drop(&mut self) {
        // CLAIM: [crew.goodbye] on unwind, too. Nobody listens if the pool was never built.
        let _ = self.to.send(self.number);
    }
}

/// Who has not been joined, by number.
struct Roster {
    threads: Vec<(usize, JoinHandle<()>)>,
    gone: Vec<usize>,
    goodbyes: Receiver<usize>,
    /// For threads that are started later.
    say: Sender<usize>,
}

impl Roster {
    /// Makes a number free, and returns the thread that had it and has said goodbye, if there was
    /// one, to be joined.
    ///
    /// # Errors
    ///
    /// The one that has it has not ended.
    fn free(&mut self, number: usize) -> Result<Option<JoinHandle<()>>, ()> {
        while let Ok(gone) = self.goodbyes.try_recv() {
            self.gone.push(gone);
        }
        let mut threads = self.threads.iter();
        let Some(at) = threads.position(|(other, _)| *other == number) else {
            return Ok(None);
        };
        // CLAIM: [crew.goodbye] said once, so that who comes next is not taken for the one before.
        let said = self
            .gone
            .iter()
            .position(|gone| *gone == number)
            .ok_or(())?;
        self.gone.swap_remove(said);
        let (_, thread) = self.threads.swap_remove(at);
        Ok(Some(thread))
    }
}

/// The number of the thread that sweeps up, in a pool of so many workers.
pub(super) fn number_of_sweep(workers: usize) -> usize {
    workers
}

/// The number of the watchdog.
pub(super) fn number_of_watchdog(workers: usize) -> usize {
    workers + 1
}

/// The number of the spare worker.
pub(super) fn number_of_spare(workers: usize) -> usize {
    workers + 2
}

/// Threads that have said goodbye.
#[must_use = "they are joined when nothing is held any more"]
pub(super) struct Gone(Vec<JoinHandle<()>>);

impl Gone {
    pub(super) fn join(self) {
        for thread in self.0 {
            // CLAIM: [crew.joined] What a thread panicked with was reported.
            let _ = thread.join();
        }
    }
}

/// The threads of one pool.
pub(super) struct Crew {
    /// Held by who ends the pool: the registry tells one waiter. Whether somebody has been told of
    /// what had to be left behind.
    pub(super) alone: Mutex<bool>,
    pub(super) limits: Limits,
    pub(super) manner: Manner,
    roster: Mutex<Roster>,
}

impl Crew {
    /// Nobody yet.
    pub(super) fn new((say, goodbyes): (Sender<usize>, Receiver<usize>), manner: Manner) -> Self {
        Self {
            alone: Mutex::new(false),
            limits: Limits::default(),
            manner,
            roster: Mutex::new(Roster {
                threads: Vec::new(),
                gone: Vec::new(),
                goodbyes,
                say,
            }),
        }
    }

    /// Counts the workers' threads in, by their numbers.
    pub(super) fn enlist(&self, workers: impl Iterator<Item = JoinHandle<()>>) {
        self.roster.lock().threads.extend(workers.enumerate());
    }

    /// Starts one more, unless one of that number is there and has not ended; whether it did.
    ///
    /// # Errors
    ///
    /// What the system says about threads.
    pub(super) fn start(
        &self,
        number: usize,
        name: String,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<bool> {
        let mut roster = self.roster.lock();
        let Ok(before) = roster.free(number) else {
            return Ok(false);
        };
        let goodbye = Goodbye::new(number, roster.say.clone());
        let body = move || {
            let _goodbye = goodbye;
            body();
        };
        let started = std::thread::Builder::new().name(name).spawn(body);
        let started = started.map(|thread| roster.threads.push((number, thread)));
        drop(roster);
        Gone(before.into_iter().collect()).join();
        started.map(|()| true)
    }

    /// Waits until all threads but `stuck` of them have ended, or until `limit`. Those that have
    /// are to be joined; of the others it says which they are.
    pub(super) fn dismiss(&self, stuck: usize, limit: Instant) -> (Gone, Vec<(usize, Box<str>)>) {
        let mut roster = self.roster.lock();
        // CLAIM: [pool-end.not-itself] the watchdog, whose hook ends the pool, ends by itself.
        let here = std::thread::current().id();
        let is_here = |thread: &JoinHandle<()>| thread.thread().id() == here;
        let ends_itself = roster.threads.iter().any(|(_, thread)| is_here(thread));
        let expected = roster.threads.len().saturating_sub(stuck);
        let expected = expected.saturating_sub(usize::from(ends_itself));
        loop {
            let left = if roster.gone.len() < expected {
                limit.saturating_duration_since(Instant::now())
            } else {
                Duration::ZERO
            };
            match roster.goodbyes.recv_timeout(left) {
                Ok(number) => roster.gone.push(number),
                Err(_) => break,
            }
        }
        let gone = std::mem::take(&mut roster.gone);
        let threads = std::mem::take(&mut roster.threads);
        let (ended, left): (Vec<_>, Vec<_>) = threads
            .into_iter()
            .partition(|(number, _)| gone.contains(number));
        let name = |thread: &JoinHandle<()>| thread.thread().name().unwrap_or("?").into();
        let others = left.iter().filter(|(_, thread)| !is_here(thread));
        let named = others.map(|(number, thread)| (*number, name(thread)));
        let named = named.collect();
        // Somebody may end the pool once more, and find them ended.
        roster.threads = left;
        let gone = ended.into_iter().map(|(_, thread)| thread);
        (Gone(gone.collect()), named)
    }
}

#[cfg(all(
    test,
    not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))
))]
mod tests;

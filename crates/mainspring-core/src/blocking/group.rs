//! Whose jobs they are: counts, names, and the end.
//!
//! # Invariants
//!
//! - **group.counted** — a job is in the list of its group from its submission until it has ended,
//!   was cancelled or failed, on every path: its ticket takes it out by its drop.
//! - **group.told** — whoever waits for the group to be empty is woken by the ticket that empties
//!   it: both look at the list under one lock.
//! - **group.settled** — a job is unsettled from its submission until whoever waits for its result
//!   has been told, which is after it has left the list, on every path; who settles the last one
//!   wakes whoever watches for that.
//!
//! No waker is cloned, woken or dropped while the lock is held.

use super::job::{self, Job};
use super::{Blocking, BlockingError, BlockingTask, lane, ungrouped};
use crate::context::{Entered, Slot};
use crate::payload::absorb;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::global::AtomicU64;
use crate::sync::{Arc, Mutex, thread_local};
use crate::time::{self, Nanos};
use crate::wait::{self, WaitKind};
use crate::wake_batch::WakeBatch;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// The jobs of one runtime, whose shutdown waits for them and for no others.
///
/// Clones are the same group.
///
/// ```
/// use mainspring_core::blocking::{self, Blocking, BlockingGroup};
///
/// let group = BlockingGroup::new();
/// let entered = blocking::enter(&group); // on each worker
/// let task = blocking::run(Blocking::Syscall, || std::fs::metadata("/"));
/// drop(entered);
///
/// // At the end: refuse new jobs, wait for `group.drained()` until the deadline, name the rest.
/// for job in group.close() {
///     println!("refused: {job}");
/// }
/// for job in group.jobs() {
///     println!("left behind: {job}");
/// }
/// # drop(task);
/// ```
#[derive(Clone)]
pub struct BlockingGroup {
    shared: Arc<Shared>,
}

/// Numbers, not addresses, tell groups apart.
static NEXT: AtomicU64 = AtomicU64::new(1);

type Runner = dyn Fn(Job) + Send + Sync;

struct Shared {
    number: u64,
    state: Mutex<State>,
    /// Who runs the jobs, if it is not the process's pool.
    runner: Option<Box<Runner>>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    next: u64,
    jobs: BTreeMap<u64, JobInfo>,
    /// How many of them a shutdown waits for.
    waited_for: usize,
    waiting: BTreeMap<u64, Waker>,
    /// How many have not handed over their result.
    unsettled: usize,
    watching: Vec<Waker>,
}

/// Whether a job has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// It waits for a thread.
    Queued,
    /// It runs.
    Running,
}

/// One job of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobInfo {
    /// Why it blocks.
    pub class: Blocking,
    /// Whether it has begun.
    pub state: JobState,
    /// Since when it is in that state.
    pub since: Nanos,
    /// Where it was submitted.
    pub submitted_at: &'static Location<'static>,
}

impl fmt::Display for JobInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            JobState::Queued => "queued",
            JobState::Running => "running",
        };
        let (class, at) = (self.class, self.submitted_at);
        let since = time::now().since(self.since);
        write!(f, "{class:?} job submitted at {at}, {state} for {since:?}")
    }
}

impl BlockingGroup {
    /// A group whose jobs run on the process's pool.
    #[must_use]
    pub fn new() -> Self {
        Self::with(None)
    }

    /// A group whose jobs are handed to `runner`, on the thread that submits them: for a simulator
    /// that owns all threads.
    ///
    /// ```
    /// use mainspring_core::blocking::{Blocking, BlockingGroup};
    ///
    /// let group = BlockingGroup::with_runner(|job| job.run()); // at once, in place
    /// let task = group.run(Blocking::Compute, || 6 * 7);
    /// assert!(group.jobs().is_empty());
    /// # drop(task);
    /// ```
    #[must_use]
    pub fn with_runner(runner: impl Fn(Job) + Send + Sync + 'static) -> Self {
        Self::with(Some(Box::new(runner)))
    }

    fn with(runner: Option<Box<Runner>>) -> Self {
        Self {
            shared: Arc::new(Shared {
                number: NEXT.fetch_add(1, Relaxed),
                state: Mutex::new(State::default()),
                runner,
            }),
        }
    }

    /// Runs `work` as [`blocking::run`](super::run) does, counted in this group. In a closed group
    /// the result is [`BlockingError::Closed`] at once.
    ///
    /// # Cancel safety
    ///
    /// *Loses value*: as [`blocking::run`](super::run).
    #[track_caller]
    pub fn run<T, F>(&self, class: Blocking, work: F) -> BlockingTask<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.run_at(class, work, Location::caller())
    }

    pub(super) fn run_at<T, F>(
        &self,
        class: Blocking,
        work: F,
        submitted_at: &'static Location<'static>,
    ) -> BlockingTask<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let Some(counted) = self.ticket(class, submitted_at) else {
            let (completer, result) = crate::completion();
            // The closure is dropped, and so is the other end's error if that could fail.
            drop(work);
            drop(completer.complete(Err(BlockingError::Closed)));
            return BlockingTask {
                result,
                queued: None,
            };
        };
        let (job, result) = job::new(work, counted);
        let queued = match &self.shared.runner {
            Some(runner) => {
                runner(job);
                None
            }
            None => {
                let lane = lane(class);
                Some((lane, lane.submit(self.shared.number, job)))
            }
        };
        self.cancel_if_closed(class);
        BlockingTask { result, queued }
    }

    pub(super) fn ticket(
        &self,
        class: Blocking,
        submitted_at: &'static Location<'static>,
    ) -> Option<(Ticket, Unsettled)> {
        let since = time::coarse();
        let mut state = self.shared.state.lock();
        if state.is_closed {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.waited_for += usize::from(class.is_waited_for());
        state.unsettled += 1;
        state.jobs.insert(
            number,
            JobInfo {
                class,
                state: JobState::Queued,
                since,
                submitted_at,
            },
        );
        drop(state);
        let ticket = Ticket {
            group: self.clone(),
            number,
            class,
            submitted_at,
        };
        let unsettled = Unsettled {
            group: self.clone(),
        };
        Some((ticket, unsettled))
    }

    /// A close between the ticket and the queue has looked for the job in vain.
    fn cancel_if_closed(&self, class: Blocking) {
        if self.shared.state.lock().is_closed {
            // The result of each tells its owner; whoever closed has been told already.
            let _late = self.fail_queued(class);
        }
    }

    fn fail_queued(&self, class: Blocking) -> Vec<JobInfo> {
        if self.shared.runner.is_some() {
            return Vec::new();
        }
        let jobs = lane(class).take_out_group(self.shared.number);
        let infos = jobs.iter().filter_map(Job::info).collect();
        for job in jobs {
            job.fail(BlockingError::Closed);
        }
        infos
    }

    /// Refuses new jobs, fails those that have not begun with [`BlockingError::Closed`], and says
    /// which those were: class by class, each in the order of submission.
    pub fn close(&self) -> Vec<JobInfo> {
        self.shared.state.lock().is_closed = true;
        let refused = Blocking::ALL.map(|class| self.fail_queued(class));
        refused.into_iter().flatten().collect()
    }

    /// Waits until no job is left but [abandonable](Blocking::Abandonable) ones.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: it holds nothing.
    pub fn drained(&self) -> Drained {
        Drained {
            group: self.clone(),
            number: None,
        }
    }

    /// Ready if every job has ended and whoever waits for its result has been told; otherwise
    /// `cx` is woken when that is so, once.
    ///
    /// [Abandonable](Blocking::Abandonable) jobs count here, too: a stopped clock, for example,
    /// stands while a name is looked up.
    pub fn poll_settled(&self, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.shared.state.lock();
        if state.unsettled == 0 {
            drop(state);
            return Poll::Ready(());
        }
        if state.watching.iter().any(|other| other.will_wake(&waker)) {
            drop(state);
        } else {
            state.watching.push(waker);
        }
        Poll::Pending
    }

    /// All jobs that have not ended, in the order of their submission.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobInfo> {
        self.shared.state.lock().jobs.values().copied().collect()
    }

    /// How many jobs have not ended.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.state.lock().jobs.len()
    }

    /// Whether every job has ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for BlockingGroup {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for BlockingGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingGroup")
            .field("number", &self.shared.number)
            .field("jobs", &self.jobs())
            .finish_non_exhaustive()
    }
}

/// A job counts while this lives.
pub(super) struct Ticket {
    group: BlockingGroup,
    number: u64,
    class: Blocking,
    submitted_at: &'static Location<'static>,
}

/// Somebody waits for the result of a job and has not been told while this lives.
pub(super) struct Unsettled {
    group: BlockingGroup,
}

impl Ticket {
    pub(super) fn class(&self) -> Blocking {
        self.class
    }

    pub(super) fn submitted_at(&self) -> &'static Location<'static> {
        self.submitted_at
    }

    /// What its group knows of it.
    pub(super) fn info(&self) -> Option<JobInfo> {
        let state = self.group.shared.state.lock();
        state.jobs.get(&self.number).copied()
    }

    pub(super) fn start(&self) {
        let since = time::now();
        let mut state = self.group.shared.state.lock();
        if let Some(info) = state.jobs.get_mut(&self.number) {
            info.state = JobState::Running;
            info.since = since;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.group.shared.state.lock();
        let info = state.jobs.remove(&self.number);
        debug_assert!(info.is_some(), "group.counted: taken out twice");
        state.waited_for -= usize::from(self.class.is_waited_for());
        let mut told = if state.waited_for == 0 {
            std::mem::take(&mut state.waiting)
        } else {
            BTreeMap::new()
        };
        debug_assert!(
            state.waited_for > 0 || state.waiting.is_empty(),
            "group.told: somebody waits for nothing"
        );
        drop(state);
        wake_each(|| Some(told.pop_first()?.1));
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        let mut state = self.group.shared.state.lock();
        debug_assert!(state.unsettled > 0, "group.settled: settled twice");
        state.unsettled -= 1;
        let mut watching = if state.unsettled == 0 {
            std::mem::take(&mut state.watching)
        } else {
            Vec::new()
        };
        drop(state);
        wake_each(|| watching.pop());
    }
}

/// Wakes all that `next` gives. One that panics keeps nobody else from being woken.
fn wake_each(mut next: impl FnMut() -> Option<Waker>) {
    loop {
        let mut batch = WakeBatch::new();
        while batch.has_room() {
            let Some(waker) = next() else { break };
            let pushed = batch.push(waker);
            debug_assert!(pushed.is_ok(), "group.told: a waker came back");
        }
        if batch.is_empty() {
            return;
        }
        absorb(|| batch.wake_all());
    }
}

/// The future of [`BlockingGroup::drained`].
///
/// # Cancel safety
///
/// *Safe*: it holds nothing.
#[must_use = "futures do nothing unless polled"]
pub struct Drained {
    group: BlockingGroup,
    number: Option<u64>,
}

impl Future for Drained {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let waker = cx.waker().clone();
        let mut state = this.group.shared.state.lock();
        if state.waited_for == 0 {
            drop(state);
            return Poll::Ready(());
        }
        let number = match this.number {
            Some(number) => number,
            None => {
                state.next += 1;
                *this.number.insert(state.next - 1)
            }
        };
        let before = state.waiting.insert(number, waker);
        drop(state);
        drop(before);
        wait::note(WaitKind::Blocking, this.group.shared.number);
        Poll::Pending
    }
}

impl crate::cancel_safe::CancelSafe for Drained {}

impl Drop for Drained {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let waker = self.group.shared.state.lock().waiting.remove(&number);
            drop(waker);
        }
    }
}

impl fmt::Debug for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Drained").field(&self.group).finish()
    }
}

thread_local! {
    static GROUP: Slot<BlockingGroup> = const { Slot::new() };
}

/// Makes jobs that are submitted on this thread count in `group`, for a worker's life.
pub fn enter(group: &BlockingGroup) -> Entered {
    Entered::new(&GROUP, std::sync::Arc::new(group.clone()))
}

/// The group that was entered on this thread.
#[must_use]
pub fn entered() -> Option<BlockingGroup> {
    GROUP.with(|slot| slot.with(|group| group.cloned()))
}

/// The group of this thread, or that of all who have none.
pub(super) fn current() -> BlockingGroup {
    entered().unwrap_or_else(ungrouped)
}

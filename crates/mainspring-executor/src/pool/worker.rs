//! The steppable heart of a worker.
//!
//! A [`Worker`] reads no clock in a turn, does not block but in [`park`](Worker::park), and does
//! not ask which thread it is on: a thread of a pool drives it, or a test that steps several on
//! one.
//!
//! # Where the next task comes from
//!
//! 1. The injector first, at every 61st task, so that it is never starved.
//! 2. The slot: the task that was woken last, whose data are warm. At most three in a row, then it
//!    is the others' turn: two tasks that wake each other starve nobody.
//! 3. The private lane and the queue, in turns.
//! 4. The injector, in batches.
//! 5. Half of somebody's queue, beginning with a victim drawn at random.
//!
//! # Invariants
//!
//! - **pool-worker.turn** — a turn has at most as many polls as its pace says, and ends when the
//!   driver has something.
//! - **pool-worker.searching** — the worker is a searcher in the idle word exactly while it says so
//!   itself; it says that it found something before it runs that.
//! - **pool-worker.sleeps-last** — between the look that [`doze`](Worker::doze) takes and the wait
//!   the worker runs nothing.

use super::counters::Counts;
use super::desk::Desk;
use super::idle::{OnSearch, OnSleep, OnWake};
use super::lane::LaneRef;
use super::pulse::Pulse;
use super::shared::SharedRef;
use crate::drive::Drive;
use crate::pace::Pace;
use crate::queue::local::{Local, Stolen};
use crate::worker::Step;
use mainspring_core::driver::{Driver, Until};
use mainspring_core::poll;
use mainspring_core::random;
use mainspring_core::task::Runnable;
use mainspring_core::time::{self, Nanos};
use std::rc::Rc;
use std::sync::Arc;

/// How often in a row the slot may be served before the others.
const SLOT_ROW_MAX: u32 = 3;

/// At the latest at every so manieth task the injector is looked at first.
const INJECTOR_EVERY: u32 = 61;

/// How often a search begins anew because somebody else was faster.
const SEARCH_ROUNDS: u32 = 4;

/// Whether a worker that has nothing to run may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a worker that is asleep has to wait, and then to wake up"]
pub(crate) enum Doze {
    /// It is asleep: wait in the driver, then [`wake_up`](Worker::wake_up).
    Sleep,
    /// Something has come: step again.
    Again,
}

/// One worker.
pub(crate) struct Worker {
    shared: SharedRef,
    index: usize,
    desk: Rc<Desk>,
    lane: LaneRef,
    drive: Drive,
    pace: Pace,
    pulse: Arc<Pulse>,
    is_searching: bool,
    /// How often in a row the slot was served.
    slot_row: u32,
    /// Whether it is the lane's turn, or the queue's.
    is_lanes_turn: bool,
    /// Polls until the injector is looked at first.
    injector_in: u32,
    counts: Counts,
    lateness: Lateness,
}

impl Worker {
    pub(crate) fn new(
        shared: SharedRef,
        index: usize,
        queue: Local<Runnable>,
        lane: LaneRef,
        driver: Box<dyn Driver>,
    ) -> Self {
        Self {
            desk: Rc::new(Desk::new(&shared, index, queue)),
            pulse: Arc::clone(&shared.remotes[index].pulse),
            shared,
            index,
            lane,
            drive: Drive::new(driver),
            pace: Pace::new(),
            is_searching: false,
            slot_row: 0,
            is_lanes_turn: true,
            injector_in: INJECTOR_EVERY,
            counts: Counts::default(),
            lateness: Lateness::default(),
        }
    }

    /// What has to be current on the thread that drives this worker.
    pub(crate) fn desk(&self) -> &Rc<Desk> {
        &self.desk
    }

    /// Runs one turn that begins at `now`.
    pub(crate) fn step(&mut self, now: Nanos) -> Step {
        poll::begin_turn(now);
        self.turn_began(now);
        self.lane.take_in();
        let polls_max = self.pace.begin(now);
        let mut polls = 0;
        self.pulse.begin_turn();
        while polls < polls_max {
            let Some(runnable) = self.next() else { break };
            self.pulse.begin_poll(runnable.id());
            // SAFETY: [lane.home] a task of the lane is at home on the worker's thread, which steps
            // it; all others are at home everywhere.
            let _ran = unsafe { runnable.run_at_home() };
            polls += 1;
            if self.drive.peek() {
                break;
            }
        }
        self.pulse.end_turn();
        debug_assert!(
            polls <= polls_max,
            "pool-worker.turn: {polls} polls in a turn of {polls_max}"
        );
        self.desk.settle(&self.shared);
        let is_work_left = self.has_own_work() || self.shared.injected() > 0;
        self.pace.end(now, polls, is_work_left);
        self.counts.polls += u64::from(polls);
        self.lateness.ran(polls);
        self.publish();
        if is_work_left { Step::Busy } else { Step::Idle }
    }

    /// The next task to run.
    #[inline]
    fn next(&mut self) -> Option<Runnable> {
        self.injector_in -= 1;
        if self.injector_in == 0 {
            self.injector_in = INJECTOR_EVERY;
            if let Some(runnable) = self.take_injected() {
                return Some(runnable);
            }
        }
        if let Some(runnable) = self.next_own() {
            self.stop_searching();
            return Some(runnable);
        }
        self.next_of_others()
    }

    #[inline]
    fn next_own(&mut self) -> Option<Runnable> {
        if self.slot_row < SLOT_ROW_MAX {
            if let Some(runnable) = self.take_slot() {
                return Some(runnable);
            }
        }
        self.slot_row = 0;
        let next = if self.is_lanes_turn {
            self.lane.pop().or_else(|| self.desk.queue().pop())
        } else {
            self.desk.queue().pop().or_else(|| self.lane.pop())
        };
        self.is_lanes_turn = !self.is_lanes_turn;
        next.or_else(|| self.take_slot())
    }

    #[inline]
    fn take_slot(&mut self) -> Option<Runnable> {
        let runnable = self.shared.remotes[self.index].slot.take()?;
        self.slot_row += 1;
        self.counts.slot_hits += 1;
        Some(runnable)
    }

    #[inline(never)]
    fn next_of_others(&mut self) -> Option<Runnable> {
        self.take_injected().or_else(|| self.steal())
    }

    fn take_injected(&mut self) -> Option<Runnable> {
        let runnable = self.shared.take_injected(&self.desk)?;
        self.counts.injections += 1;
        self.stop_searching();
        Some(runnable)
    }

    fn steal(&mut self) -> Option<Runnable> {
        if !self.is_searching {
            match self.shared.idle.try_search(self.index) {
                OnSearch::Search => self.is_searching = true,
                OnSearch::Enough => return None,
            }
        }
        for _ in 0..SEARCH_ROUNDS {
            match self.search() {
                Stolen::One(runnable) => {
                    self.counts.steals += 1;
                    self.desk.note_stolen();
                    self.stop_searching();
                    return Some(runnable);
                }
                Stolen::Nothing => break,
                Stolen::Retry => {}
            }
        }
        // Something may have been injected meanwhile.
        self.take_injected()
    }

    /// Looks at everybody's queue once.
    fn search(&self) -> Stolen<Runnable> {
        let remotes = &self.shared.remotes;
        let first = random::below(remotes.len() as u32) as usize;
        let mut result = Stolen::Nothing;
        for n in 0..remotes.len() {
            let victim = (first + n) % remotes.len();
            if victim == self.index {
                continue;
            }
            match remotes[victim].queue.steal_half(self.desk.queue()) {
                Stolen::One(runnable) => return Stolen::One(runnable),
                Stolen::Retry => result = Stolen::Retry,
                Stolen::Nothing => {}
            }
        }
        result
    }

    #[inline]
    fn stop_searching(&mut self) {
        if self.is_searching {
            // CLAIM: [pool-worker.searching] before what was found is run.
            self.is_searching = false;
            self.shared.unpark(self.shared.idle.found(self.index));
        }
    }

    /// Whether there is something to run that nobody else has.
    fn has_own_work(&self) -> bool {
        !self.desk.queue().is_empty()
            || !self.shared.remotes[self.index].slot.is_empty()
            || self.lane.has_work()
    }

    /// Nothing is ready: falls asleep, unless something has come by then.
    pub(crate) fn doze(&mut self) -> Doze {
        let is_searching = std::mem::take(&mut self.is_searching);
        // CLAIM: [pool-worker.sleeps-last] what follows looks, and runs nobody's code.
        let look = self.shared.idle.fall_asleep(self.index, is_searching);
        let is_needed = self.has_own_work()
            || self.drive.peek()
            || self.shared.is_stopping()
            || (look == OnSleep::Look && self.shared.has_shared_work());
        if is_needed {
            self.wake_up();
            return Doze::Again;
        }
        Doze::Sleep
    }

    /// The worker is awake again, by whatever woke it.
    pub(crate) fn wake_up(&mut self) {
        match self.shared.idle.wake_up(self.index) {
            OnWake::ByItself => {}
            OnWake::Chosen => self.is_searching = true,
        }
    }

    /// Drops what stands here when the pool has stopped: something does only if this worker was
    /// stuck for so long that it was given up, and every task was aborted then.
    pub(super) fn clear(&mut self) {
        while self.has_own_work() {
            let _ = self.step(time::now());
        }
    }

    /// The worker steps no more: it is no searcher then, and what it has counted can be read.
    pub(crate) fn leave(&mut self) {
        self.stop_searching();
        self.publish();
    }

    /// A step that left work behind was over at `now`: what follows is the driver's time.
    pub(crate) fn over(&mut self, now: Nanos) {
        self.pace.over(now);
        self.turn_ended(now);
    }

    /// Waits in the driver, and says what time it is then.
    pub(crate) fn park(&mut self, until: Until) -> Nanos {
        if until != Until::Now {
            self.counts.parks += 1;
            self.turn_ended(time::now());
        }
        self.desk.set_driving(true);
        let turn = self.drive.park(until);
        self.desk.set_driving(false);
        if until == Until::Now {
            self.turn_ended(turn.now);
        }
        if turn.woken > 0 {
            let slot = &self.shared.remotes[self.index].slot;
            let waiting = self.desk.queue().len() + usize::from(!slot.is_empty());
            // One of the lane's, say, stands in neither.
            self.lateness.woken(turn.now, waiting.max(1));
        }
        turn.now
    }

    fn turn_began(&mut self, now: Nanos) {
        self.lateness.turn = Some(now);
    }

    fn turn_ended(&mut self, now: Nanos) {
        let Some(began) = self.lateness.turn.take() else {
            return;
        };
        let spent_ns = now.0.saturating_sub(began.0);
        self.counts.busy_ns += spent_ns;
        self.counts.longest_turn_ns = self.counts.longest_turn_ns.max(spent_ns);
        if let Some(delay_ns) = self.lateness.measured(now) {
            // An eighth of the newest, as TCP smooths round trips.
            let smoothed = self.counts.delay_ns;
            self.counts.delay_ns = smoothed - smoothed / 8 + delay_ns / 8;
            self.counts.longest_delay_ns = self.counts.longest_delay_ns.max(delay_ns);
        }
    }

    fn publish(&mut self) {
        self.counts.yields = self.desk.yields();
        self.shared.remotes[self.index]
            .counters
            .publish(&self.counts);
    }
}

/// How late a task runs that was woken: of those that a turn of the driver woke, the last one
/// queued is followed by counting polls, so that no clock is read for it.
#[derive(Default)]
struct Lateness {
    /// When the turn under way began.
    turn: Option<Nanos>,
    /// When the task that is followed was woken, and how many polls come before it has run.
    followed: Option<(Nanos, u32)>,
}

impl Lateness {
    /// The driver's turn has woken somebody, at `now`; so many wait in front and with it.
    fn woken(&mut self, now: Nanos, waiting: usize) {
        if self.followed.is_none() {
            self.followed = Some((now, u32::try_from(waiting).unwrap_or(u32::MAX)));
        }
    }

    /// A turn had so many polls.
    fn ran(&mut self, polls: u32) {
        if let Some((_, left)) = &mut self.followed {
            *left = if polls == 0 {
                0
            } else {
                left.saturating_sub(polls)
            };
        }
    }

    /// A turn has ended at `now`: how late the followed task was, if it has run in it.
    fn measured(&mut self, now: Nanos) -> Option<u64> {
        let (woken, left) = self.followed?;
        if left > 0 {
            return None;
        }
        self.followed = None;
        Some(now.0.saturating_sub(woken.0))
    }
}

#[cfg(test)]
pub(super) mod tests;

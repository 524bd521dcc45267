//! What the poll under way on this thread knows about itself.
//!
//! One thread-local record, written by whoever polls a task (a task's `Runnable::run`, and the root
//! of a `block_on`) and read by the leaves: which task is running and for the how-manieth time, how
//! much of its budget is left, whether it asked to yield, how many shields are open, and where its
//! wait reason goes. A leaf pays one thread-local access for all of it.
//!
//! Outside a poll of ours (under tokio, smol, or in a plain thread) the record is empty: the budget
//! is unlimited, wait reasons go nowhere, and [`stamp`] is `None`.
//!
//! # Invariants
//!
//! - **poll.nested** — a poll inside a poll (a `block_on` in a task, a task run from a destructor)
//!   finds a fresh record and leaves the outer one as it was, on unwind too.
//! - **poll.slot-alive** — the wait slot in the record is alive while the record names it: it
//!   belongs to the task whose poll the guard brackets, and [`Polling`], which is
//!   never forgotten by the code that gives it a slot, borrows it.

use crate::sync::thread_local;
use crate::time::Nanos;
use crate::wait::WaitSlot;
use crate::wait_list::revoke;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// How many units of work one poll may do before its leaves ask it to yield.
pub const BUDGET_UNITS: u32 = 128;

/// Which task is being polled, and for the how-manieth time.
///
/// Two stamps with the same task and different `polls` belong to different polls of that task; a
/// primitive compares them to learn whether a task was polled since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskStamp {
    /// The task's number, unique in the process and never reused.
    pub task: u64,
    /// The poll's number within the task, wrapping.
    pub polls: u32,
}

/// The record, a cell a field: a leaf touches the one it needs, and a poll that is inside no other,
/// which is nearly every one, has nothing to save.
struct Record {
    active: Cell<bool>,
    yielded: Cell<bool>,
    /// [`UNLIMITED`], or at most [`BUDGET_UNITS`].
    budget: Cell<u32>,
    shields: Cell<u32>,
    polls: Cell<u32>,
    /// Zero: no task.
    task: Cell<u64>,
    wait: Cell<Option<NonNull<WaitSlot>>>,
}

const UNLIMITED: u32 = u32::MAX;

/// What an outer poll's record said, while an inner one is under way.
struct Saved {
    yielded: bool,
    budget: u32,
    shields: u32,
    polls: u32,
    task: u64,
    wait: Option<NonNull<WaitSlot>>,
}

impl Record {
    const fn new() -> Self {
        Self {
            active: Cell::new(false),
            yielded: Cell::new(false),
            budget: Cell::new(UNLIMITED),
            shields: Cell::new(0),
            polls: Cell::new(0),
            task: Cell::new(0),
            wait: Cell::new(None),
        }
    }

    /// Begins a poll and hands out what has to be restored after it.
    #[inline]
    fn begin(&self, stamp: Option<TaskStamp>, wait: Option<NonNull<WaitSlot>>) -> Option<Saved> {
        let outer = if self.active.get() {
            Some(self.save())
        } else {
            None
        };
        self.active.set(true);
        self.yielded.set(false);
        self.budget.set(BUDGET_UNITS);
        self.shields.set(0);
        self.wait.set(wait);
        if let Some(stamp) = stamp {
            self.task.set(stamp.task);
            self.polls.set(stamp.polls);
        } else {
            self.task.set(0);
        }
        outer
    }

    /// Ends a poll that was in no other.
    #[inline]
    fn clear(&self) {
        self.active.set(false);
        self.budget.set(UNLIMITED);
        self.task.set(0);
        self.wait.set(None);
    }

    #[cold]
    fn save(&self) -> Saved {
        Saved {
            yielded: self.yielded.get(),
            budget: self.budget.get(),
            shields: self.shields.get(),
            polls: self.polls.get(),
            task: self.task.get(),
            wait: self.wait.get(),
        }
    }

    #[cold]
    fn restore(&self, outer: &Saved) {
        self.yielded.set(outer.yielded);
        self.budget.set(outer.budget);
        self.shields.set(outer.shields);
        self.polls.set(outer.polls);
        self.task.set(outer.task);
        self.wait.set(outer.wait);
    }
}

thread_local! {
    static RECORD: Record = const { Record::new() };
    static TURN: Cell<Nanos> = const { Cell::new(Nanos::ZERO) };
}

/// Brackets one poll. Restores the outer poll's record when dropped, on unwind too, and then takes
/// back what revocable wait lists offered to the task before the poll and it did not take.
#[must_use = "the poll lasts as long as the guard"]
pub struct Polling<'a> {
    /// `None`: there was none.
    outer: Option<Saved>,
    /// The task, zero for none, and the number of the last offer of a grant before this poll.
    task: u64,
    offers: u64,
    slot: PhantomData<&'a WaitSlot>,
    one_thread: PhantomData<*const ()>,
}

/// What a poll left behind for whoever bracketed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a yield goes to the tail of the queue"]
pub struct Left {
    /// The poll asked to let others run first, by `yield_now` or because its budget was spent.
    pub yielded: bool,
}

impl<'a> Polling<'a> {
    /// Begins a poll of a future that is no task, the root of a `block_on`, with a full budget.
    #[inline]
    pub fn root() -> Polling<'static> {
        Polling::begin(None, None)
    }

    /// Begins a poll of a task. Not public: a forgotten guard would leave the slot in the record.
    #[inline]
    pub(crate) fn begin(stamp: Option<TaskStamp>, wait: Option<&'a WaitSlot>) -> Self {
        Self {
            outer: RECORD.with(|record| record.begin(stamp, wait.map(NonNull::from))),
            task: stamp.map_or(0, |stamp| stamp.task),
            offers: revoke::last_offer(),
            slot: PhantomData,
            one_thread: PhantomData,
        }
    }

    /// Ends the poll and says what it left behind.
    #[inline]
    pub fn end(self) -> Left {
        Left {
            yielded: RECORD.with(|record| record.yielded.get()),
        }
    }
}

impl Drop for Polling<'_> {
    #[inline]
    fn drop(&mut self) {
        // CLAIM: [poll.nested] also when the poll unwinds.
        RECORD.with(|record| match &self.outer {
            None => record.clear(),
            Some(outer) => record.restore(outer),
        });
        if self.task != 0 {
            revoke::revoke_untaken(self.task, self.offers);
        }
    }
}

/// The task being polled on this thread, if it is one of ours.
#[inline]
#[must_use]
pub fn stamp() -> Option<TaskStamp> {
    RECORD.with(|record| {
        let (task, polls) = (record.task.get(), record.polls.get());
        (task != 0).then_some(TaskStamp { task, polls })
    })
}

/// Whether a poll of ours is under way on this thread: of a task, or of the root of a `block_on`.
#[inline]
#[must_use]
pub fn is_active() -> bool {
    RECORD.with(|record| record.active.get())
}

/// Says that this poll is about to return `Pending` only to let others run: the task goes to the
/// tail of its queue when its waker is called, instead of to the front.
#[inline]
pub fn note_yield() {
    RECORD.with(|record| record.yielded.set(true));
}

/// Calls `look` with the wait slot of the task being polled.
#[inline]
pub(crate) fn with_wait_slot(look: impl FnOnce(&WaitSlot)) {
    if let Some(slot) = RECORD.with(|record| record.wait.get()) {
        // SAFETY: [poll.slot-alive] the guard that put the slot here borrows it, and is alive
        // while this record is the current one.
        look(unsafe { slot.as_ref() });
    }
}

/// What is left of this poll's budget; `None` is unlimited.
#[inline]
pub(crate) fn budget() -> Option<u32> {
    let budget = RECORD.with(|record| record.budget.get());
    (budget != UNLIMITED).then_some(budget)
}

/// Replaces what is left of this poll's budget and returns what was left before.
#[inline]
pub(crate) fn replace_budget(budget: Option<u32>) -> Option<u32> {
    let before = self::budget();
    RECORD.with(|record| record.budget.set(budget.unwrap_or(UNLIMITED)));
    before
}

/// How many shields are open in this poll: a scope does not drop a child that has one.
#[inline]
#[must_use]
pub fn shields() -> u32 {
    RECORD.with(|record| record.shields.get())
}

/// Counts one shield as open at the end of this poll. Every poll begins with none: a shield whose
/// future is still pending counts itself again each time.
#[inline]
pub fn open_shield() {
    RECORD.with(|record| record.shields.set(record.shields.get().saturating_add(1)));
}

/// Sets the number of open shields and returns what it was: a scope brackets the poll of a child.
#[inline]
pub fn replace_shields(shields: u32) -> u32 {
    RECORD.with(|record| record.shields.replace(shields))
}

/// Sets this thread's turn clock: a worker calls it once a turn with [`Turn::now`].
///
/// [`Turn::now`]: crate::driver::Turn::now
#[inline]
pub fn begin_turn(now: Nanos) {
    TURN.with(|turn| turn.set(now));
}

/// This thread's turn clock: when the turn under way began, or [`Nanos::ZERO`] if no worker of ours
/// runs on this thread.
#[inline]
#[must_use]
pub fn turn_now() -> Nanos {
    TURN.with(Cell::get)
}

impl std::fmt::Debug for Polling<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Polling")
            .field("stamp", &stamp())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

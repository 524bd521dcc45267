//! What the poll under way on this thread knows about itself.
//!
//! One thread-local record, written by whoever polls a task (a task's `Runnable::run`) or the
//! [`Root`] of a `block_on`, and read by the leaves: which of them is running and for the
//! how-manieth time, how much of its budget is left, whether it asked to yield, how many shields
//! are open, and where its wait reason goes. A leaf pays one thread-local access for all of it.
//!
//! Outside a poll of ours (under tokio, smol, or in a plain thread) the record is empty: the budget
//! is unlimited, wait reasons go nowhere, and [`stamp`] is `None`.
//!
//! # Invariants
//!
//! - **poll.nested** — a poll inside a poll (a `block_on` in a task, a task run from a destructor)
//!   finds a fresh record and leaves the outer one as it was, on unwind too.
//! - **poll.slot-alive** — the wait slot in the record is alive while the record names it: it
//!   belongs to the task or the root whose poll is bracketed, and the guard, which is never
//!   forgotten by the code that gives it a slot, borrows it.

use crate::sync::thread_local;
use crate::task::TaskId;
use crate::time::Nanos;
use crate::wait::WaitSlot;
use crate::wait_list::revoke;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// How many units of work one poll may do before its leaves ask it to yield, unless its executor
/// says otherwise ([`budget::enter`](crate::budget::enter)).
pub const BUDGET_UNITS: u32 = 128;

/// Which task, or which root of a `block_on`, is being polled, and for the how-manieth time.
///
/// Two stamps with the same task and different `polls` belong to different polls of that task; a
/// primitive compares them to learn whether a task was polled since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskStamp {
    /// The task's number, unique in the process and never reused. The root of a `block_on` has one
    /// of the same kind, which no task has.
    pub task: u64,
    /// The poll's number within the task, wrapping.
    pub polls: u32,
}

/// The record, a cell a field: a leaf touches the one it needs, and a poll that is inside no other,
/// which is nearly every one, has nothing to save.
#[repr(C)]
struct Record {
    /// [`ACTIVE`], [`YIELDED`], [`ROOT`].
    state: Cell<u32>,
    shields: Cell<u32>,
    /// At most a `u32`, below zero if more was consumed than was left; or [`UNLIMITED`], less what
    /// was consumed.
    budget: Cell<i64>,
    /// What each poll begins with.
    full: Cell<i64>,
    /// The slot of the task or the root that is polled, if it has one.
    slot: Cell<Option<NonNull<WaitSlot>>>,
}

/// A poll is under way.
const ACTIVE: u32 = 1;
/// The poll under way, or the last, asked to let others run first.
const YIELDED: u32 = 2;
/// What the poll under way polls is the root of a `block_on`, and no task.
const ROOT: u32 = 4;

/// So many that no process consumes them: consuming need not ask whether there is a budget.
const UNLIMITED: i64 = i64::MAX;

/// What an outer poll's record said, while an inner one is under way.
struct Saved {
    state: u32,
    shields: u32,
    budget: i64,
    slot: Option<NonNull<WaitSlot>>,
}

impl Record {
    const fn new() -> Self {
        Self {
            state: Cell::new(0),
            shields: Cell::new(0),
            budget: Cell::new(UNLIMITED),
            full: Cell::new(BUDGET_UNITS as i64),
            slot: Cell::new(None),
        }
    }

    #[inline]
    fn is_active(&self) -> bool {
        self.state.get() & ACTIVE != 0
    }

    #[inline]
    fn begin(&self, slot: Option<&WaitSlot>, kind: u32) {
        self.state.set(ACTIVE | kind);
        self.shields.set(0);
        self.budget.set(self.full.get());
        self.slot.set(slot.map(NonNull::from));
    }

    /// Ends a poll that was in no other. Whether it asked to yield can still be read.
    #[inline]
    fn clear(&self) {
        self.state.set(self.state.get() & YIELDED);
        self.budget.set(UNLIMITED);
        self.slot.set(None);
    }

    #[cold]
    fn save(&self) -> Saved {
        Saved {
            state: self.state.get(),
            shields: self.shields.get(),
            budget: self.budget.get(),
            slot: self.slot.get(),
        }
    }

    /// Ends a poll inside another, which is the current one again.
    #[cold]
    fn restore(&self, outer: &Saved) {
        self.state.set(outer.state);
        self.shields.set(outer.shields);
        self.budget.set(outer.budget);
        self.slot.set(outer.slot);
    }
}

thread_local! {
    static RECORD: Record = const { Record::new() };
    static TURN: Cell<Nanos> = const { Cell::new(Nanos::ZERO) };
}

/// Calls `poll`, the poll of a future that is nobody's, with a full budget. Restores the outer
/// poll's record afterwards, on unwind too.
///
/// [`stamp`] is `None` in it: wait lists tell who polls by the waker alone, and take nothing back.
/// A `block_on` has a [`Root`] instead. This is for harnesses and adapters, whose polls belong to
/// somebody that the family does not know.
#[inline]
pub fn root<R>(poll: impl FnOnce() -> R) -> R {
    let _polling = Polling::begin(None);
    poll()
}

/// Who the root future of one `block_on` is: polled like a task, though it is none.
///
/// For whoever writes a `block_on`: make one before the first poll, on the stack, and bracket every
/// poll with [`poll`](Self::poll). Inside, [`stamp`] names the root, and the wait lists treat it as
/// they treat a task: what was offered to one of its futures goes to another one that is polled
/// ([same task](crate::wait_list::Cure::SameTask)), also where each has a waker of its own, as in a
/// `FuturesUnordered`; and a revocable list takes back what a poll did not take.
///
/// [`task::current_id`](crate::task::current_id) is `None` inside: nobody can join, abort or list
/// a root.
///
/// # Complexity and allocation
///
/// Nothing is allocated. Making one draws a number, a thread-local access; a poll costs two relaxed
/// loads and a store more than [`root`].
///
/// ```
/// use mainspring_core::poll;
///
/// let mut root = poll::Root::new();
/// let first = root.poll(poll::stamp).unwrap();
/// let second = root.poll(poll::stamp).unwrap();
/// assert_eq!(first.task, second.task);
/// assert_ne!(first.polls, second.polls);
/// assert_eq!(poll::stamp(), None);
/// ```
#[derive(Debug)]
pub struct Root(WaitSlot);

impl Root {
    /// A root that was never polled, with a number nobody had before.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        Self(WaitSlot::new(TaskId::next()))
    }

    /// Calls `poll`, a poll of the root future, with a full budget. Restores the outer poll's
    /// record afterwards, on unwind too, and then takes back what revocable wait lists offered to
    /// the root before this poll and it did not take.
    #[inline]
    pub fn poll<R>(&mut self, poll: impl FnOnce() -> R) -> R {
        // CLAIM: [wait.one-writer] the only reference polls.
        self.0.begin_poll();
        let _polling = Polling::begin_as(Some(&self.0), ROOT);
        poll()
    }
}

impl Default for Root {
    fn default() -> Self {
        Self::new()
    }
}

/// Brackets one poll. Restores the outer poll's record when dropped, on unwind too, and then takes
/// back what revocable wait lists offered to the task before the poll and it did not take.
///
/// Not public: one that were forgotten or kept would leave the slot in the record.
#[must_use = "the poll lasts as long as the guard"]
pub(crate) struct Polling<'a> {
    /// `None`: there was none.
    outer: Option<Saved>,
    /// The number of the last offer of a grant before this poll.
    offers: u64,
    slot: Option<&'a WaitSlot>,
    one_thread: PhantomData<*const ()>,
}

impl<'a> Polling<'a> {
    /// Begins a poll of the task with this slot, or of a future that is nobody's.
    #[inline]
    pub(crate) fn begin(slot: Option<&'a WaitSlot>) -> Self {
        Self::begin_as(slot, 0)
    }

    #[inline]
    fn begin_as(slot: Option<&'a WaitSlot>, kind: u32) -> Self {
        let outer = RECORD.with(|record| {
            let outer = record.is_active().then(|| record.save());
            record.begin(slot, kind);
            outer
        });
        Self {
            outer,
            offers: revoke::last_offer(),
            slot,
            one_thread: PhantomData,
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
        if let Some(slot) = self.slot {
            revoke::revoke_untaken(slot.task(), self.offers);
        }
    }
}

/// [`Polling`] for a poll that [is plain](is_plain): it has nothing to save and to take back, and
/// stays in registers.
#[must_use = "the poll lasts as long as the guard"]
pub(crate) struct Plain<'a> {
    slot: PhantomData<&'a WaitSlot>,
    one_thread: PhantomData<*const ()>,
}

/// Whether a poll that begins now is inside no other and can have been offered no grant that would
/// be taken back.
#[inline]
pub(crate) fn is_plain() -> bool {
    // A grant was offered to a waiter, which had entered itself in an earlier poll of its task.
    !is_active() && !revoke::is_watched()
}

impl<'a> Plain<'a> {
    /// Begins a poll of the task with this slot.
    #[inline]
    pub(crate) fn begin(slot: &'a WaitSlot) -> Self {
        debug_assert!(!is_active(), "poll.nested: a poll inside another");
        RECORD.with(|record| record.begin(Some(slot), 0));
        Self {
            slot: PhantomData,
            one_thread: PhantomData,
        }
    }
}

impl Drop for Plain<'_> {
    #[inline]
    fn drop(&mut self) {
        RECORD.with(Record::clear);
    }
}

/// The task, or the root of a `block_on`, that is being polled on this thread, if it is ours.
#[inline]
#[must_use]
pub fn stamp() -> Option<TaskStamp> {
    let mut stamp = None;
    with_wait_slot(|slot| stamp = Some(slot.stamp()));
    stamp
}

/// As [`stamp`], of a task alone.
#[inline]
pub(crate) fn task_stamp() -> Option<TaskStamp> {
    if is_root() { None } else { stamp() }
}

/// Whether what is being polled on this thread is the root of a `block_on`.
#[inline]
pub(crate) fn is_root() -> bool {
    RECORD.with(|record| record.state.get()) & ROOT != 0
}

/// Whether the poll under way, or the last if there is none, asked to let others run first, by
/// `yield_now` or because its budget was spent.
#[inline]
pub(crate) fn has_yielded() -> bool {
    RECORD.with(|record| record.state.get()) & YIELDED != 0
}

/// Whether a poll of ours is under way on this thread: of a task, or of the root of a `block_on`.
#[inline]
#[must_use]
pub fn is_active() -> bool {
    RECORD.with(Record::is_active)
}

/// Says that this poll is about to return `Pending` only to let others run: the task goes to the
/// tail of its queue when its waker is called, instead of to the front.
#[inline]
pub fn note_yield() {
    RECORD.with(|record| record.state.set(record.state.get() | YIELDED));
}

/// Calls `look` with the wait slot of the task or the root being polled.
#[inline]
pub(crate) fn with_wait_slot(look: impl FnOnce(&WaitSlot)) {
    if let Some(slot) = RECORD.with(|record| record.slot.get()) {
        // SAFETY: [poll.slot-alive] the guard that put the slot here borrows it, and is alive
        // while this record is the current one.
        look(unsafe { slot.as_ref() });
    }
}

/// What is left of this poll's budget; `None` is unlimited.
#[inline]
pub(crate) fn budget() -> Option<u32> {
    let budget = RECORD.with(|record| record.budget.get());
    let is_limited = budget <= i64::from(u32::MAX);
    is_limited.then_some(budget.max(0) as u32)
}

/// Replaces what polls that begin on this thread have, and returns what they had.
pub(crate) fn replace_full_budget(units: u32) -> u32 {
    RECORD.with(|record| record.full.replace(i64::from(units))) as u32
}

/// Replaces what is left of this poll's budget and returns what was left before.
#[inline]
pub(crate) fn replace_budget(budget: Option<u32>) -> Option<u32> {
    let before = self::budget();
    RECORD.with(|record| record.budget.set(budget.map_or(UNLIMITED, i64::from)));
    before
}

/// Whether nothing is left of this poll's budget.
#[inline]
pub(crate) fn is_budget_spent() -> bool {
    RECORD.with(|record| record.budget.get()) <= 0
}

/// Takes one unit off the budget. Once nothing is left it makes no difference.
#[inline]
pub(crate) fn consume_budget() {
    RECORD.with(|record| record.budget.set(record.budget.get() - 1));
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

//! Tasks: a future that runs by itself, in one allocation.
//!
//! An executor implements [`Schedule`], makes tasks with [`create`], and runs the [`Runnable`]s it
//! is given. Everything else (waking, joining, aborting, panics, whose turn it is to free) is
//! decided here, by one word of state. This page is the whole protocol; each file below has one
//! part of it.
//!
//! # One allocation
//!
//! ```text
//!   Runnable ──┐                 ┌────────────────────────────────────────┐
//!   Waker ─────┤                 │ header, 88 bytes: state, vtable,       │
//!   JoinHandle ┼───────────────▶ │ scheduler, id, wait slot, location,    │
//!   AbortHandle┤                 │ registry links, join waker             │
//!   TaskRef ───┘                 ├────────────────────────────────────────┤
//!                                │ place: the future, then its output or  │
//!                                │ the payload of its panic               │
//!                                ├────────────────────────────────────────┤
//!                                │ trailer, if the vtable announces one:  │
//!                                │ the name                               │
//!                                └────────────────────────────────────────┘
//! ```
//!
//! What few tasks have is in the trailer, so that the others pay for it neither with a byte nor
//! with a branch: the vtable says where it is, and has the function that drops it with the memory.
//! It stays as long as the memory, not as the future: a complete task still has its name.
//!
//! # States
//!
//! ```text
//!                   new
//!                    │
//!            run     ▼                poll: Ready, panic, or
//!          (begin)                    abort: future dropped
//! SCHEDULED ─────▶ RUNNING ──────────────────────────────────▶ COMPLETE
//!     ▲              │  ▲ wake, abort: + SCHEDULED,
//!     │ wake, abort  │  │ so that the poll's end
//!     │              │  │ gives the runnable back
//!     └──── idle ◀───┘  └─ poll: Pending (end)
//! ```
//!
//! A runnable exists exactly while SCHEDULED is set and RUNNING is not, and from a task's making
//! until its first run begins. CANCELLED may be added in any state but the last, and makes the next
//! to begin drop the future instead of polling it; it always comes with SCHEDULED, so there is a
//! next.
//!
//! A task is made RUNNING, with NEW beside it until its first poll has ended. It has no waker
//! before that poll, so nobody has to tell its queue from its poll: what an abort does to a task
//! that is polled is right for one that is queued, too. So the first run begins with a load.
//!
//! # References
//!
//! The memory is freed by whoever finds, in the transition that gives its reference up, that no
//! other is left. Six things are references, and only the first is counted:
//!
//! | reference | is |
//! |---|---|
//! | a waker, an [`AbortHandle`], a [`TaskRef`] | one unit of the count |
//! | the [`Runnable`] | the flag SCHEDULED, until the first run RUNNING with NEW |
//! | the poller | the flag RUNNING |
//! | the [`JoinHandle`] | the flag JOIN_INTEREST |
//! | the executor, which must be able to end the future | the absence of COMPLETE |
//!
//! So waking, running and queueing again change no count. A task that nobody can wake any more is
//! not freed behind its owner's back: its future lives, is listed by the executor, and ends in the
//! executor's shutdown. It also follows that an executor needs a [`Registry`], or tasks that are
//! never woken outlive it.
//!
//! # Read-modify-writes
//!
//! On a worker's thread (see [`SchedulerRef::enter`]), where the references to the scheduler are
//! plain arithmetic:
//!
//! | what | how many | which |
//! |---|---|---|
//! | spawn | 0 | the word is written before anybody else sees it |
//! | the first run begins | 0 | `begin`, a load |
//! | a later run begins | 1 | `begin` |
//! | a poll that waits ends | 1 | `end` |
//! | the task completes | 1 | `complete` |
//! | the same, with its handle and every reference gone | 0 | `complete`, a load |
//! | join of a complete task, drop of the handle | 0 | `look` and `release_handle`, two loads |
//! | join that waits | 1 and the waker's | `register`, then a waker that is cloned and woken |
//! | detaching before the end | 1 | `detach` |
//! | waker cloned, dropped; wake; abort | 1 each | `retain`, `release`, `wake_…`, `abort` |
//!
//! So a task that is joined after it completed in its first poll costs one, and a detached one that
//! does the same costs one. A task that waits costs four a time: the waker's clone, `end`, the wake
//! by value, `begin`.
//!
//! # Who may touch what, when
//!
//! | field | touched by |
//! |---|---|
//! | place | the poller; with COMPLETE the join handle, if there is one; the header watches it |
//! | scheduler | read by the runnable's owner; taken out by the poller after the future |
//! | join waker | the handle while JOIN_WAKER is clear; nobody writes while it is set |
//! | the same | taken by who clears JOIN_WAKER: the poller (complete), the handle (withdraw) |
//! | queue link | the owner of the runnable, which is in one queue at most |
//! | wait slot | written by the poller, read by anybody (see [`wait`]) |
//! | registry links | whoever holds the executor's [`Registry`] by `&mut` |
//! | trailer | read by whoever holds a reference; dropped by who frees, with the memory |
//! | the rest | read by whoever holds a reference, never written |
//!
//! # Invariants
//!
//! - **task.runnable** — at most one runnable of a task exists; a verdict that gives one is acted
//!   on.
//! - **task.one-poller** — one thread at a time is the poller, and it alone moves the task out of
//!   RUNNING; a wake or an abort during a poll leads to exactly one more run.
//! - **task.alive** — the task is allocated while a reference of any kind exists, and freed once.
//! - **task.future-once** — the future is dropped exactly once, by a poller, in every order of
//!   events; its place is used for something else only afterwards.
//! - **task.output-once** — output or payload are taken or dropped exactly once: by the join
//!   handle, or by the poller that completes when there is no handle.
//! - **task.in-place** — the place is written once before anybody else sees the task.
//! - **task.trailer** — a task whose table announces a trailer has one there: written once before
//!   anybody else sees the task, never again, and dropped once, by whoever frees the memory.
//! - **task.pinned** — the future is never moved after it was built.
//! - **task.joiner-slot** — JOIN_WAKER says whether a waker is in its place; clearing it takes the
//!   waker over.
//! - **task.scheduler** — a task that is not complete has its scheduler, and each call of it holds
//!   a reference of its own; whoever completes it takes the reference out, once, so a stray waker
//!   keeps no executor alive.
//! - **task.registry** — a task's links are used by one registry; a listed task is not complete.
//! - **task.link** — a runnable is in one queue at most, which owns it and its link.
//! - **task.waker** — every waker points to a task and uses one table, so that two wakers of one
//!   task are equal; it may be used on any thread, at any time.
//! - **task.lifetime** — what is polled or dropped on other threads is `Send`, and what is not
//!   `'static` outlives the task by its maker's promise.
//! - **task.home** — a local task's future is touched at home only, or leaked.
//! - **join.send** — a join handle is as `Send` as the output that it may take or drop.
//! - **join.payload** — the payload in a shared [`JoinError`] is read only if it is a text.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `task.wake` | every wake and abort | the next begin | what the waker wrote |
//! | `task.handoff` | the end of a poll | the begin of the next | the future |
//! | `task.output` | complete | the join handle's transitions | the result, and all the task did |
//! | `task.joiner` | register | complete | the join waker in its place |
//! | `task.free` | giving any reference up | finding that it was the last | every use of the task |
//!
//! # Panics
//!
//! A panic in `poll`, in the future's destructor, in an unread output's destructor or in the waker
//! of a joiner is contained. It becomes the task's result; if nobody reads that, the
//! [hook](set_unobserved_failure_hook) learns of it. A panic while a panic's leftovers are dropped
//! is dropped too: the first says more.
//!
//! # When the executor is gone
//!
//! An executor ends its tasks before it goes: it closes its registry under its lock, aborts what is
//! listed, and runs what is queued. An empty queue is not the end: a waker may have scheduled a
//! task and not have pushed its runnable yet, and one that is pushed after the last look keeps its
//! task, and the scheduler with it, for ever. So the executor goes on until its registry is empty;
//! or, if any thread may drop its futures, it closes the queue under the lock of the pushes and
//! looks once more, and a push that comes later drops its runnable. Then every task is complete and
//! no waker leads to a runnable. What remains:
//!
//! - a spawn that comes too late gets its runnable back and drops it: the task is cancelled at
//!   once, on the spawner's thread, and its handle says so;
//! - a local task's runnable dropped away from home is handed to the scheduler once, to be taken
//!   home. If it is dropped away from home again, its home is gone against the rule above. No
//!   thread may drop the future then, and its memory may not be used again, because it was pinned:
//!   the task is leaked, [counted](leaked) and reported, and its handle says that it was cancelled.
//!
//! # Rejected
//!
//! - *Counting every reference*: a wake would need two more read-modify-writes, and a spawn three.
//! - *The registry's reference in the count*: one more read-modify-write on each end; as the
//!   absence of COMPLETE it is free.
//! - *Dropping the future when the last waker goes*: surprises a task that waits for nothing on
//!   purpose, and hides one that does so by mistake.
//! - *A home-thread path without atomics*: measured, it saves 2 to 3 ns of 10 and doubles the
//!   protocol.
//! - *References prepaid by the exchange that begins a poll*, for wakers that are cloned in it:
//!   with clones that cost no exchange at all two tasks that take turns in a channel, which then
//!   cloned two a message, were measured as fast as before. An exchange that nobody contends waits
//!   for nothing, the first poll begins without one, and each clone would ask a thread-local who
//!   is polled.
//! - *Making a task SCHEDULED*: its first run would need an exchange to say what nobody asks.
//! - *Leaving a scheduled task's wake without a write*: the poll could miss what the waker wrote.
//! - *Aborting inline*: destructors on a foreign stack, under foreign locks.
//! - *Notifying and registering flags around the join waker*: with the slot's ownership in the
//!   completing exchange, two read-modify-writes less.

use crate::poll;
use crate::wait::{self, WaitKind};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

mod abort;
mod cell;
mod error;
mod header;
mod id;
mod inbox;
mod join;
mod make;
mod name;
mod queue;
mod reference;
mod registry;
mod runnable;
mod schedule;
mod state;
mod unobserved;
mod verdict;
mod vtable;
mod waker;

pub use self::abort::AbortHandle;
pub use self::error::JoinError;
pub use self::id::TaskId;
pub use self::inbox::{Inbox, Pushed};
pub use self::join::{AbortOnDrop, JoinHandle};
pub use self::make::{
    Options, create, create_local, create_local_unchecked, create_local_unchecked_with,
    create_local_with, create_unchecked, create_unchecked_with, create_with,
};
pub use self::name::TaskName;
pub use self::queue::RunQueue;
pub use self::reference::{TaskInfo, TaskRef, TaskState};
pub use self::registry::{Iter, Listed, Registry};
pub use self::runnable::{Ran, Runnable};
pub use self::schedule::{LocalSchedule, Resident, Schedule, SchedulerRef, WakeCause};
#[doc(hidden)]
pub use self::unobserved::report_callback_panic;
pub use self::unobserved::{Unobserved, UnobservedFailure, leaked, set_unobserved_failure_hook};

/// The task whose poll is under way on this thread, or whose future is being dropped. The root of a
/// `block_on` is none.
#[inline]
#[must_use]
pub fn current_id() -> Option<TaskId> {
    poll::task_stamp().and_then(|stamp| TaskId::from_u64(stamp.task))
}

/// Lets other tasks run: ready at its second poll, which comes after everything that is queued now.
///
/// # Cancel safety
///
/// *Safe*: it holds nothing.
///
/// ```
/// # async fn example(lots: Vec<u64>) -> u64 {
/// let mut sum = 0;
/// for (i, number) in lots.iter().enumerate() {
///     sum += number;
///     if i % 10_000 == 0 {
///         mainspring_core::task::yield_now().await;
///     }
/// }
/// # sum
/// # }
/// ```
#[inline]
pub fn yield_now() -> YieldNow {
    YieldNow { has_yielded: false }
}

/// The future of [`yield_now`].
///
/// # Cancel safety
///
/// *Safe*: it holds nothing.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct YieldNow {
    has_yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.has_yielded {
            return Poll::Ready(());
        }
        self.has_yielded = true;
        poll::note_yield();
        wait::note(WaitKind::Yield, 0);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;

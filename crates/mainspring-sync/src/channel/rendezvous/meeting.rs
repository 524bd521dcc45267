//! Where the ends meet: who waits for whom, all of it under one lock.
//!
//! The receivers are the waiters of a wait list, whose offers mean "look again". The senders are in
//! a list of their own inside its kind, each with its message: they are never offered anything, for
//! what ends their wait has been done to them when they are woken.
//!
//! # Who owns a message when
//!
//! | moment | owner |
//! |---|---|
//! | before the first poll of its send | the send |
//! | parked | the send, lent to whoever holds the lock |
//! | a receiver's look has taken it | that poll, which returns it |
//! | put into a seat | the thread that is blocked there, which does not leave without looking |
//! | refused, taken back | the send's caller |
//!
//! # What a drop and a panic do at each step
//!
//! - A send that is dropped while parked unlinks its letter under the lock; the message is dropped
//!   after that. Dropped after its message was taken: the message counts as sent.
//! - A receiver that is dropped with an offer passes it on if a message is still parked.
//! - A thread whose wait ends early leaves the list first and looks into its seat then.
//! - Wakers are called after the lock was released. The panic of a sender's is contained by the
//!   receiver, which has the message in its hands.
//!
//! # Invariants
//!
//! - **meeting.once** — a message leaves its letter once: to the poll that returns it, into a
//!   blocked thread's seat, or back.
//! - **meeting.pairs** — while receivers wait without an offer, at least as many have one as
//!   messages are parked.
//! - **meeting.seat** — a seat is filled only while its thread waits, nothing is parked and the
//!   channel is open; what is in it is that thread's, whatever ends its wait.
//! - **meeting.counted** — a thread is counted from before its wait until after it: a sender looks
//!   through the receivers for one only if there may be one.
//! - **meeting.closed** — after the end nothing is parked, put into a seat or received from a
//!   letter: what was parked comes back to its sender.
//! - **meeting.last** — the last sender closes the channel and so does the last receiver.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `meeting.ends` | [`drop_sender`] | [`drop_receiver`] | what an end did |
//!
//! Everything else is carried by the lock.
//!
//! # Rejected
//!
//! A wait list for each side: a receiver that parks has to know that no sender does, so one lock
//! would be taken under the other, and a waker called under it. Both sides in one wait list: the
//! oldest sender stands behind all receivers, and finding it is a search. Putting the message of an
//! asynchronous send into a waiting task's future: if the task drops the future, a message is gone
//! that its sender was told is received.

use super::letter::Letter;
use mainspring_core::WakeBatch;
use mainspring_core::list::{List, Node};
use mainspring_core::payload::Steps;
use mainspring_core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Relaxed},
};
use mainspring_core::sync::cell::UnsafeCell;
use mainspring_core::wait_list::{From, Kind, Queue, Scan, WaitList};
use std::fmt;
use std::ptr::NonNull;
use std::task::Waker;

/// How many senders are refused under one lock.
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const BATCH: usize = WakeBatch::CAPACITY;

#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const BATCH: usize = 1;

/// What the ends of a channel share.
pub(crate) type Table<T> = WaitList<Meeting<T>>;

/// The kind of a [`Table`].
pub(crate) struct Meeting<T> {
    /// The senders that wait, oldest first. Touched under the lock.
    parked: UnsafeCell<List<Letter<T>>>,
    pub(super) closed: WaitList<()>,
    sender_count: AtomicUsize,
    receiver_count: AtomicUsize,
    /// How many threads are in a call that blocks: no fewer than wait.
    threads: AtomicUsize,
}

// SAFETY: [letter.owner] what the list leads to is touched under the lock, by whatever thread holds
// it: messages, which have to be `Send`, and wakers, which are.
unsafe impl<T: Send> Send for Meeting<T> {}

// SAFETY: [letter.owner] as for `Send`: what is not atomic is touched under the lock.
unsafe impl<T: Send> Sync for Meeting<T> {}

/// A thread that is in a call that blocks.
pub(super) struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    pub(super) fn new<T>(table: &'a Table<T>) -> Self {
        let threads = &table.kind().threads;
        threads.fetch_add(1, Relaxed);
        Self(threads)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// What a receiver brings along.
pub(crate) struct Seat<T> {
    /// A message that was put here while its thread was blocked.
    pub(super) slot: Option<T>,
    /// The receiver is a thread inside a blocking call, which takes what is put into its slot.
    is_thread: bool,
}

impl<T> Seat<T> {
    pub(super) const fn of_a_task() -> Self {
        Self {
            slot: None,
            is_thread: false,
        }
    }

    pub(super) const fn of_a_thread() -> Self {
        Self {
            slot: None,
            is_thread: true,
        }
    }
}

impl<T> Kind for Meeting<T> {
    type Key = Seat<T>;

    fn returned(&self, queue: &mut Queue<'_, Self>, seat: &Seat<T>, from: From) {
        // CLAIM: [meeting.seat] a filled seat's offer is used up; what it carried is in there.
        if seat.slot.is_none() && is_anybody_parked(queue) {
            // CLAIM: [meeting.pairs]
            queue.wake_one(from);
        }
    }

    fn exchange(&self, _: &mut Queue<'_, Self>, offered: &Seat<T>, _: &Seat<T>) -> bool {
        offered.slot.is_none()
    }
}

/// A message that was taken from its letter, and who is to be told.
#[must_use = "a message, and a sender that sleeps"]
pub(crate) struct Taken<T> {
    pub(super) message: T,
    pub(super) sender: Option<Waker>,
}

/// With one sender and one receiver.
pub(super) fn table<T>() -> Table<T> {
    WaitList::new(Meeting {
        parked: UnsafeCell::new(List::new()),
        closed: WaitList::new(()),
        sender_count: AtomicUsize::new(1),
        receiver_count: AtomicUsize::new(1),
        threads: AtomicUsize::new(0),
    })
}

/// What a wait reason names.
pub(super) fn number<T>(table: &Table<T>) -> u64 {
    std::ptr::from_ref(table).addr() as u64
}

/// `f` does nothing but change the list.
fn with_parked<T, R>(
    queue: &mut Queue<'_, Meeting<T>>,
    f: impl FnOnce(&mut List<Letter<T>>) -> R,
) -> R {
    queue.kind().parked.with_mut(|parked| {
        // SAFETY: [letter.owner] a queue is lent under its list's lock only, and is borrowed here.
        f(unsafe { &mut *parked })
    })
}

pub(super) fn is_anybody_parked<T>(queue: &mut Queue<'_, Meeting<T>>) -> bool {
    !with_parked(queue, |parked| parked.is_empty())
}

/// Takes the message of the sender that has waited longest.
pub(super) fn take_oldest<T>(queue: &mut Queue<'_, Meeting<T>>) -> Option<Taken<T>> {
    if queue.is_closed() {
        // CLAIM: [meeting.closed] what is still here is on its way back.
        return None;
    }
    let node = with_parked(queue, List::pop_front)?;
    // SAFETY: [letter.pinned] it was linked until now, and the lock is held.
    let letter = unsafe { node.as_ref() }.value();
    // SAFETY: [letter.owner] the lock is held.
    let (message, sender) = unsafe {
        letter.open(|inside| {
            inside.is_linked = false;
            (inside.message.take(), inside.waker.take())
        })
    };
    debug_assert!(message.is_some(), "meeting.once: an empty letter is linked");
    message.map(|message| Taken { message, sender })
}

/// Puts a message into the seat of a thread that is blocked, if one is and nobody is in front.
///
/// Looks through the receivers in front of the first such thread, if there is one at all.
pub(super) fn hand<T>(queue: &mut Queue<'_, Meeting<T>>, message: T) -> Result<(), T> {
    if queue.is_closed() || is_anybody_parked(queue) {
        return Err(message);
    }
    // Relaxed is enough: who waits was counted before it took the lock that is held now.
    if queue.kind().threads.load(Relaxed) == 0 {
        debug_assert!(!has_thread(queue), "meeting.counted: a thread waits");
        return Err(message);
    }
    let mut message = Some(message);
    queue.wake_where(|seat| match message {
        None => Scan::Stop,
        Some(_) if !seat.is_thread => Scan::Skip,
        Some(_) => {
            // CLAIM: [meeting.seat] nothing is dropped here: one that waits has an empty seat.
            debug_assert!(seat.slot.is_none(), "meeting.seat: a filled seat waits");
            std::mem::swap(&mut seat.slot, &mut message);
            Scan::Offer
        }
    });
    match message {
        None => Ok(()),
        Some(message) => Err(message),
    }
}

/// O(n): for assertions.
fn has_thread<T>(queue: &mut Queue<'_, Meeting<T>>) -> bool {
    let mut found = false;
    queue.wake_where(|seat| {
        found |= seat.is_thread;
        Scan::Skip
    });
    found
}

/// Links a letter behind the others and tells a receiver.
///
/// # Safety
///
/// The node is in no list, is pinned, and is [unlinked](unlink) before it dies unless it left the
/// list before.
pub(super) unsafe fn park<T>(queue: &mut Queue<'_, Meeting<T>>, node: NonNull<Node<Letter<T>>>) {
    debug_assert!(!queue.is_closed(), "meeting.closed: parked after the end");
    // SAFETY: [letter.pinned] by the contract.
    with_parked(queue, |parked| unsafe { parked.push_back(node) });
    // CLAIM: [meeting.pairs]
    queue.wake_one(From::Oldest);
}

/// Takes a letter out of the list.
///
/// # Safety
///
/// The node is linked in this table's list.
pub(super) unsafe fn unlink<T>(queue: &mut Queue<'_, Meeting<T>>, node: NonNull<Node<Letter<T>>>) {
    // SAFETY: [letter.pinned] by the contract.
    with_parked(queue, |parked| unsafe { parked.remove(node) });
}

/// Closes the channel; what is parked comes back to its senders, and everybody is told.
pub(super) fn close<T>(table: &Table<T>) {
    let mut is_first = false;
    let mut steps = Steps::default();
    steps.run(|| {
        table.with(|queue| {
            is_first = !queue.is_closed();
            if is_first {
                queue.close();
            }
        });
    });
    let mut goes_on = is_first;
    while goes_on {
        let mut batch = WakeBatch::new();
        goes_on = table.with(|queue| refuse_some(queue, &mut batch));
        steps.run(|| batch.wake_all());
    }
    if is_first {
        steps.run(|| table.kind().closed.close());
    }
    steps.finish();
}

/// Lets some of the parked letters go; `true` if there are more.
fn refuse_some<T>(queue: &mut Queue<'_, Meeting<T>>, batch: &mut WakeBatch) -> bool {
    for _ in 0..BATCH {
        let Some(node) = with_parked(queue, List::pop_front) else {
            return false;
        };
        // SAFETY: [letter.pinned] it was linked until now, and the lock is held.
        let letter = unsafe { node.as_ref() }.value();
        // SAFETY: [letter.owner] the lock is held.
        let sender = unsafe {
            letter.open(|inside| {
                inside.is_linked = false;
                inside.waker.take()
            })
        };
        if let Some(sender) = sender {
            let pushed = batch.push(sender);
            debug_assert!(pushed.is_ok(), "meeting.closed: the batch was full");
        }
    }
    is_anybody_parked(queue)
}

/// Whether the end has come.
pub(super) fn is_closed<T>(table: &Table<T>) -> bool {
    table.with(|queue| queue.is_closed())
}

/// How many wait, senders and receivers.
#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
pub(super) fn waiting<T>(table: &Table<T>) -> (usize, usize) {
    table.with(|queue| (with_parked(queue, |parked| parked.len()), queue.len()))
}

pub(super) fn senders<T>(table: &Table<T>) -> usize {
    table.kind().sender_count.load(Relaxed)
}

pub(super) fn receivers<T>(table: &Table<T>) -> usize {
    table.kind().receiver_count.load(Relaxed)
}

pub(super) fn add_sender<T>(table: &Table<T>) {
    table.kind().sender_count.fetch_add(1, Relaxed);
}

/// Counts a sender more if there still is one.
pub(super) fn add_sender_if_any<T>(table: &Table<T>) -> bool {
    let add = |count| (count > 0).then_some(count + 1);
    let count = &table.kind().sender_count;
    count.fetch_update(Relaxed, Relaxed, add).is_ok()
}

pub(super) fn add_receiver<T>(table: &Table<T>) {
    table.kind().receiver_count.fetch_add(1, Relaxed);
}

pub(super) fn drop_sender<T>(table: &Table<T>) {
    // ORDERING: [meeting.ends] AcqRel: the last sender's close comes after what the others did, and
    // brings it to whoever is told of the end. One step weaker, some of it is missing.
    if table.kind().sender_count.fetch_sub(1, AcqRel) == 1 {
        // CLAIM: [meeting.last]
        close(table);
    }
}

pub(super) fn drop_receiver<T>(table: &Table<T>) {
    // ORDERING: [meeting.ends] AcqRel: the last receiver's close comes after what the others did,
    // and brings it to whoever is told of the end. One step weaker, some of it is missing.
    if table.kind().receiver_count.fetch_sub(1, AcqRel) == 1 {
        // CLAIM: [meeting.last]
        close(table);
    }
}

impl<T> fmt::Debug for Meeting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meeting")
            .field("senders", &self.sender_count)
            .field("receivers", &self.receiver_count)
            .finish_non_exhaustive()
    }
}

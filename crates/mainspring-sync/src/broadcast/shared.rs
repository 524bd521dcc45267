//! The shell of a channel: the log behind its lock, the three lists of those who wait, and the
//! paying of what a change owes.

use super::error::{RecvError, TryRecvError};
use super::log::{Cursor, Log, Owed, Refusal, Senders, Sent, Take};
use mainspring_core::payload::Steps;
use mainspring_core::sync::global::AtomicU64;
use mainspring_core::sync::{Arc, Mutex, MutexGuard};
use mainspring_core::wait_list::{From, Kind, Queue, WaitList, Why};
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

/// A message, as all receivers share it.
pub(super) type Message<T> = Arc<T>;

/// The position of a channel's first message: every channel crosses the wrap soon, so that nothing
/// can come to rely on there being none.
const FIRST: u64 = 0u64.wrapping_sub(5);

/// How many messages that nobody needs are taken out under one lock.
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const BATCH: usize = 16;

/// One, so that two messages already take two rounds.
#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const BATCH: usize = 1;

/// What the handles of one channel share.
pub(super) struct Shared<T> {
    /// What the wait reasons and `Debug` call the channel.
    pub(super) number: u64,
    /// Receivers that wait for a message. In an `Arc` of its own for the streams, which own it.
    pub(super) receivers: Arc<WaitList>,
    /// Senders that wait for room; the log, which its kind has to reach, is inside.
    pub(super) senders: WaitList<Room<T>>,
    /// Senders that wait for the end of interest.
    pub(super) watchers: WaitList,
}

impl<T> Shared<T> {
    #[track_caller]
    pub(super) fn new(capacity: usize) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        assert!(
            capacity > 0,
            "MS0016: a broadcast channel needs room for one message at least (docs/errors.md)"
        );
        Self {
            number: NUMBERS.fetch_add(1, Relaxed),
            receivers: Arc::new(WaitList::new(())),
            senders: WaitList::new(Room(Mutex::new(Log::new(capacity, FIRST)))),
            watchers: WaitList::new(()),
        }
    }

    /// The log. Nothing of a user's is run, dropped or cloned while the guard lives; a list's lock
    /// is taken before it, never after.
    pub(super) fn log(&self) -> MutexGuard<'_, Log<Message<T>>> {
        self.senders.kind().0.lock()
    }

    /// Adds a message, unless it would have to wait.
    pub(super) fn send(&self, message: Message<T>) -> Result<(), (Message<T>, Refusal)> {
        let (sent, owed) = self.log().send(message);
        self.conclude(sent, owed)
    }

    /// Adds a message for a permit.
    pub(super) fn send_claimed(&self, message: Message<T>) -> Result<(), (Message<T>, Refusal)> {
        let (sent, owed) = self.log().send_claimed(message);
        self.conclude(sent, owed)
    }

    fn conclude(&self, sent: Sent<Message<T>>, owed: Owed) -> Result<(), (Message<T>, Refusal)> {
        let (result, gone) = match sent {
            Sent::Kept(gone) => (Ok(()), gone),
            Sent::Refused { back, why, gone } => (Err((back, why)), gone),
        };
        self.pay(owed, gone);
        result
    }

    /// Takes the next thing that a receiver is to learn. With `waits`, it is counted on that the
    /// receiver waits if there is nothing: call it in a look then.
    pub(super) fn take(&self, cursor: &mut Cursor, waits: bool) -> (Take<Message<T>>, Owed) {
        let mut log = self.log();
        let (taken, owed) = log.take(cursor);
        if waits && taken.is_empty() {
            // CLAIM: [broadcast.flags] under the lock under which it found nothing.
            log.note_receiver_waits();
        }
        (taken, owed)
    }

    /// Closes the channel, for good.
    pub(super) fn close(&self) {
        let owed = self.log().close();
        self.pay(owed, None);
    }

    /// Pays what a change owes. Everybody gets his due, whatever panics; the first panic is
    /// resumed then.
    pub(super) fn pay(&self, owed: Owed, gone: Option<Message<T>>) {
        if owed.is_nothing() && gone.is_none() {
            return;
        }
        let mut steps = Steps::default();
        if owed.receivers {
            steps.run(|| self.receivers.wake_all());
        }
        match owed.senders {
            Senders::Leave => {}
            Senders::Serve => steps.run(|| {
                self.senders.with(|queue| queue.kind().serve(queue));
            }),
            Senders::Release => steps.run(|| {
                self.senders.with(|queue| queue.kind().release(queue));
            }),
        }
        if owed.watchers {
            steps.run(|| self.watchers.wake_all());
        }
        steps.run(|| drop(gone));
        if owed.garbage {
            self.collect(&mut steps);
        }
        steps.finish();
    }

    /// Drops the messages that nobody needs.
    fn collect(&self, steps: &mut Steps) {
        loop {
            let mut batch = [const { None }; BATCH];
            let mut log = self.log();
            for place in &mut batch {
                *place = log.collect();
            }
            drop(log);
            let is_last = batch[BATCH - 1].is_none();
            for message in batch.into_iter().flatten() {
                // CLAIM: [broadcast.outside] the guard is gone.
                steps.run(|| drop(message));
            }
            if is_last {
                return;
            }
        }
    }
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = self.log();
        let (capacity, len) = (log.capacity(), log.len());
        let (receivers, closed) = (log.receivers(), log.is_closed());
        drop(log);
        f.debug_struct("Channel")
            .field("number", &self.number)
            .field("capacity", &capacity)
            .field("len", &len)
            .field("receivers", &receivers)
            .field("closed", &closed)
            .finish_non_exhaustive()
    }
}

/// The kind of the list of senders that wait for room. What is offered is room for one message,
/// set aside in the log until it is taken up or comes back.
pub(super) struct Room<T>(Mutex<Log<Message<T>>>);

impl<T> Room<T> {
    /// What a sender's waiter looks for: a permit. Without `may_claim` it only takes its place in
    /// the queue.
    pub(super) fn look(
        &self,
        queue: &mut Queue<'_, Self>,
        why: Why,
        may_claim: bool,
    ) -> Option<Result<(), Refusal>> {
        let mut log = self.0.lock();
        let claimed = match why {
            Why::Offered(_) => log.claim_offered(),
            _ if !may_claim => Err(Refusal::Full),
            // CLAIM: [broadcast.fifo] nobody is in front of it.
            Why::Again => log.claim(),
            Why::First | Why::Released if queue.is_empty() => log.claim(),
            Why::First | Why::Released => Err(log.refusal().unwrap_or(Refusal::Full)),
        };
        if claimed == Err(Refusal::Full) {
            // CLAIM: [broadcast.flags] under the lock under which it found no room.
            log.note_senders_wait(true);
            return None;
        }
        drop(log);
        self.serve(queue);
        Some(claimed)
    }

    /// Offers what room there is to those who wait.
    fn serve(&self, queue: &mut Queue<'_, Self>) {
        let mut log = self.0.lock();
        while !queue.is_empty() && log.offer() {
            let offered = queue.wake_one(From::Oldest);
            debug_assert!(offered, "broadcast.fifo: the queue was not empty");
        }
        log.note_senders_wait(!queue.is_empty());
    }

    /// Releases everybody: there is a refusal to be heard.
    fn release(&self, queue: &mut Queue<'_, Self>) {
        queue.wake_all();
        self.0.lock().note_senders_wait(false);
    }
}

impl<T> Kind for Room<T> {
    type Key = ();

    fn returned(&self, queue: &mut Queue<'_, Self>, (): &(), _: From) {
        self.0.lock().withdraw();
        self.serve(queue);
    }

    fn left(&self, queue: &mut Queue<'_, Self>, (): &()) {
        // It may have been in front of others without a need to wait: on a spent budget.
        self.serve(queue);
    }
}

impl<M> Take<M> {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }
}

impl<T: Clone> Take<Message<T>> {
    /// The message itself: taken out if this is its last receiver, cloned if not. Runs code of the
    /// user's.
    pub(super) fn open(self) -> Result<T, TryRecvError> {
        match self {
            Self::Got(message) => Ok(match Message::try_unwrap(message) {
                Ok(value) => value,
                Err(shared) => T::clone(&shared),
            }),
            Self::Lagged(lost) => Err(TryRecvError::Lagged(lost)),
            Self::Cut => Err(TryRecvError::Disconnected),
            Self::Empty => Err(TryRecvError::Empty),
            Self::Closed => Err(TryRecvError::Closed),
        }
    }

    /// As [`open`](Self::open), for what ends a wait.
    pub(super) fn open_waited(self) -> Result<T, RecvError> {
        self.open().map_err(|error| match error {
            TryRecvError::Lagged(lost) => RecvError::Lagged(lost),
            TryRecvError::Disconnected => RecvError::Disconnected,
            TryRecvError::Closed => RecvError::Closed,
            TryRecvError::Empty => unreachable!("an empty channel ends no wait"),
        })
    }
}

//! What the ends of a channel share: the storage, who waits for what, and how many ends there are.
//!
//! # Invariants
//!
//! - **channel.room** — whoever makes room while senders wait grants it to the one that waited
//!   longest, as a permit; what comes back is granted on, or is room again.
//! - **channel.notes** — a note in the index words that somebody waits is taken back only under
//!   that list's lock and when nobody does; one that is left behind costs one visit to the lock. It
//!   is left where somebody was woken, who is likely to wait again.
//! - **channel.last** — the last sender closes the channel, the last receiver closes it for permits
//!   too and drops what is in it, once each.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `channel.ends` | [`Shared::drop_sender`] | [`Shared::drop_receiver`] | what an end did |
//!
//! # Rejected
//!
//! One list for both ends: permits make senders and receivers wait at once, and each would have to
//! look through the other's. Handing a waiting sender's message over in its absence: a send that is
//! dropped, having lost a race, would have been sent all the same. An offer to a sender that only
//! means "look again": a newcomer could take the room first.

use super::ring::{Pop, Push};
use super::side::Side;
use super::store::Store;
use super::words::{Closing, Freed, OnPark, Reserve, Told, Turn, Words};
use mainspring_core::payload::{Steps, absorb};
use mainspring_core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Relaxed},
};
use mainspring_core::sync::{hint, thread};
use mainspring_core::wait_list::{From, Kind, Queue, WaitList, Why};

/// How often a call that does not wait looks again when a peer is in the middle of something.
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
const PATIENCE: u32 = 64;

#[cfg(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle))]
const PATIENCE: u32 = 1;

/// The kind of the senders' list: an offer carries a held permit.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Permits that came back and that nobody waits for. Changed under the lock.
    spare: AtomicUsize,
    /// How often the note that senders wait was taken back. Changed under the lock.
    cleared: AtomicUsize,
}

impl Room {
    /// The permits that came back. Under the lock.
    fn take_spare(&self) -> usize {
        if self.spare.load(Relaxed) == 0 {
            return 0;
        }
        self.spare.swap(0, Relaxed)
    }
}

impl Kind for Room {
    /// [`Room::cleared`] when the waiter parked.
    type Key = usize;

    /// By a message that goes before all.
    const IS_TAKEN_BACK: bool = true;

    const IS_REVOCABLE: bool = false;

    fn returned(&self, queue: &mut Queue<'_, Self>, _: &usize, from: From) {
        // CLAIM: [channel.room] the permit goes to the next, or is room again in `settle`.
        if !queue.wake_one(from) {
            self.spare.fetch_add(1, Relaxed);
        }
    }
}

/// What a sender found that asked for room under the lock.
#[must_use = "a grant is a permit"]
pub(crate) enum Grant {
    Held,
    /// There is room, but a receiver is still reading the message that was there.
    Busy,
    /// The channel is closed; if a permit had been granted, it was given back.
    Closed(Told),
}

/// What the ends share.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    pub(super) store: Store<T>,
    pub(super) senders: WaitList<Room>,
    pub(super) receivers: WaitList<()>,
    pub(super) closed: WaitList<()>,
    pub(super) sending: Side,
    pub(super) receiving: Side,
    sender_count: AtomicUsize,
    receiver_count: AtomicUsize,
}

impl<T> Shared<T> {
    /// With one sender and one receiver.
    pub(crate) fn new(store: Store<T>) -> Self {
        Self {
            store,
            senders: WaitList::new(Room::default()),
            receivers: WaitList::new(()),
            closed: WaitList::new(()),
            sending: Side::new(),
            receiving: Side::new(),
            sender_count: AtomicUsize::new(1),
            receiver_count: AtomicUsize::new(1),
        }
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Words {
        self.store.words()
    }

    /// What a wait reason names.
    pub(crate) fn number(&self) -> u64 {
        std::ptr::from_ref(self).addr() as u64
    }

    /// Sends if there is room and no sender waits.
    #[inline(always)]
    pub(crate) fn push(&self, value: T) -> Push<T> {
        let push = self.store.push(value, Turn::Newcomer);
        if let Push::Done(told) = push {
            self.tell(told);
        }
        push
    }

    /// As [`push`](Self::push), also where the note that a sender waits was left behind.
    #[inline(always)]
    pub(crate) fn push_patiently(&self, value: T) -> Push<T> {
        match self.push(value) {
            Push::Busy(value) | Push::Queue(value) => self.push_again(value),
            other => other,
        }
    }

    #[inline(never)]
    fn push_again(&self, mut value: T) -> Push<T> {
        for _ in 0..PATIENCE {
            value = match self.push(value) {
                Push::Busy(value) => value,
                Push::Queue(value) if self.forget_senders() => value,
                other => return other,
            };
            hint::spin_loop();
        }
        Push::Full(value)
    }

    /// Holds room if there is some and no sender waits.
    pub(crate) fn reserve_patiently(&self) -> Reserve {
        for _ in 0..PATIENCE {
            match self.store.reserve(Turn::Newcomer) {
                Reserve::Busy => {}
                Reserve::Queue if self.forget_senders() => {}
                other => return other,
            }
            hint::spin_loop();
        }
        Reserve::Full
    }

    #[inline]
    pub(crate) fn reserve(&self) -> Reserve {
        self.store.reserve(Turn::Newcomer)
    }

    /// Sends by way of a held permit.
    pub(crate) fn redeem(&self, value: T) -> Result<(), T> {
        self.store.redeem(value).map(|told| self.tell(told))
    }

    /// Gives a held permit back.
    pub(crate) fn release(&self) {
        let Freed { senders_wait, told } = self.store.release();
        self.tell(told);
        if senders_wait {
            self.settle();
        }
    }

    /// Takes the oldest message, if there is one. The caller settles if a sender waits.
    #[inline(always)]
    pub(crate) fn pop_unsettled(&self) -> Pop<T> {
        self.store.pop()
    }

    /// Takes the oldest message, if there is one.
    #[inline(always)]
    pub(crate) fn pop(&self) -> Pop<T> {
        let pop = self.store.pop();
        if let Pop::Got(_, true) = pop {
            self.settle_with_message();
        }
        pop
    }

    /// As [`pop`](Self::pop); waits a moment for a message that is being written.
    #[inline(always)]
    pub(crate) fn pop_patiently(&self) -> Pop<T> {
        match self.pop() {
            Pop::Busy => self.pop_again(),
            other => other,
        }
    }

    #[inline(never)]
    fn pop_again(&self) -> Pop<T> {
        for turn in 0..PATIENCE {
            match self.pop() {
                Pop::Busy if 2 * turn + 1 < PATIENCE => hint::spin_loop(),
                Pop::Busy => thread::yield_now(),
                other => return other,
            }
        }
        Pop::Empty
    }

    /// Wakes those whom a message, or the end, concerns.
    #[inline(always)]
    pub(crate) fn tell(&self, told: Told) {
        if told != Told::Nobody {
            self.tell_receivers(told == Told::Receivers);
        }
    }

    #[inline(never)]
    fn tell_receivers(&self, all: bool) {
        self.receivers.with(|queue| {
            if all {
                queue.wake_all();
            } else if queue.release_one(From::Oldest) {
                self.receiving.woken(queue.is_empty());
            } else {
                self.receiving.left();
                // CLAIM: [channel.notes]
                self.words().no_receiver_waits();
            }
        });
    }

    /// Grants what room there is to the senders that wait, oldest first.
    #[inline(never)]
    pub(crate) fn settle(&self) {
        let told = self.senders.with(|queue| {
            let mut told = Told::Nobody;
            for _ in 0..queue.kind().take_spare() {
                if self.store.release().told == Told::Receivers {
                    told = Told::Receivers;
                }
            }
            let mut grants = 0;
            // CLAIM: [channel.room] as many as there is room for, and no more.
            while !queue.is_empty() && self.store.reserve(Turn::Queued) == Reserve::Held {
                queue.wake_one(From::Oldest);
                grants += 1;
            }
            if grants == 0 {
                self.forget_if_none(queue);
            } else {
                self.sending.woken(queue.is_empty());
            }
            told
        });
        self.tell(told);
    }

    /// As [`settle`](Self::settle), by a receiver that has a message in its hands: a sender's waker
    /// that panics must not take it along. The hook has reported that panic.
    #[inline(never)]
    pub(crate) fn settle_with_message(&self) {
        absorb(|| self.settle());
    }

    /// Settles if a permit came back that nobody waited for.
    pub(crate) fn settle_spare(&self) {
        if self.senders.kind().spare.load(Relaxed) != 0 {
            self.settle();
        }
    }

    /// Takes the senders' note back if it was left behind.
    #[inline(never)]
    fn forget_senders(&self) -> bool {
        self.senders.with(|queue| self.forget_if_none(queue))
    }

    pub(super) fn forget_if_none(&self, queue: &mut Queue<'_, Room>) -> bool {
        let is_empty = queue.is_empty();
        if is_empty {
            self.sending.left();
            // CLAIM: [channel.notes]
            queue.kind().cleared.fetch_add(1, Relaxed);
            self.words().no_sender_waits();
        }
        is_empty
    }

    /// What an offer is worth to the sender that takes it.
    pub(crate) fn granted(&self) -> Grant {
        if self.words().is_closed() {
            Grant::Closed(self.store.release().told)
        } else {
            Grant::Held
        }
    }

    /// What a sender finds that asks in its turn, under the senders' lock; `None`: it waits.
    pub(crate) fn look_for_room(
        &self,
        queue: &mut Queue<'_, Room>,
        parked: &mut usize,
        why: Why,
    ) -> Option<Grant> {
        if let Why::Offered(_) = why {
            return Some(self.granted());
        }
        let noted = queue.kind().cleared.load(Relaxed);
        if why == Why::First && !queue.is_empty() && !self.words().is_closed() {
            *parked = noted;
            return None;
        }
        // Where the note stands, the words say that there is no room, without a look at the slots.
        let mut looks = !self.words().is_sender_noted();
        loop {
            let found = if looks {
                self.store.reserve(Turn::Queued)
            } else {
                Reserve::Full
            };
            looks = true;
            match found {
                Reserve::Held => {
                    self.forget_if_none(queue);
                    return Some(Grant::Held);
                }
                Reserve::Closed => return Some(Grant::Closed(Told::Nobody)),
                // The note has stood since it parked: the receiver at work has seen it.
                Reserve::Busy if why == Why::Again && *parked == noted => return None,
                Reserve::Busy => return Some(Grant::Busy),
                Reserve::Full | Reserve::Queue => {}
            }
            if self.words().sender_parks() == OnPark::Wait {
                self.sending.parks();
                *parked = noted;
                return None;
            }
        }
    }

    /// What a receiver finds under the receivers' lock; `None`: it waits.
    pub(crate) fn look_for_message(&self) -> Option<Pop<T>> {
        // Whoever comes here has found nothing just now.
        while self.words().receiver_parks() == OnPark::Look {
            match self.store.pop() {
                Pop::Empty => {}
                other => return Some(other),
            }
        }
        self.receiving.parks();
        None
    }

    /// Passes on the notification that a receiver had and did not use.
    pub(crate) fn wake_receiver(&self) {
        self.receivers.with(|queue| queue.release_one(From::Oldest));
    }

    pub(crate) fn close(&self) {
        let closing = self.words().close();
        self.end(closing);
    }

    /// Wakes everybody, if the channel was closed just now.
    fn end(&self, closing: Closing) {
        if closing == Closing::Again {
            return;
        }
        let mut steps = Steps::default();
        steps.run(|| self.senders.close());
        steps.run(|| self.tell_receivers(true));
        steps.run(|| self.closed.close());
        steps.finish();
    }

    /// How many wait, senders and receivers.
    #[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (
            self.senders.with(|queue| queue.len()),
            self.receivers.with(|queue| queue.len()),
        )
    }

    pub(crate) fn senders(&self) -> usize {
        self.sender_count.load(Relaxed)
    }

    pub(crate) fn receivers(&self) -> usize {
        self.receiver_count.load(Relaxed)
    }

    pub(crate) fn add_sender(&self) {
        self.sender_count.fetch_add(1, Relaxed);
    }

    /// Counts a sender more if there still is one.
    pub(crate) fn add_sender_if_any(&self) -> bool {
        let add = |count| (count > 0).then_some(count + 1);
        self.sender_count
            .fetch_update(Relaxed, Relaxed, add)
            .is_ok()
    }

    pub(crate) fn add_receiver(&self) {
        self.receiver_count.fetch_add(1, Relaxed);
    }

    pub(crate) fn drop_sender(&self) {
        // ORDERING: [channel.ends] AcqRel: the last sender's close comes after what the others
        // did, and brings it to whoever is told of the end. One step weaker, some of it is missing.
        if self.sender_count.fetch_sub(1, AcqRel) == 1 {
            // CLAIM: [channel.last]
            self.close();
        }
    }

    pub(crate) fn drop_receiver(&self) {
        // ORDERING: [channel.ends] AcqRel: the last receiver's close comes after what the others
        // did, and brings it to whoever is told of the end. One step weaker, some of it is missing.
        if self.receiver_count.fetch_sub(1, AcqRel) == 1 {
            self.drop_messages();
        }
    }

    /// Closes the channel for permits too, and drops what is in it.
    fn drop_messages(&self) {
        // CLAIM: [channel.last] no message is claimed from here on.
        let closing = self.words().leave();
        let mut steps = Steps::default();
        steps.run(|| self.end(closing));
        loop {
            match self.store.pop() {
                Pop::Got(value, _) => steps.run(|| drop(value)),
                // A sender is between its claim and the end of its write, a move of one message:
                // as short as the wait for a lock, and without it the message would stay.
                Pop::Busy => thread::yield_now(),
                Pop::Empty | Pop::Closed => break,
            }
        }
        steps.finish();
    }
}

//! Messages and wakers that come back to the channel, or panic.

use super::support::{Counter, now, poll, poll_once};
use crate::broadcast::{LossySender, Receiver, Slow, TryRecvError, lossless, lossy};
use mainspring_core::budget;
use mainspring_core::poll::root;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Poll, RawWaker, RawWakerVTable, Wake, Waker};

/// A message that sends and subscribes on its own channel whenever it is cloned or dropped.
struct Meddler {
    sender: LossySender<Meddler>,
    is_quiet: Cell<bool>,
    meddled: Arc<AtomicUsize>,
}

impl Meddler {
    fn new(sender: &LossySender<Self>, meddled: &Arc<AtomicUsize>) -> Self {
        Self {
            sender: sender.clone(),
            is_quiet: Cell::new(false),
            meddled: Arc::clone(meddled),
        }
    }

    fn meddle(&self) {
        if self.is_quiet.get() {
            return;
        }
        self.meddled.fetch_add(1, Relaxed);
        let quiet = Self::new(&self.sender, &self.meddled);
        quiet.is_quiet.set(true);
        drop(self.sender.send(quiet));
        drop(self.sender.subscribe());
        let _ = self.sender.len();
    }
}

impl Clone for Meddler {
    fn clone(&self) -> Self {
        self.meddle();
        let clone = Self::new(&self.sender, &self.meddled);
        clone.is_quiet.set(self.is_quiet.get());
        clone
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.meddle();
    }
}

// S5; B125. A lock held over one of these would be a deadlock.
// WITNESS: broadcast.outside
#[test]
fn messages_that_use_their_channel_find_it_unlocked() {
    let (sender, mut first) = lossy(2);
    let meddled = Arc::new(AtomicUsize::new(0));
    let mut second = first.clone();
    let third = first.clone();
    // Overtaken, cloned, taken out, dropped with a receiver, refused.
    for _ in 0..4 {
        sender.send(Meddler::new(&sender, &meddled)).ok().unwrap();
    }
    while let Ok(_) | Err(TryRecvError::Lagged(_)) = first.try_recv() {}
    let _ = second.try_recv();
    let _ = second.try_recv();
    drop(third);
    drop(second);
    drop(first);
    drop(sender.send(Meddler::new(&sender, &meddled)));
    assert_eq!(sender.len(), 0);
    assert!(meddled.load(Relaxed) > 5);
}

/// A waker that uses the channel whenever it is cloned, woken or dropped.
struct Nosy(LossySender<u8>);

impl Nosy {
    const TABLE: RawWakerVTable =
        RawWakerVTable::new(Self::clone, Self::wake, Self::wake_by_ref, Self::drop);

    fn waker(sender: &LossySender<u8>) -> Waker {
        let data = Arc::into_raw(Arc::new(Self(sender.clone())));
        // SAFETY: the table's functions keep the contract of an `Arc` turned into a pointer.
        unsafe { Waker::from_raw(RawWaker::new(data.cast(), &Self::TABLE)) }
    }

    fn look(data: *const ()) {
        // SAFETY: the waker that calls holds a reference.
        let this = unsafe { &*data.cast::<Self>() };
        drop(this.0.subscribe());
    }

    fn clone(data: *const ()) -> RawWaker {
        Self::look(data);
        // SAFETY: `data` came from `Arc::into_raw`.
        unsafe { Arc::increment_strong_count(data.cast::<Self>()) };
        RawWaker::new(data, &Self::TABLE)
    }

    fn wake(data: *const ()) {
        Self::look(data);
        Self::drop(data);
    }

    fn wake_by_ref(data: *const ()) {
        Self::look(data);
    }

    fn drop(data: *const ()) {
        Self::look(data);
        // SAFETY: `data` came from `Arc::into_raw`, and this reference ends here.
        unsafe { Arc::decrement_strong_count(data.cast::<Self>()) };
    }
}

// S5; B124
#[test]
fn wakers_that_use_the_channel_find_it_unlocked() {
    let (sender, mut receiver) = lossy(1);
    let waker = Nosy::waker(&sender);
    {
        let mut waits = pin!(receiver.recv());
        let mut closed = pin!(sender.closed());
        assert!(poll(waits.as_mut(), &waker).is_pending());
        assert!(poll(closed.as_mut(), &waker).is_pending());
        assert!(poll_once(waits.as_mut()).is_pending());
        assert!(poll(waits.as_mut(), &waker).is_pending());
        sender.send(1).unwrap();
        assert_eq!(poll(waits.as_mut(), &waker), Poll::Ready(Ok(1)));
    }
    {
        let mut waits = pin!(receiver.recv());
        assert!(poll(waits.as_mut(), &waker).is_pending());
    }
    sender.close();
    drop(waker);
}

struct Explosive;

impl Wake for Explosive {
    fn wake(self: Arc<Self>) {
        panic!("a waker that panics");
    }
}

// S11; B127
#[test]
fn waker_that_panics_keeps_nobody_from_being_woken() {
    let (sender, receiver) = lossless(1);
    let mut receivers = vec![receiver; 3];
    let mut waiting: Vec<_> = receivers
        .iter_mut()
        .map(|one| Box::pin(one.recv()))
        .collect();
    let (counter, waker) = Counter::new();
    let explosive = Waker::from(Arc::new(Explosive));
    assert!(poll(waiting[0].as_mut(), &explosive).is_pending());
    assert!(poll(waiting[1].as_mut(), &waker).is_pending());
    assert!(poll(waiting[2].as_mut(), &waker).is_pending());
    let sent = catch_unwind(AssertUnwindSafe(|| sender.try_send(1)));
    assert!(sent.is_err());
    assert_eq!(counter.calls(), 2);
    for one in &mut waiting {
        assert_eq!(poll(one.as_mut(), &waker), Poll::Ready(Ok(1)));
    }
    drop(waiting);
    assert_eq!(sender.try_send(2), Ok(()));
}

// S11: nor does it take along the message whose room it is told of
#[test]
fn waker_that_panics_takes_no_message_along() {
    let explosive = Waker::from(Arc::new(Explosive));
    for by_future in [false, true] {
        let (sender, mut receiver) = lossless(1);
        sender.try_send(0).unwrap();
        let mut send = Box::pin(sender.send(1));
        assert!(poll(send.as_mut(), &explosive).is_pending());
        let received = if by_future {
            let mut recv = Box::pin(receiver.recv());
            poll(recv.as_mut(), Waker::noop())
        } else {
            Poll::Ready(Ok(receiver.try_recv().unwrap()))
        };
        assert_eq!(received, Poll::Ready(Ok(0)));
        assert!(poll(send.as_mut(), &explosive).is_ready());
        assert_eq!(receiver.try_recv(), Ok(1));
    }
}

// S11: nor does it take a permit along that was just claimed
#[test]
fn waker_that_panics_while_another_claims_loses_no_room() {
    let (sender, mut receiver) = lossless(2);
    let mut first = Box::pin(sender.send(1));
    root(|| {
        while !budget::is_spent() {
            budget::consume();
        }
        assert!(poll_once(first.as_mut()).is_pending());
    });
    let mut second = Box::pin(sender.send(2));
    let explosive = Waker::from(Arc::new(Explosive));
    assert!(poll(second.as_mut(), &explosive).is_pending());
    // It takes room, offers the rest to the second, and wakes it.
    let polled = catch_unwind(AssertUnwindSafe(|| poll_once(first.as_mut())));
    assert!(polled.is_err());
    assert_eq!(poll_once(second.as_mut()), Poll::Ready(Ok(())));
    assert_eq!(poll_once(first.as_mut()), Poll::Ready(Ok(())));
    assert_eq!(receiver.try_recv(), Ok(2));
    assert_eq!(receiver.try_recv(), Ok(1));
    sender.close();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
}

/// Counts its drops, and panics in each while it is armed.
struct Grenade {
    drops: Arc<AtomicUsize>,
    armed: bool,
}

impl Clone for Grenade {
    fn clone(&self) -> Self {
        assert!(!self.armed, "a message that cannot be cloned");
        Self {
            drops: Arc::clone(&self.drops),
            armed: false,
        }
    }
}

impl Drop for Grenade {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
        assert!(!self.armed, "a message that cannot be dropped");
    }
}

fn grenade(drops: &Arc<AtomicUsize>, armed: bool) -> Grenade {
    Grenade {
        drops: Arc::clone(drops),
        armed,
    }
}

// S11
#[test]
fn message_that_panics_in_its_drop_leaves_the_others_and_the_counts_right() {
    let drops = Arc::new(AtomicUsize::new(0));
    let (sender, mut receiver) = lossless(40);
    let slow = sender.subscribe();
    for number in 0..40 {
        sender
            .try_send(grenade(&drops, number % 2 == 0))
            .ok()
            .unwrap();
    }
    let mut waits = pin!(sender.send(grenade(&drops, false)));
    let (counter, waker) = Counter::new();
    assert!(poll(waits.as_mut(), &waker).is_pending());
    drop(slow);
    assert_eq!((sender.len(), counter.calls()), (40, 0));
    let old = std::mem::replace(&mut receiver, sender.subscribe());
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(old)));
    assert!(dropped.is_err());
    assert_eq!(drops.load(Relaxed), 40);
    // Everybody got his due.
    assert_eq!((sender.len(), counter.calls()), (0, 1));
    assert!(poll(waits.as_mut(), &waker).is_ready());
    assert_eq!(sender.receiver_count(), 1);
    drop(receiver.try_recv().ok().unwrap());
    assert_eq!(drops.load(Relaxed), 41);
}

// S11: the counts are right before the message's code runs
#[test]
fn message_that_panics_when_cloned_is_left_behind() {
    let drops = Arc::new(AtomicUsize::new(0));
    let (sender, mut receiver) = lossless(2);
    let mut other = receiver.clone();
    sender.try_send(grenade(&drops, true)).ok().unwrap();
    sender.try_send(grenade(&drops, false)).ok().unwrap();
    let received = catch_unwind(AssertUnwindSafe(|| receiver.try_recv()));
    assert!(received.is_err());
    assert!(receiver.try_recv().is_ok());
    assert!(matches!(receiver.try_recv(), Err(TryRecvError::Empty)));
    // The last one gets the message itself.
    let mut armed = other.try_recv().ok().unwrap();
    assert!(armed.armed);
    armed.armed = false;
    assert!(other.try_recv().is_ok());
    drop(armed);
    assert_eq!(drops.load(Relaxed), 3);
}

/// Counts its clones.
struct Counted(Arc<AtomicUsize>);

impl Clone for Counted {
    fn clone(&self) -> Self {
        self.0.fetch_add(1, Relaxed);
        Self(Arc::clone(&self.0))
    }
}

// The last receiver takes the message itself, wherever garbage of others is in front.
#[test]
fn last_receiver_needs_no_clone() {
    let clones = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = lossless(4);
    let mut receivers = vec![receiver; 3];
    receivers.push(sender.subscribe_with(Slow::Latest));
    for _ in 0..4 {
        sender.try_send(Counted(Arc::clone(&clones))).ok().unwrap();
    }
    let read = |receiver: &mut Receiver<Counted>| while receiver.try_recv().is_ok() {};
    for receiver in &mut receivers[..3] {
        read(receiver);
    }
    // Two of three readers of each message; of the last, which is wanted once more, all three.
    assert_eq!(clones.load(Relaxed), 9);
    read(&mut receivers[3]);
    assert_eq!(clones.load(Relaxed), 9);
    assert_eq!(sender.len(), 0);
}

// S9: dropped with the channel, exactly once
#[test]
fn messages_left_over_go_with_the_last_handle() {
    let drops = Arc::new(AtomicUsize::new(0));
    let (sender, mut receiver) = lossless(4);
    for _ in 0..3 {
        now(sender.send(grenade(&drops, false))).ok().unwrap();
    }
    drop(receiver.try_recv());
    let mut waits = Box::pin(sender.send(grenade(&drops, false)));
    assert!(poll_once(waits.as_mut()).is_ready());
    drop(waits);
    drop(sender);
    assert_eq!(drops.load(Relaxed), 1);
    drop(receiver);
    assert_eq!(drops.load(Relaxed), 4);
}

//! What a channel owes the values that it carries.

use super::parcel::{Parcel, Parcels};
use super::trail::ensure;
use super::world::survives;
use super::{Check, Miss, Trail};
use crate::block::block_for;
use crate::hand::{Boxed, Hand};
use crate::history::History;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};
use mainspring_core::random::Random;
use std::panic::resume_unwind;
use std::task::Poll;
use std::thread;
use std::time::Duration;

/// What a [`Channel`] can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct ChannelShape {
    capacity: usize,
    pub(super) receivers: usize,
    pub(super) closes: bool,
    pub(super) senders_wait: bool,
    pub(super) takes_from_senders: bool,
}

impl ChannelShape {
    const fn with(capacity: usize, receivers: usize) -> Self {
        Self {
            capacity,
            receivers,
            closes: false,
            senders_wait: false,
            takes_from_senders: false,
        }
    }

    /// Holds so many values, and any number of tasks may receive at the same time.
    pub const fn many_receivers(capacity: usize) -> Self {
        Self::with(capacity, usize::MAX)
    }

    /// Holds so many values; one task receives at a time.
    pub const fn one_receiver(capacity: usize) -> Self {
        Self::with(capacity, 1)
    }

    /// It can be closed so that what was sent before is still received.
    pub const fn closes(mut self) -> Self {
        self.closes = true;
        self
    }

    /// Senders can wait for room: [`send`](Channel::send). One that is dropped before it is ready
    /// has not sent.
    pub const fn senders_wait(mut self) -> Self {
        self.senders_wait = true;
        self
    }

    /// As [`senders_wait`](Self::senders_wait), but who receives takes the value out of a sender
    /// that waits: one that is dropped after that has sent, though it was not ready.
    pub const fn takes_from_senders(mut self) -> Self {
        self.takes_from_senders = true;
        self.senders_wait()
    }
}

/// What a send came to: done; or refused, and its value handed back, or dropped where it is not.
pub type Sent = Result<(), Option<Parcel>>;

/// A channel in the hands of the suite, with both of its ends.
pub trait Channel: Send + Sync + Sized + 'static {
    /// What it can do. It holds three values or more, or none.
    fn shape() -> ChannelShape;

    /// A fresh one, empty.
    fn new() -> Self;

    /// Sends without waiting; hands the value back if there is no room, or nobody to receive.
    ///
    /// It must not hold a lock of its own while it calls the channel, which drops values.
    fn try_send(&self, parcel: Parcel) -> Result<(), Parcel>;

    /// A future that sends, and waits until there is room; `None` if the shape does not say that
    /// [there is such a send](ChannelShape::senders_wait).
    ///
    /// It must hold nothing but the channel's own future besides an `Arc` of this and, before that
    /// future has it, the value.
    fn send(self: &Arc<Self>, parcel: Parcel) -> Option<Boxed<Sent>> {
        drop(parcel);
        None
    }

    /// A future that receives one; `None` if there will never be another.
    ///
    /// It must do nothing before it is first polled, and hold nothing but the channel's own future
    /// besides an `Arc` of this.
    fn recv(self: &Arc<Self>) -> Boxed<Option<Parcel>>;

    /// Closes it, if the shape says that it [can be](ChannelShape::closes): what was sent before is
    /// received, what comes after is handed back.
    fn close(&self) {}

    /// Drops the receiving end, the last one there is, while the sending end lives.
    fn drop_receiver(&self);
}

type Receive = Hand<Option<Parcel>>;

pub(super) fn receive<C: Channel>(channel: &Arc<C>) -> Receive {
    Hand::new(channel.recv())
}

/// How many values a case puts into it; it does not apply if none fits.
fn count<C: Channel>() -> Result<usize, Miss> {
    match C::shape().capacity {
        0 => Err(Miss::DoesNotApply("it holds no value".to_owned())),
        capacity => Ok(capacity.min(5)),
    }
}

fn send<C: Channel>(channel: &C, parcel: Parcel) -> Check {
    let sent = channel.try_send(parcel).map_err(Parcel::defused);
    ensure!(sent.is_ok(), "a value was refused though there is room");
    Ok(())
}

/// What is sent is received, once, in the order in which it was sent.
pub(super) fn values_arrive_in_order<C: Channel>(trail: &Trail) -> Check {
    let (channel, parcels) = (Arc::new(C::new()), Parcels::new());
    let history = History::new();
    let (mut producer, consumer) = (history.producer(), history.consumer());
    // More laps than a ring has slots.
    for lap in 0..40 {
        trail.at(format_args!("lap {lap} of sending and receiving"));
        for _ in 0..count::<C>()? {
            send(&*channel, parcels.plain(producer.stamp()))?;
        }
        for _ in 0..count::<C>()? {
            let Poll::Ready(Some(parcel)) = receive(&channel).poll() else {
                return Err(Miss::Fails("a value that was sent is not there".to_owned()));
            };
            consumer.received(parcel.stamp());
        }
    }
    let polled = receive(&channel).poll();
    ensure!(polled.is_pending(), "an empty channel gave {polled:?}");
    let verdict = history.verdict();
    ensure!(verdict.is_clean(), "{verdict}");
    drop(channel);
    ensure!(parcels.alive() == 0, "{} values are left", parcels.alive());
    Ok(())
}

/// A receive that is dropped in any state leaves the value to the next.
pub(super) fn dropped_receive_loses_nothing<C: Channel>(trail: &Trail) -> Check {
    count::<C>()?;
    let receivers = C::shape().receivers.min(3);
    let (channel, parcels) = (Arc::new(C::new()), Parcels::new());
    let mut producer = History::new().producer();
    let mut waiting = Vec::new();
    for _ in 0..receivers {
        let mut hand = receive(&channel);
        ensure!(hand.poll().is_pending(), "an empty channel gave something");
        waiting.push(hand);
    }
    trail.at("one value is sent to those that wait");
    let stamp = producer.stamp();
    send(&*channel, parcels.plain(stamp))?;
    for left in (0..receivers).rev() {
        let woken = waiting.iter().position(Hand::is_woken);
        let Some(woken) = woken else {
            return Err(Miss::Fails(format!("{} wait, nobody was woken", left + 1)));
        };
        trail.at(format_args!("the woken one of {} is dropped", left + 1));
        drop(waiting.remove(woken));
    }
    trail.at("a fresh receive is polled");
    match receive(&channel).poll() {
        Poll::Ready(Some(parcel)) if parcel.stamp() == stamp => Ok(()),
        polled => Err(Miss::Fails(format!(
            "the value went with a receive that was dropped: {polled:?}, {} alive",
            parcels.alive()
        ))),
    }
}

/// A closed channel gives out what was sent before, and then says so.
pub(super) fn closed_delivers_what_was_sent<C: Channel>(trail: &Trail) -> Check {
    if !C::shape().closes {
        return Miss::skip("it cannot be closed so that what was sent is received");
    }
    let (channel, parcels) = (Arc::new(C::new()), Parcels::new());
    let mut producer = History::new().producer();
    let stamps: Vec<_> = (0..count::<C>()?).map(|_| producer.stamp()).collect();
    for stamp in &stamps {
        send(&*channel, parcels.plain(*stamp))?;
    }
    trail.at("it is closed with values in it");
    channel.close();
    let late = channel.try_send(parcels.plain(producer.stamp()));
    ensure!(late.is_err(), "a value was taken after it was closed");
    drop(late);
    for stamp in &stamps {
        let Poll::Ready(Some(parcel)) = receive(&channel).poll() else {
            return Err(Miss::Fails(format!("{stamp} was lost when it was closed")));
        };
        ensure!(
            parcel.stamp() == *stamp,
            "{parcel:?} came instead of {stamp}"
        );
    }
    trail.at("it is closed and empty");
    let polled = receive(&channel).poll();
    ensure!(matches!(polled, Poll::Ready(None)), "it gave {polled:?}");
    Ok(())
}

/// Values that nobody can receive any more are dropped with the receiving end, not with the sending
/// end; and a send that comes later gets its value back.
pub(super) fn dropped_end_frees_values<C: Channel>(trail: &Trail) -> Check {
    let (channel, parcels) = (Arc::new(C::new()), Parcels::new());
    let mut producer = History::new().producer();
    for _ in 0..count::<C>()? {
        send(&*channel, parcels.plain(producer.stamp()))?;
    }
    trail.at("the last receiver is dropped with values in the channel");
    channel.drop_receiver();
    let alive = parcels.alive();
    ensure!(alive == 0, "{alive} values live on that nobody can receive");
    let late = channel.try_send(parcels.plain(producer.stamp()));
    ensure!(late.is_err(), "a value was taken with nobody to receive it");
    Ok(())
}

/// A value may use the channel that drops it.
pub(super) fn value_drop_calls_back<C: Channel>(trail: &Trail) -> Check {
    let parcels = Parcels::new();
    for closes in [false, true] {
        if closes && !C::shape().closes {
            continue;
        }
        let channel = Arc::new(C::new());
        let mut producer = History::new().producer();
        for _ in 0..count::<C>()? {
            let (late, weak) = (parcels.plain(producer.stamp()), Arc::downgrade(&channel));
            let call = move || {
                if let Some(channel) = weak.upgrade() {
                    drop(channel.try_send(late));
                    // Not polled: a receive of one that is being dropped is the user's fault.
                    drop(receive(&channel));
                }
            };
            send(&*channel, parcels.calling(producer.stamp(), call))?;
        }
        if closes {
            trail.at("it is closed, and what was sent is received and sends as it is dropped");
            channel.close();
            while let Poll::Ready(Some(parcel)) = receive(&channel).poll() {
                drop(parcel);
            }
        }
        trail.at("the last receiver is dropped, and values send as they are dropped");
        channel.drop_receiver();
        trail.at("the channel is dropped");
        drop(channel);
        let alive = parcels.alive();
        ensure!(
            alive == 0,
            "{alive} values are left when the channel is gone"
        );
    }
    Ok(())
}

/// One value that panics as it is dropped does not leave the others undropped.
pub(super) fn value_drop_panics<C: Channel>(trail: &Trail) -> Check {
    for bomb in 0..count::<C>()? {
        let (channel, parcels) = (Arc::new(C::new()), Parcels::new());
        let mut producer = History::new().producer();
        for at in 0..count::<C>()? {
            let stamp = producer.stamp();
            let parcel = if at == bomb {
                parcels.panicking(stamp)
            } else {
                parcels.plain(stamp)
            };
            send(&*channel, parcel)?;
        }
        trail.at(format_args!(
            "the last receiver is dropped, and value {bomb} panics"
        ));
        survives(|| channel.drop_receiver());
        trail.at(format_args!(
            "the channel is dropped, and value {bomb} has panicked"
        ));
        survives(|| drop(channel));
        let alive = parcels.alive();
        ensure!(
            alive == 0,
            "{alive} values are left after value {bomb} panicked"
        );
    }
    Ok(())
}

/// Seeded: threads send, others receive and drop receives, and every value arrives once.
pub(super) fn threads_receive_exactly_once<C: Channel>(trail: &Trail) -> Check {
    count::<C>()?;
    const PRODUCERS: usize = 2;
    const VALUES: usize = 300;
    let (channel, parcels) = (Arc::new(C::new()), Parcels::new());
    let history = History::new();
    let is_over = AtomicBool::new(false);
    let mut random = trail.random();
    trail.at("threads send and receive");
    thread::scope(|scope| {
        let mut consumers = Vec::new();
        for _ in 0..C::shape().receivers.min(2) {
            let (channel, is_over) = (&channel, &is_over);
            let (history, random) = (&history, random.fork());
            consumers.push(scope.spawn(move || consume(channel, history, is_over, random)));
        }
        let mut producers = Vec::new();
        for _ in 0..PRODUCERS {
            let (channel, parcels) = (&channel, &parcels);
            let mut producer = history.producer();
            producers.push(scope.spawn(move || {
                for _ in 0..VALUES {
                    let mut parcel = parcels.plain(producer.stamp());
                    while let Err(back) = channel.try_send(parcel) {
                        parcel = back;
                        thread::yield_now();
                    }
                }
            }));
        }
        for producer in producers {
            producer.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        is_over.swap(true, Relaxed);
        for consumer in consumers {
            consumer.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
    trail.at("all threads have ended");
    // A receive that ran out of patience, and was given a value before it was dropped, has put it
    // back after everybody else had looked for the last time.
    let consumer = history.consumer();
    while let Poll::Ready(Some(parcel)) = receive(&channel).poll() {
        consumer.received(parcel.stamp());
    }
    let verdict = history.verdict();
    ensure!(verdict.is_clean(), "{verdict}");
    Ok(())
}

/// Receives until all was sent and nothing is left, and drops every third receive before it is
/// ready.
pub(super) fn consume<C: Channel>(
    channel: &Arc<C>,
    history: &History,
    is_over: &AtomicBool,
    mut random: Random,
) {
    const PAUSE: Duration = Duration::from_millis(5);
    let consumer = history.consumer();
    loop {
        let was_over = is_over.load(Relaxed);
        if random.below(3) == 0 {
            let mut hand = receive(channel);
            let polled = hand.poll();
            if let Poll::Ready(Some(parcel)) = polled {
                consumer.received(parcel.stamp());
                continue;
            }
            thread::yield_now();
            drop(hand);
        }
        match block_for(channel.recv(), PAUSE) {
            Some(Some(parcel)) => consumer.received(parcel.stamp()),
            Some(None) => return,
            // All that was sent before "over" was seen is there, or in somebody's hands.
            None if was_over => return,
            None => {}
        }
    }
}

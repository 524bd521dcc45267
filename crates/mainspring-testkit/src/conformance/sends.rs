//! What a channel owes the values of senders that wait: each is delivered, handed back or dropped,
//! once.

use super::channel::{Channel, Sent, consume, receive};
use super::full::{Full, Sending, Settled};
use super::trail::ensure;
use super::world::survives;
use super::{Check, Miss, Parcel, Parcels, Trail};
use crate::block::block_for;
use crate::hand::Hand;
use crate::history::{History, Producer, Stamp};
use crate::sync::Arc;
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};
use crate::waker::Script;
use mainspring_core::random::Random;
use std::panic::resume_unwind;
use std::task::Poll;
use std::thread;
use std::time::Duration;

/// A send that waits and is dropped has not sent: its value is dropped with it.
pub(super) fn dropped_send_is_withdrawn<C: Channel>(trail: &Trail) -> Check {
    const WHEN: &str = "after a send was dropped";
    for victim in 0..3 {
        let mut full = Full::<C>::new()?;
        let mut sends = full.waiting(3)?;
        trail.at(format_args!("send {victim} of 3 is dropped as it waits"));
        let before = full.parcels.alive();
        drop(sends.remove(victim));
        let alive = full.parcels.alive();
        ensure!(alive + 1 == before, "its value was not dropped with it");
        trail.at(format_args!("all is received, without send {victim}"));
        full.drain(&mut sends)?;
        full.is_settled(&sends, WHEN)?;
        full.fills_again(WHEN)?;
        full.ends()?;
    }
    Ok(())
}

/// A send that is polled with another waker is woken through that one.
pub(super) fn repolled_send_is_woken<C: Channel>(trail: &Trail) -> Check {
    let mut full = Full::<C>::new()?;
    let mut sends = full.waiting(3)?;
    for sending in &mut sends {
        drop(sending.hand.rescript(Script::new()));
        trail.at("one that waits is polled with another waker");
        let settled = full.settle(sending)?;
        ensure!(settled == Settled::Waits, "it was let go: {settled:?}");
    }
    trail.at("all is received");
    full.drain(&mut sends)?;
    full.is_settled(&sends, "after polls with other wakers")?;
    full.ends()
}

/// A send that is dropped when there is room for it leaves the room to the next.
pub(super) fn dropped_granted_send<C: Channel>(trail: &Trail) -> Check {
    const WHEN: &str = "after a send that had room was dropped";
    for others in 0..3 {
        let mut full = Full::<C>::new()?;
        let mut sends = full.waiting(1 + others)?;
        let granted = grant(&mut full, &mut sends)?;
        trail.at(format_args!(
            "one that has room is dropped, and {others} wait"
        ));
        full.dismiss(granted)?;
        is_handed_on(&full, &sends)?;
        full.drain(&mut sends)?;
        full.is_settled(&sends, WHEN)?;
        full.fills_again(WHEN)?;
        full.ends()?;
    }
    Ok(())
}

/// Receives one, and takes out the send that was woken for it.
fn grant<C: Channel>(full: &mut Full<C>, sends: &mut Vec<Sending>) -> Result<Sending, Miss> {
    ensure!(full.receive(), "a full channel gave nothing");
    let woken = sends.iter().position(|sending| sending.hand.is_woken());
    ensure!(woken.is_some(), "one was received, and no sender was woken");
    Ok(sends.remove(woken.unwrap_or(0)))
}

/// Room that nobody took has woken one of those who wait.
fn is_handed_on<C: Channel>(full: &Full<C>, sends: &[Sending]) -> Check {
    let woken = sends
        .iter()
        .filter(|sending| sending.hand.is_woken())
        .count();
    let is_free = full.room > 0 && full.due.len() < full.room + full.received.len();
    ensure!(
        !is_free || woken > 0 || sends.is_empty(),
        "there is room, and {} sends sleep",
        sends.len()
    );
    Ok(())
}

/// Closing it settles the sends that wait.
pub(super) fn closed_send_is_settled<C: Channel>(trail: &Trail) -> Check {
    if !C::shape().closes {
        return Miss::skip("it cannot be closed so that what was sent is received");
    }
    for (is_granted, drops) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut full = Full::<C>::new()?;
        end(
            &mut full,
            (is_granted, drops),
            trail,
            "it is closed",
            C::close,
        )?;
        trail.at("it is closed, and what was sent is received");
        full.drain(&mut Vec::new())?;
        full.is_settled(&[], "after it was closed")?;
        let polled = receive(&full.channel).poll();
        ensure!(polled.is_ready(), "it waits for more, and is closed");
        full.ends()?;
    }
    Ok(())
}

/// The drop of the last receiver settles the sends that wait.
pub(super) fn orphaned_send_is_settled<C: Channel>(trail: &Trail) -> Check {
    for (is_granted, drops) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut full = Full::<C>::new()?;
        let what = "the last receiver is dropped";
        end(
            &mut full,
            (is_granted, drops),
            trail,
            what,
            C::drop_receiver,
        )?;
        full.ends()?;
    }
    Ok(())
}

/// Ends it with three sends waiting, one of which may have room and may be dropped afterwards.
fn end<C: Channel>(
    full: &mut Full<C>,
    (is_granted, drops): (bool, bool),
    trail: &Trail,
    what: &str,
    end: impl Fn(&C),
) -> Check {
    let mut sends = full.waiting(3)?;
    let mut late = full.unpolled(Parcels::plain)?;
    if is_granted {
        let granted = grant(full, &mut sends)?;
        sends.insert(0, granted);
    }
    trail.at(format_args!("{what}, with senders waiting"));
    end(&full.channel);
    let asleep = sends.iter().filter(|sending| !sending.hand.is_woken());
    let asleep = asleep.count();
    ensure!(asleep == 0, "{asleep} sends sleep");
    if drops {
        trail.at(format_args!("{what}, and a send is dropped"));
        full.dismiss(sends.remove(0))?;
    }
    trail.at(format_args!("{what}, and the sends are polled"));
    for sending in &mut sends {
        let settled = full.settle(sending)?;
        ensure!(settled != Settled::Waits, "a send waits for more");
        ensure!(
            is_granted || settled == Settled::Refused,
            "a send for which there was no room was done"
        );
    }
    let settled = full.settle(&mut late)?;
    ensure!(
        settled == Settled::Refused,
        "a send that came later: {settled:?}"
    );
    Ok(())
}

/// Where a send is when it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Waiting,
    Granted,
    Closed,
    Orphaned,
}

impl Place {
    const ALL: [Self; 4] = [Self::Waiting, Self::Granted, Self::Closed, Self::Orphaned];

    /// The words for what has happened before.
    fn words(self) -> &'static str {
        match self {
            Self::Waiting => "it waits",
            Self::Granted => "it has room",
            Self::Closed => "it was closed upon",
            Self::Orphaned => "the last receiver has gone",
        }
    }

    /// Brings the first of these there, and takes it out.
    fn reach<C: Channel>(
        self,
        full: &mut Full<C>,
        sends: &mut Vec<Sending>,
    ) -> Result<Sending, Miss> {
        match self {
            Self::Granted => return grant(full, sends),
            Self::Waiting => {}
            Self::Closed => full.channel.close(),
            Self::Orphaned => full.channel.drop_receiver(),
        }
        Ok(sends.remove(0))
    }

    fn applies<C: Channel>(self) -> bool {
        self != Self::Closed || C::shape().closes
    }
}

/// The value of a send may use the channel as it is dropped.
pub(super) fn waiting_value_drop_calls_back<C: Channel>(trail: &Trail) -> Check {
    for place in Place::ALL.into_iter().filter(|place| place.applies::<C>()) {
        let mut full = Full::<C>::new()?;
        let mut sends = Vec::new();
        for _ in 0..2 {
            let late = full.parcels.plain(full.producer.stamp());
            let weak = Arc::downgrade(&full.channel);
            let call = move || {
                if let Some(channel) = weak.upgrade() {
                    drop(channel.try_send(late));
                    // Not polled: that there is a receiver left is not said.
                    drop(receive(&channel));
                }
            };
            sends.push(full.waiting_with(|parcels, stamp| parcels.calling(stamp, call))?);
        }
        let first = place.reach(&mut full, &mut sends)?;
        let words = place.words();
        trail.at(format_args!(
            "{words}, and its value sends as it is dropped"
        ));
        drop(first);
        trail.at(format_args!("{words}, and another one is polled"));
        for mut sending in sends {
            // Some drop what they refuse.
            full.settle(&mut sending)?;
        }
        trail.at("the channel is dropped");
        full.ends()?;
    }
    Ok(())
}

/// A value that panics as its send is dropped takes neither room nor other values along.
pub(super) fn waiting_value_drop_panics<C: Channel>(trail: &Trail) -> Check {
    for place in Place::ALL.into_iter().filter(|place| place.applies::<C>()) {
        let mut full = Full::<C>::new()?;
        let mut sends = Vec::new();
        for at in 0..3 {
            // Who is granted is not known before.
            let panics = at == 0 || place == Place::Granted;
            let make = if panics {
                Parcels::panicking
            } else {
                Parcels::plain
            };
            sends.push(full.waiting_with(make)?);
        }
        let checked = panics_at(place, &mut full, &mut sends, trail);
        for sending in sends {
            drop_hand(sending.hand);
        }
        if checked.is_err() {
            // Where a value ended up that panics is not known.
            survives(|| drop(full));
            return checked;
        }
        full.ends()?;
    }
    Ok(())
}

fn panics_at<C: Channel>(
    place: Place,
    full: &mut Full<C>,
    sends: &mut Vec<Sending>,
    trail: &Trail,
) -> Check {
    const WHEN: &str = "after the value of a dropped send panicked";
    let victim = place.reach(full, sends)?;
    let words = place.words();
    trail.at(format_args!(
        "{words}, and its value panics as it is dropped"
    ));
    full.dismiss(victim)?;
    if matches!(place, Place::Waiting | Place::Granted) {
        is_handed_on(full, sends)?;
        full.drain(sends)?;
        full.is_settled(sends, WHEN)?;
        full.fills_again(WHEN)?;
    }
    for sending in sends {
        let settled = full.settle(sending)?;
        ensure!(settled != Settled::Waits, "another one waits on {WHEN}");
    }
    Ok(())
}

/// Seeded: threads send and withdraw sends while others receive; each value arrives once, or not at
/// all if it was withdrawn, and no room is lost.
pub(super) fn threads_withdraw_sends<C: Channel>(trail: &Trail) -> Check {
    const PRODUCERS: usize = 2;
    const WHEN: &str = "after threads withdrew sends";
    let mut full = Full::<C>::new()?;
    full.drain(&mut Vec::new())?;
    full.is_settled(&[], "before threads send")?;
    let history = History::new();
    let is_over = AtomicBool::new(false);
    let mut random = trail.random();
    trail.at("threads send and withdraw, and others receive");
    let withdrawn: Vec<Stamp> = thread::scope(|scope| {
        let (channel, parcels) = (&full.channel, &full.parcels);
        let mut consumers = Vec::new();
        for _ in 0..C::shape().receivers.min(2) {
            let (history, is_over, random) = (&history, &is_over, random.fork());
            consumers.push(scope.spawn(move || consume(channel, history, is_over, random)));
        }
        let mut producers = Vec::new();
        for _ in 0..PRODUCERS {
            let (producer, random) = (history.producer(), random.fork());
            producers.push(scope.spawn(move || produce(channel, parcels, producer, random)));
        }
        let ended = producers.into_iter().map(thread::ScopedJoinHandle::join);
        let withdrawn = ended.map(|ended| ended.unwrap_or_else(|panic| resume_unwind(panic)));
        let withdrawn = withdrawn.flatten().collect();
        is_over.swap(true, Relaxed);
        for consumer in consumers {
            consumer.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        withdrawn
    });
    trail.at("all threads have ended");
    let consumer = history.consumer();
    while let Poll::Ready(Some(parcel)) = receive(&full.channel).poll() {
        consumer.received(parcel.stamp());
    }
    let mut verdict = history.verdict();
    // Where a receiver takes values out of senders, either is right.
    verdict.lost.retain(|stamp| !withdrawn.contains(stamp));
    ensure!(verdict.is_clean(), "{verdict}");
    full.fills_again(WHEN)?;
    full.ends()
}

/// Sends, and withdraws about every third. Returns those of which it is not known.
fn produce<C: Channel>(
    channel: &Arc<C>,
    parcels: &Parcels,
    mut producer: Producer,
    mut random: Random,
) -> Vec<Stamp> {
    const VALUES: usize = 200;
    const PAUSE: Duration = Duration::from_millis(5);
    let mut withdrawn = Vec::new();
    for _ in 0..VALUES {
        let stamp = producer.stamp();
        let Some(send) = channel.send(parcels.plain(stamp)) else {
            producer.returned(stamp);
            continue;
        };
        let sent: Option<Sent> = if random.below(3) == 0 {
            let mut hand = Hand::new(send);
            let polled = hand.poll();
            (0..random.below(4)).for_each(|_| thread::yield_now());
            match polled {
                Poll::Ready(sent) => Some(sent),
                Poll::Pending => None,
            }
        } else {
            block_for(send, PAUSE)
        };
        match sent {
            Some(Ok(())) => {}
            Some(Err(back)) => producer.returned(back.as_ref().map_or(stamp, Parcel::stamp)),
            None if C::shape().takes_from_senders => withdrawn.push(stamp),
            None => producer.returned(stamp),
        }
    }
    withdrawn
}

/// Drops a send whose value may panic.
pub(super) fn drop_hand(hand: Hand<Sent>) {
    survives(|| drop(hand));
}

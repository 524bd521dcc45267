//! A channel that is full, and the books of what was sent into it.

use super::channel::{Channel, Sent, receive};
use super::sends::drop_hand;
use super::trail::ensure;
use super::{Check, Miss, Parcel, Parcels};
use crate::hand::Hand;
use crate::history::{History, Producer, Stamp};
use crate::sync::Arc;
use std::collections::BTreeSet;
use std::task::Poll;

/// A send, and whose.
pub(super) struct Sending {
    stamp: Stamp,
    pub(super) hand: Hand<Sent>,
}

/// What a poll of a send came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settled {
    Waits,
    Done,
    Refused,
}

pub(super) struct Full<C> {
    pub(super) channel: Arc<C>,
    pub(super) parcels: Parcels,
    pub(super) producer: Producer,
    /// How many values it took when it was filled.
    pub(super) room: usize,
    /// What has to be received, or was.
    pub(super) due: Vec<Stamp>,
    pub(super) received: Vec<Stamp>,
}

impl<C: Channel> Full<C> {
    /// One with no room left; the case does not apply where senders do not wait for some.
    pub(super) fn new() -> Result<Self, Miss> {
        if !C::shape().senders_wait {
            let why = "its senders do not wait".to_owned();
            return Err(Miss::DoesNotApply(why));
        }
        let mut full = Self {
            channel: Arc::new(C::new()),
            parcels: Parcels::new(),
            producer: History::new().producer(),
            room: 0,
            due: Vec::new(),
            received: Vec::new(),
        };
        full.due = full.fill();
        full.room = full.due.len();
        Ok(full)
    }

    /// Sends until it is full, and returns what.
    fn fill(&mut self) -> Vec<Stamp> {
        let mut sent = Vec::new();
        loop {
            let stamp = self.producer.stamp();
            if self.channel.try_send(self.parcels.plain(stamp)).is_err() {
                return sent;
            }
            sent.push(stamp);
        }
    }

    pub(super) fn unpolled(
        &mut self,
        make: impl FnOnce(&Parcels, Stamp) -> Parcel,
    ) -> Result<Sending, Miss> {
        let stamp = self.producer.stamp();
        let send = self.channel.send(make(&self.parcels, stamp));
        let Some(send) = send else {
            let why = "its shape says that senders wait, and it has no such send";
            return Err(Miss::Fails(why.to_owned()));
        };
        Ok(Sending {
            stamp,
            hand: Hand::new(send),
        })
    }

    pub(super) fn waiting_with(
        &mut self,
        make: impl FnOnce(&Parcels, Stamp) -> Parcel,
    ) -> Result<Sending, Miss> {
        let mut sending = self.unpolled(make)?;
        let settled = self.settle(&mut sending)?;
        ensure!(
            settled == Settled::Waits,
            "a send into a full channel: {settled:?}"
        );
        Ok(sending)
    }

    /// Sends that were polled once and wait, in order.
    pub(super) fn waiting(&mut self, count: usize) -> Result<Vec<Sending>, Miss> {
        (0..count)
            .map(|_| self.waiting_with(Parcels::plain))
            .collect()
    }

    /// Polls a send, and books what it says.
    pub(super) fn settle(&mut self, sending: &mut Sending) -> Result<Settled, Miss> {
        match sending.hand.poll() {
            Poll::Pending => Ok(Settled::Waits),
            Poll::Ready(Ok(())) => {
                self.due.push(sending.stamp);
                Ok(Settled::Done)
            }
            Poll::Ready(Err(back)) => {
                let back = back.map(Parcel::defused);
                let (stamp, of) = (sending.stamp, back.as_ref().map(Parcel::stamp));
                ensure!(
                    of.is_none_or(|of| of == stamp),
                    "{of:?} was handed back to who sent {stamp}"
                );
                Ok(Settled::Refused)
            }
        }
    }

    /// Drops a send that is not done, and books what became of its value.
    pub(super) fn dismiss(&mut self, sending: Sending) -> Check {
        let before = self.parcels.alive();
        drop_hand(sending.hand);
        if self.parcels.alive() == before {
            ensure!(
                C::shape().takes_from_senders,
                "the value of a send that was dropped is not"
            );
            self.due.push(sending.stamp);
        }
        Ok(())
    }

    /// Receives one, if there is one.
    pub(super) fn receive(&mut self) -> bool {
        match receive(&self.channel).poll() {
            Poll::Ready(Some(parcel)) => {
                self.received.push(parcel.stamp());
                drop(parcel.defused());
                true
            }
            _ => false,
        }
    }

    /// Receives, and polls the sends that are woken, until nothing moves. Those that are done are
    /// taken out.
    pub(super) fn drain(&mut self, sends: &mut Vec<Sending>) -> Check {
        loop {
            let mut moves = false;
            while let Some(at) = sends.iter().position(|sending| sending.hand.is_woken()) {
                let settled = self.settle(&mut sends[at])?;
                ensure!(settled != Settled::Refused, "a value was refused");
                if settled == Settled::Done {
                    drop(sends.remove(at));
                    moves = true;
                }
            }
            if !self.receive() && !moves {
                return Ok(());
            }
        }
    }

    /// With it drained: nobody waits, and what was received is what was due.
    pub(super) fn is_settled(&self, sends: &[Sending], when: &str) -> Check {
        let left = sends.len();
        ensure!(left == 0, "{left} sends wait though there is room {when}");
        let due: BTreeSet<_> = self.due.iter().copied().collect();
        let received: BTreeSet<_> = self.received.iter().copied().collect();
        if let Some(lost) = due.difference(&received).next() {
            return Err(Miss::Fails(format!("{lost} was lost {when}")));
        }
        if let Some(more) = received.difference(&due).next() {
            let why = format!("{more} was received, and not sent {when}");
            return Err(Miss::Fails(why));
        }
        let twice = self.received.len() - received.len();
        ensure!(twice == 0, "{twice} values came twice {when}");
        Ok(())
    }

    /// With it drained: there is as much room as there was in the beginning.
    pub(super) fn fills_again(&mut self, when: &str) -> Check {
        let (room, now) = (self.room, self.fill().len());
        ensure!(
            now == room,
            "there was room for {room}, and is for {now} {when}"
        );
        Ok(())
    }

    /// Drops it: then no value is left.
    pub(super) fn ends(self) -> Check {
        let Self {
            channel, parcels, ..
        } = self;
        drop(channel);
        let alive = parcels.alive();
        ensure!(
            alive == 0,
            "{alive} values are left when the channel is gone"
        );
        Ok(())
    }
}

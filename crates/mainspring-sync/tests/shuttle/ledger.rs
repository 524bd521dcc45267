//! What became of each message.
//!
//! All threads of an execution are one thread of the operating system: what is counted here is no
//! step of the schedule, and hides none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The fate of every [`Parcel`] that it made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<BTreeMap<(u32, u32), Fate>>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    UnderWay,
    Received,
    Dropped,
}

/// A message: the `number`th of its `sender`.
#[derive(Debug)]
pub(crate) struct Parcel {
    pub(crate) sender: u32,
    pub(crate) number: u32,
    ledger: Ledger,
}

impl Ledger {
    pub(crate) fn parcel(&self, sender: u32, number: u32) -> Parcel {
        let before = self.set(sender, number, Fate::UnderWay);
        assert_eq!(before, None, "made twice: {sender}/{number}");
        Parcel {
            sender,
            number,
            ledger: self.clone(),
        }
    }

    /// How many were received. All others have to have been dropped.
    pub(crate) fn settle(&self) -> usize {
        let fates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let under_way = fates.iter().find(|(_, fate)| **fate == Fate::UnderWay);
        assert_eq!(under_way, None, "neither received nor dropped");
        let received = fates.values().filter(|fate| **fate == Fate::Received);
        received.count()
    }

    fn set(&self, sender: u32, number: u32, fate: Fate) -> Option<Fate> {
        let mut fates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        fates.insert((sender, number), fate)
    }
}

impl Parcel {
    /// The one who was sent it has it.
    pub(crate) fn receive(self) -> (u32, u32) {
        let (sender, number) = (self.sender, self.number);
        let before = self.ledger.set(sender, number, Fate::Received);
        assert_eq!(
            before,
            Some(Fate::UnderWay),
            "received twice: {sender}/{number}"
        );
        (sender, number)
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        let mut fates = self.ledger.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fate = fates.get_mut(&(self.sender, self.number));
        if let Some(fate @ Fate::UnderWay) = fate {
            *fate = Fate::Dropped;
        }
    }
}

/// Messages of one sender come in order: remembers the last of each.
#[derive(Debug, Default)]
pub(crate) struct InOrder(BTreeMap<u32, u32>);

impl InOrder {
    pub(crate) fn next(&mut self, (sender, number): (u32, u32)) {
        let before = self.0.insert(sender, number);
        assert!(
            before.is_none_or(|before| before < number),
            "of {sender}, {number} came after {before:?}"
        );
    }
}

//! What was sent and what arrived, and what is wrong with it.

use crate::sync::{Arc, Mutex};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A value that is sent once: who made it, and as the how-manieth of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// The producer's number, from zero.
    pub producer: u32,
    /// Its place among the producer's values, from zero.
    pub place: u64,
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.producer, self.place)
    }
}

#[derive(Debug, Default)]
struct Log {
    producers: u32,
    sent: Vec<Stamp>,
    returned: Vec<Stamp>,
    /// By consumer, in the order of arrival.
    received: Vec<Vec<Stamp>>,
}

/// A record of what passes through a channel. Its clones are one record.
///
/// Every value is unique, so three questions can be answered exactly: whether each value that was
/// sent arrived once, whether one arrived that nobody sent, and whether a consumer saw a producer's
/// values out of order.
///
/// ```
/// use mainspring_testkit::History;
///
/// let history = History::new();
/// let mut producer = history.producer();
/// let consumer = history.consumer();
/// let (first, second) = (producer.stamp(), producer.stamp());
/// consumer.received(second);
/// consumer.received(first);
/// consumer.received(first);
/// let verdict = history.verdict();
/// assert_eq!(verdict.overtaken, [(first, second)]);
/// assert_eq!(verdict.doubled, [first]);
/// assert!(verdict.lost.is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct History {
    log: Arc<Mutex<Log>>,
}

/// The sending side of a [`History`].
#[derive(Debug)]
pub struct Producer {
    log: Arc<Mutex<Log>>,
    number: u32,
    next: u64,
}

/// The receiving side of a [`History`].
#[derive(Clone, Debug)]
pub struct Consumer {
    log: Arc<Mutex<Log>>,
    number: usize,
}

impl History {
    /// An empty record.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One more producer, whose values are ordered among themselves.
    #[must_use]
    pub fn producer(&self) -> Producer {
        let mut log = self.log.lock();
        let number = log.producers;
        log.producers += 1;
        Producer {
            log: Arc::clone(&self.log),
            number,
            next: 0,
        }
    }

    /// One more consumer, which sees each producer's values in order.
    #[must_use]
    pub fn consumer(&self) -> Consumer {
        let mut log = self.log.lock();
        log.received.push(Vec::new());
        Consumer {
            log: Arc::clone(&self.log),
            number: log.received.len() - 1,
        }
    }

    /// What is wrong, if every value that was stamped and not returned should have arrived by now.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let log = self.log.lock();
        let mut due: BTreeMap<Stamp, usize> = log.sent.iter().map(|stamp| (*stamp, 0)).collect();
        let mut verdict = Verdict {
            values: log.sent.len(),
            ..Verdict::default()
        };
        let arrivals = log.received.iter().flatten().chain(&log.returned);
        for stamp in arrivals {
            match due.get_mut(stamp) {
                None => verdict.invented.push(*stamp),
                Some(seen) => {
                    *seen += 1;
                    if *seen > 1 {
                        verdict.doubled.push(*stamp);
                    }
                }
            }
        }
        let lost = due.iter().filter(|(_, seen)| **seen == 0);
        verdict.lost.extend(lost.map(|(stamp, _)| *stamp));
        for received in &log.received {
            overtaken(received, &mut verdict.overtaken);
        }
        verdict
    }
}

/// Pairs of an early value and a later one of the same producer that this consumer saw before it.
fn overtaken(received: &[Stamp], out: &mut Vec<(Stamp, Stamp)>) {
    let mut last: BTreeMap<u32, Stamp> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for stamp in received {
        if !seen.insert(*stamp) {
            continue;
        }
        let newest = last.entry(stamp.producer).or_insert(*stamp);
        if *newest > *stamp {
            out.push((*stamp, *newest));
        } else {
            *newest = *stamp;
        }
    }
}

impl Producer {
    /// The next value: call this right before it is sent.
    pub fn stamp(&mut self) -> Stamp {
        let stamp = Stamp {
            producer: self.number,
            place: self.next,
        };
        self.next += 1;
        self.log.lock().sent.push(stamp);
        stamp
    }

    /// A value came back instead of being sent; that is where it arrived.
    pub fn returned(&self, stamp: Stamp) {
        self.log.lock().returned.push(stamp);
    }
}

impl Consumer {
    /// A value arrived.
    pub fn received(&self, stamp: Stamp) {
        self.log.lock().received[self.number].push(stamp);
    }
}

/// What a [`History`] shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// How many values were stamped.
    pub values: usize,
    /// Those that never arrived and were not returned.
    pub lost: Vec<Stamp>,
    /// Those that arrived again, once for each time.
    pub doubled: Vec<Stamp>,
    /// Those that arrived and had not been stamped.
    pub invented: Vec<Stamp>,
    /// `(early, late)`: one consumer saw the later value of a producer before the earlier one.
    pub overtaken: Vec<(Stamp, Stamp)>,
}

impl Verdict {
    /// Whether every value arrived exactly once, and in its producer's order.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty()
            && self.doubled.is_empty()
            && self.invented.is_empty()
            && self.overtaken.is_empty()
    }

    /// Panics with what is wrong, if something is.
    ///
    /// # Panics
    ///
    /// Unless it [is clean](Self::is_clean).
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.is_clean(), "{self}");
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// So many are named; the rest is counted.
        const NAMED: usize = 8;
        write!(f, "{} values", self.values)?;
        let kinds = [
            ("lost", &self.lost),
            ("doubled", &self.doubled),
            ("invented", &self.invented),
        ];
        for (what, stamps) in kinds {
            if stamps.is_empty() {
                continue;
            }
            write!(f, ", {} {what}:", stamps.len())?;
            for stamp in stamps.iter().take(NAMED) {
                write!(f, " {stamp}")?;
            }
        }
        if !self.overtaken.is_empty() {
            write!(f, ", {} overtaken:", self.overtaken.len())?;
            for (early, late) in self.overtaken.iter().take(NAMED) {
                write!(f, " {early} by {late}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

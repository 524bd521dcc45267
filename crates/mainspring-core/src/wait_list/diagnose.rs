//! Who waits, and for how long an offer has been lying there.

use super::Kind;
use super::entry::{Place, Who};
use super::home::Core;
use super::section::Section;
use crate::time::Nanos;
use std::fmt;

/// What a [`WaitList`](super::WaitList) looks like at one moment, for a person to read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// How many wait for an offer.
    pub waiting: usize,
    /// How many lost an offer and have not been polled since.
    pub lapsed: usize,
    /// Whether the list was closed.
    pub closed: bool,
    /// The offers that were not taken up yet. One that stays here belongs to a future that its task
    /// holds without polling it.
    pub offers: Vec<Offer>,
}

/// An offer that was made and not taken up yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// The task or the root of a `block_on` that polled the waiter last, by its number; `None` if
    /// it is not one of ours.
    pub task: Option<u64>,
    /// Whether that was the root of a `block_on` rather than a task.
    pub is_root: bool,
    /// When the offer was made, by the turn clock; `None` if it was not made on a worker.
    pub since: Option<Nanos>,
    /// What can take it back while its waiter exists.
    pub cure: Cure,
}

/// What takes an offer back that nobody takes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cure {
    /// The executor, when it has polled the task or the root; and another waiter of the same.
    Revocation,
    /// Only another waiter of the same task: the list is strict. The root of a `block_on` counts as
    /// a task.
    SameTask,
    /// Only another waiter polled with the same waker: the executor is a foreign one, which does
    /// not say when a poll has ended.
    SameWaker,
}

impl Diagnosis {
    pub(super) fn of<K: Kind>(core: &Core<K>) -> Self {
        // Nothing is allocated under the lock: guess, and guess again if there are more.
        let mut offers: Vec<Offer> = Vec::with_capacity(8);
        loop {
            let mut section = Section::new(core);
            let lone = section.lone();
            let inner = section.inner();
            let needed = inner.offers().count() + usize::from(lone.is_some());
            if needed <= offers.capacity() {
                let lone = lone.map(|(who, since)| Offer::of(who, since, core.is_revocable()));
                offers.extend(lone);
                offers.extend(inner.offers().map(|node| {
                    node.with(|state| {
                        debug_assert!(
                            matches!(state.place, Place::Offered | Place::Fresh),
                            "wait-list.state: among the offers without one"
                        );
                        Offer::of(state.who, state.since, core.is_revocable())
                    })
                }));
                let (waiting, lapsed, closed) = inner.counts();
                drop(section);
                return Self {
                    waiting,
                    lapsed,
                    closed,
                    offers,
                };
            }
            drop(section);
            offers.reserve(2 * needed);
        }
    }
}

impl Offer {
    fn of(who: Who, since: Nanos, revocable: bool) -> Self {
        let (task, is_root) = (who.number(), who.is_root());
        Self {
            task,
            is_root,
            since: (since != Nanos::ZERO).then_some(since),
            cure: match task {
                Some(_) if revocable => Cure::Revocation,
                Some(_) => Cure::SameTask,
                None => Cure::SameWaker,
            },
        }
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let closed = if self.closed { ", closed" } else { "" };
        write!(
            f,
            "{} waiting, {} lapsed{closed}",
            self.waiting, self.lapsed
        )?;
        for offer in &self.offers {
            write!(f, "; {offer}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.task {
            Some(root) if self.is_root => {
                write!(f, "the root of a block_on ({root}) has not taken an offer")?;
            }
            Some(task) => write!(f, "task {task} has not taken an offer")?,
            None => write!(f, "a task of another executor has not taken an offer")?,
        }
        if let Some(since) = self.since {
            write!(f, " made at {since:?}")?;
        }
        f.write_str(match self.cure {
            Cure::Revocation => " (its executor takes it back after the next poll)",
            Cure::SameTask => " (only a waiter of the same task can take it over)",
            Cure::SameWaker => " (only a waiter with the same waker can take it over)",
        })
    }
}

//! The wheel beside a sorted map, and the store that watches which entries a call touches.

use crate::geometry::TICK_NS;
use crate::store::{Place, Slab, Store};
use crate::wheel::{Progress, Wheel};
use mainspring_core::time::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// The first moment at which a deadline may fire, from the definition and in wider arithmetic. The
/// last tick of all comes when the clock saturates.
pub(super) fn fires_at(deadline: Nanos) -> Nanos {
    let tick = u128::from(TICK_NS);
    let up = u128::from(deadline.0).div_ceil(tick) * tick;
    let end = 1u128 << 64;
    Nanos(if up + tick < end { up as u64 } else { u64::MAX })
}

/// A slab that notes which entries were placed or taken out.
#[derive(Default)]
pub(super) struct Watched {
    slab: Slab<Nanos>,
    touched: BTreeSet<u32>,
}

impl Store for Watched {
    type Id = u32;

    fn prev(&self, id: u32) -> u32 {
        self.slab.prev(id)
    }

    fn next(&self, id: u32) -> u32 {
        self.slab.next(id)
    }

    fn place(&self, id: u32) -> Place {
        self.slab.place(id)
    }

    fn deadline(&self, id: u32) -> Nanos {
        self.slab.deadline(id)
    }

    fn set_neighbours(&mut self, id: u32, prev: u32, next: u32) {
        self.slab.set_neighbours(id, prev, next);
    }

    fn set_prev(&mut self, id: u32, prev: u32) {
        self.slab.set_prev(id, prev);
    }

    fn set_next(&mut self, id: u32, next: u32) {
        self.slab.set_next(id, next);
    }

    fn set_place(&mut self, id: u32, place: Place) {
        self.touched.insert(id);
        self.slab.set_place(id, place);
    }

    fn set_deadline(&mut self, id: u32, deadline: Nanos) {
        self.slab.set_deadline(id, deadline);
    }
}

/// What a callback of the wheel does beside taking its entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reaction {
    Nothing,
    /// Inserts a new entry this long after `now`.
    Insert(u64),
    /// Puts the same entry back, this long after `now`.
    Again(u64),
    /// Removes another entry, by rank in the model.
    Remove(usize),
}

/// A wheel and the truth about it.
pub(super) struct Pair {
    wheel: Wheel<Watched>,
    /// (when it fires, id), with the deadline.
    truth: BTreeMap<(Nanos, u32), Nanos>,
    /// The latest time the wheel was shown.
    shown: Nanos,
}

impl Pair {
    pub(super) fn new(now: Nanos) -> Self {
        Self {
            wheel: Wheel::new(Watched::default(), now),
            truth: BTreeMap::new(),
            shown: now,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.truth.len()
    }

    pub(super) fn shown(&self) -> Nanos {
        self.shown
    }

    pub(super) fn next(&self) -> Option<Nanos> {
        self.wheel.next()
    }

    pub(super) fn insert(&mut self, deadline: Nanos) -> u32 {
        let id = self.wheel.store_mut().slab.add(deadline);
        self.wheel.insert(deadline, id);
        self.truth.insert((fires_at(deadline), id), deadline);
        id
    }

    /// Moves an entry to a later deadline behind the wheel's back.
    pub(super) fn extend(&mut self, rank: usize, by: u64) {
        let Some((key, old)) = self.truth.iter().nth(rank % self.truth.len().max(1)) else {
            return;
        };
        let (key, deadline) = (*key, Nanos(old.0.saturating_add(by)));
        self.truth.remove(&key);
        self.truth.insert((fires_at(deadline), key.1), deadline);
        let slab = &mut self.wheel.store_mut().slab;
        *slab.value_mut(key.1).expect("in the model") = deadline;
        slab.set_deadline(key.1, deadline);
    }

    pub(super) fn remove(&mut self, rank: usize) {
        let Some(key) = self
            .truth
            .keys()
            .nth(rank % self.truth.len().max(1))
            .copied()
        else {
            return;
        };
        self.truth.remove(&key);
        assert!(self.wheel.remove(key.1));
        assert!(
            !self.wheel.remove(key.1),
            "the second removal finds nothing"
        );
        assert!(self.wheel.store_mut().slab.take(key.1).is_some());
    }

    /// One call of `advance`, checked entry by entry.
    pub(super) fn piece(&mut self, now: Nanos, limit: usize, reaction: Reaction) -> Progress {
        let (truth, shown) = (&mut self.truth, self.shown);
        // What had passed when it was inserted fires first, in no order of deadlines.
        let mut last = self.shown;
        let mut pending = Some(reaction).filter(|then| !matches!(then, Reaction::Nothing));
        let has_reaction = pending.is_some();
        let mut fired = 0;
        self.wheel.store_mut().touched.clear();
        let progress = self.wheel.advance(now, limit, |wheel, id| {
            fired += 1;
            let deadline = wheel.store_mut().slab.take(id).expect("fired once");
            assert!(deadline <= now, "{deadline} fired early at {now}");
            let key = (fires_at(deadline), id);
            assert!(
                truth.remove(&key).is_some(),
                "fired what was not in the model"
            );
            let order = key.0.max(shown);
            assert!(has_reaction || last <= order, "out of order");
            last = order;
            if let Some(then) = pending.take() {
                react(wheel, truth, now, then);
            }
        });
        assert!(fired <= limit, "wheel.bounded");
        let touched = self.wheel.store().touched.len();
        assert!(
            touched <= limit + usize::from(has_reaction),
            "{touched} entries touched under a limit of {limit}"
        );
        self.shown = self.shown.max(now);
        progress
    }

    /// Advances to the end and checks that what had to fire has fired.
    pub(super) fn advance(&mut self, now: Nanos, limit: usize, reaction: Reaction) -> usize {
        let mut pieces = 1;
        let mut reaction = reaction;
        while self.piece(now, limit, reaction) == Progress::More {
            reaction = Reaction::Nothing;
            pieces += 1;
            assert!(pieces < 100_000, "the wheel does not come to an end");
        }
        if now >= self.shown {
            if let Some((&(first, _), _)) = self.truth.first_key_value() {
                assert!(first > now, "{first} did not fire at {now}");
            }
        }
        self.check();
        pieces
    }

    /// What holds between any two calls.
    pub(super) fn check(&self) {
        assert_eq!(self.wheel.len(), self.truth.len());
        match (self.wheel.next(), self.truth.first_key_value()) {
            (None, None) => {}
            (Some(next), Some((&(first, _), _))) => {
                let bound = first.max(fires_at(self.shown));
                assert!(next <= bound, "next() is {next}, after {first}");
            }
            (next, first) => panic!("the wheel says {next:?}, the model {first:?}"),
        }
    }
}

fn react(
    wheel: &mut Wheel<Watched>,
    truth: &mut BTreeMap<(Nanos, u32), Nanos>,
    now: Nanos,
    reaction: Reaction,
) {
    match reaction {
        Reaction::Nothing => {}
        Reaction::Insert(after) | Reaction::Again(after) => {
            let deadline = Nanos(now.0.saturating_add(after));
            // A slab hands the index just freed out again, so this is `Again` as well; `Insert`
            // burns that index first.
            let burnt = matches!(reaction, Reaction::Insert(_))
                .then(|| wheel.store_mut().slab.add(Nanos::ZERO));
            let id = wheel.store_mut().slab.add(deadline);
            wheel.insert(deadline, id);
            truth.insert((fires_at(deadline), id), deadline);
            if let Some(burnt) = burnt {
                wheel.store_mut().slab.take(burnt);
            }
        }
        Reaction::Remove(rank) => {
            let Some(key) = truth.keys().nth(rank % truth.len().max(1)).copied() else {
                return;
            };
            truth.remove(&key);
            assert!(wheel.remove(key.1));
            assert!(wheel.store_mut().slab.take(key.1).is_some());
        }
    }
}

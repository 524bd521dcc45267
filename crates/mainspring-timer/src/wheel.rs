//! The timing wheel, as plain data.
//!
//! A [`Wheel`] is six levels of 256 slots over the absolute ticks of `geometry.rs`. An entry is
//! linked into the slot that the highest differing byte of its tick names, and each time the
//! wheel comes to a slot above level 0 its entries move down, at most five times in a life.
//! The wheel never counts through empty slots: each level has a map of the occupied ones.
//!
//! # States
//!
//! The wheel stands at a *cursor*: every tick up to it has come, and what was due then has fired
//! or is in the *due* list. One slot may be *open*: the wheel has come to it and is emptying it,
//! perhaps over several calls. The cursor stays one tick before an open slot until it is empty,
//! so that an entry inserted meanwhile finds a place that has not been passed.
//!
//! ```text
//!   insert ──▶ due list ────────────┬─▶ fire          (its tick has come)
//!          └─▶ slot ──▶ open slot ──┤
//!                ▲                  └─▶ another slot  (its tick is later)
//!                └───────────────────────────┘
//! ```
//!
//! # Invariants
//!
//! - **wheel.never-early** — an entry fires only at a `now` that is not before its deadline, also
//!   when `now` goes back.
//! - **wheel.within-one-tick** — when `advance` says [`Progress::Done`], every entry that was due
//!   one tick before `now` has fired.
//! - **wheel.above-cursor** — outside the due list, every entry is due after the cursor, and the
//!   slots of a level that are occupied lie above the cursor's own byte.
//! - **wheel.one-place** — an entry is in at most one list, the one its place names.
//!
//! # Rejected
//!
//! The wheel as it is usually printed, which counts ticks one by one, fires the slot before it
//! cascades and measures delays from a cursor that lags the clock: whatever is due at a wrap fires
//! one lap late, and the rest up to a tick early. A wheel that does not cascade (as in Linux since
//! 4.8): cheaper still, but late by an eighth of the delay, which is right for time-outs and wrong
//! for sleeps. Firing a whole slot in one call: the lock above would be held for as long as the
//! slot is deep.

use crate::geometry::{LEVELS, SLOTS, Spot, Tick};
use crate::level::Level;
use crate::store::{Place, Store};
use mainspring_core::time::Nanos;
use std::fmt;

/// Whether [`Wheel::advance`] came to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "after `More` the rest is still to be fired"]
pub enum Progress {
    /// The limit was reached first: call again.
    More,
    /// Nothing is due any more.
    Done,
}

/// A set of deadlines: O(1) insert and cancel, rounded up to ticks of 65.5 µs.
///
/// Use it for many deadlines most of which are cancelled, and where a tick of lateness does not
/// matter. For exact deadlines and exact order, use a heap.
///
/// # Guarantees
///
/// - Never early; late by less than one tick ([`TICK_NS`](crate::TICK_NS)) at the `now` that it
///   is shown. Entries fire in the order of their ticks, those that were overdue when inserted
///   first; within a tick, in no promised order.
/// - Any 64-bit time works as a start, any deadline is accepted: one that has passed fires at the
///   next [`advance`](Self::advance), [`Nanos::MAX`] when the clock saturates.
/// - A clock that jumps forward fires the backlog in pieces of the caller's size. While it is
///   behind a time it has already shown, nothing fires.
///
/// # Trade-offs
///
/// 12.5 KiB for the slots, allocated once; the links live in the store. Insert and remove touch
/// the entry, one neighbour or two and one slot. An entry moves down at most five times, so `n`
/// entries cost O(n) however far the clock jumps.
///
/// # Examples
///
/// ```
/// use mainspring_core::time::Nanos;
/// use mainspring_timer::{Progress, Slab, Wheel};
///
/// let mut wheel = Wheel::new(Slab::new(), Nanos::ZERO);
/// for (name, deadline) in [("late", Nanos(5_000_000)), ("soon", Nanos(100_000))] {
///     let id = wheel.store_mut().add(name);
///     wheel.insert(deadline, id);
/// }
/// let mut fired = Vec::new();
/// let progress = wheel.advance(Nanos(1_000_000), 128, |wheel, id| {
///     fired.extend(wheel.store_mut().take(id));
/// });
/// assert_eq!((progress, fired), (Progress::Done, vec!["soon"]));
/// assert!(wheel.next().is_some_and(|next| next <= Nanos(5_000_000 + 65_536)));
/// ```
pub struct Wheel<S: Store> {
    store: S,
    levels: Vec<Level<S::Id>>,
    /// Bit `n` is set exactly while level `n` has an entry.
    occupied: u8,
    /// Every tick up to this one has come.
    cursor: Tick,
    /// The slot that is being emptied. It starts one tick after the cursor.
    open: Option<Spot>,
    /// Head of the ring of entries whose tick had come when they were inserted.
    due: Option<S::Id>,
    len: usize,
}

/// A list that an entry can be in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Due,
    Slot(Spot),
}

impl List {
    const DUE: u16 = (LEVELS * SLOTS) as u16;

    /// Numbers count from one: zero is [`Place::NONE`].
    #[inline]
    fn place(self) -> Place {
        let number = match self {
            Self::Due => Self::DUE,
            Self::Slot(spot) => u16::from(spot.level) << 8 | u16::from(spot.slot),
        };
        Place::from_bits(number + 1)
    }

    #[inline]
    fn at(place: Place) -> Option<Self> {
        let number = place.into_bits().checked_sub(1)?;
        if number == Self::DUE {
            return Some(Self::Due);
        }
        Some(Self::Slot(Spot {
            level: (number >> 8) as u8,
            slot: number as u8,
        }))
    }
}

impl<S: Store> Wheel<S> {
    /// An empty wheel that stands at `now`.
    pub fn new(store: S, now: Nanos) -> Self {
        Self {
            store,
            levels: (0..LEVELS).map(|_| Level::new()).collect(),
            occupied: 0,
            cursor: Tick::reached(now),
            open: None,
            due: None,
            len: 0,
        }
    }

    /// Adds an entry. O(1), allocates nothing.
    ///
    /// To move an entry to a later deadline, it is enough to make its store say so.
    ///
    /// # Panics
    ///
    /// With `MS0018` if the entry is in a wheel already.
    #[inline]
    pub fn insert(&mut self, deadline: Nanos, id: S::Id) {
        assert!(
            self.store.place(id) == Place::NONE,
            "MS0018: the entry is in a wheel already (docs/errors.md)"
        );
        self.store.set_deadline(id, deadline);
        let tick = Tick::due(deadline);
        let list = if tick <= self.cursor {
            List::Due
        } else {
            List::Slot(Spot::of(self.cursor, tick))
        };
        self.link(list, id);
    }

    /// Takes an entry out. `false` if it is not in the wheel. O(1).
    ///
    /// An id that belongs to another wheel spoils both.
    #[inline]
    pub fn remove(&mut self, id: S::Id) -> bool {
        let Some(list) = List::at(self.store.place(id)) else {
            return false;
        };
        self.unlink(list, id);
        true
    }

    /// Takes out any one entry, due or not: what a shutdown empties the wheel with. O(1).
    pub fn pop(&mut self) -> Option<S::Id> {
        let list = self
            .due
            .map(|_| List::Due)
            .or_else(|| self.first_slot().map(List::Slot))?;
        self.pop_from(list)
    }

    /// Makes an empty wheel stand at `now`, also if that is earlier than a time it was shown: for a
    /// wheel that is used again under another clock.
    ///
    /// # Panics
    ///
    /// With `MS0018` if the wheel is not empty.
    pub fn restart(&mut self, now: Nanos) {
        assert!(
            self.is_empty(),
            "MS0018: a wheel with entries keeps its time (docs/errors.md)"
        );
        self.cursor = Tick::reached(now);
    }

    /// A lower bound of the moment at which [`advance`](Self::advance) has something to do.
    ///
    /// It is exact for what is due within the next 16 ms. Farther away it is the start of the
    /// entry's slot, at which the entry only moves down: a lone entry costs one extra call for
    /// each of its at most five moves.
    ///
    /// `None` if the wheel is empty.
    #[inline]
    pub fn next(&self) -> Option<Nanos> {
        if self.due.is_some() {
            return Some(self.cursor.comes());
        }
        let spot = self.first_slot()?;
        Some(spot.start(self.cursor).comes())
    }

    /// Fires what is due at `now`: calls `fire` for each entry after taking it out.
    ///
    /// At most `limit` entries are fired *or moved* in one call. The callback may insert and
    /// remove entries, also the one it was called for; a deadline it inserts that has come fires
    /// within this call, under the same limit. If it panics, the wheel is whole and the entry is
    /// out of it.
    pub fn advance(
        &mut self,
        now: Nanos,
        limit: usize,
        mut fire: impl FnMut(&mut Self, S::Id),
    ) -> Progress {
        let reached = Tick::reached(now);
        for _ in 0..limit {
            let Some((list, start)) = self.ready(reached) else {
                return Progress::Done;
            };
            let Some(id) = self.first(list) else {
                return Progress::Done;
            };
            let tick = Tick::due(self.store.deadline(id));
            self.unlink(list, id);
            if tick <= start {
                debug_assert!(
                    tick <= reached,
                    "wheel.never-early: {tick:?} fires at {reached:?}"
                );
                fire(self, id);
            } else {
                self.link(List::Slot(Spot::of(start, tick)), id);
            }
        }
        match self.ready(reached) {
            Some(_) => Progress::More,
            None => Progress::Done,
        }
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The store. Entries that are in the wheel have to stay as they are.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// The list to empty next, if it has come, and the tick at which its entries fire.
    #[inline]
    fn ready(&mut self, reached: Tick) -> Option<(List, Tick)> {
        if reached < self.cursor {
            // The clock went back. The due list waits too: what is in it may be due after `now`.
            return None;
        }
        if self.due.is_some() {
            return Some((List::Due, self.cursor));
        }
        let spot = self.first_slot();
        match spot.map(|spot| (spot, spot.start(self.cursor))) {
            Some((spot, start)) if start <= reached => {
                self.cursor = start.before();
                self.open = Some(spot);
                Some((List::Slot(spot), start))
            }
            next => {
                debug_assert!(
                    next.is_none_or(|(_, start)| start > reached),
                    "wheel.within-one-tick: a slot was passed"
                );
                self.cursor = reached;
                None
            }
        }
    }

    /// The earliest slot that is not empty. An open one is: what has left it for a lower level is
    /// due later than its first tick.
    #[inline]
    fn first_slot(&self) -> Option<Spot> {
        if self.open.is_some() {
            return self.open;
        }
        if self.occupied == 0 {
            return None;
        }
        let level = self.occupied.trailing_zeros() as u8;
        let slot = self.levels[usize::from(level)].lowest()?;
        Some(Spot { level, slot })
    }

    #[inline]
    fn first(&self, list: List) -> Option<S::Id> {
        match list {
            List::Due => self.due,
            List::Slot(spot) => self.levels[usize::from(spot.level)].first(spot.slot),
        }
    }

    #[inline]
    fn pop_from(&mut self, list: List) -> Option<S::Id> {
        let id = self.first(list)?;
        self.unlink(list, id);
        Some(id)
    }

    #[inline]
    fn set_first(&mut self, list: List, id: Option<S::Id>) {
        let List::Slot(spot) = list else {
            self.due = id;
            return;
        };
        let level = &mut self.levels[usize::from(spot.level)];
        level.set_first(spot.slot, id);
        let bit = 1 << spot.level;
        if id.is_some() {
            self.occupied |= bit;
        } else if level.lowest().is_none() {
            self.occupied &= !bit;
        }
    }

    /// Appends an entry to a list.
    #[inline]
    fn link(&mut self, list: List, id: S::Id) {
        self.store.set_place(id, list.place());
        self.len += 1;
        let Some(first) = self.first(list) else {
            self.store.set_neighbours(id, id, id);
            self.set_first(list, Some(id));
            return;
        };
        let last = self.store.prev(first);
        self.store.set_neighbours(id, last, first);
        self.store.set_next(last, id);
        self.store.set_prev(first, id);
    }

    /// Takes an entry out of the list it is in. An open slot that is empty after that is behind
    /// the wheel.
    #[inline]
    fn unlink(&mut self, list: List, id: S::Id) {
        debug_assert_eq!(
            self.store.place(id),
            list.place(),
            "wheel.one-place: {id:?} is in another list"
        );
        let (prev, next) = (self.store.prev(id), self.store.next(id));
        self.store.set_place(id, Place::NONE);
        self.len -= 1;
        if next != id {
            self.store.set_next(prev, next);
            self.store.set_prev(next, prev);
            if self.first(list) == Some(id) {
                self.set_first(list, Some(next));
            }
            return;
        }
        self.set_first(list, None);
        if let (List::Slot(spot), Some(open)) = (list, self.open) {
            if spot == open {
                self.cursor = spot.start(self.cursor);
                self.open = None;
            }
        }
    }
}

impl<S: Store> fmt::Debug for Wheel<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel")
            .field("len", &self.len)
            .field("at", &self.cursor.comes())
            .field("next", &self.next())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

//! The wheel's store for entries that live inside the futures that wait: 16 bytes in each for two
//! neighbours, a small number for the place, and the entry's own deadline, which its owner may make
//! later.
//!
//! # Invariants
//!
//! - **entries.registered** — every entry that the wheel is given is armed, or about to be, with
//!   the shard that owns the wheel, whose lock is held. So each access meets the condition of
//!   `EntryRef`. An entry leaves the wheel before it leaves ARMED.
//! - **entries.links** — while an entry is in the wheel, what it keeps is a [`Links`]: the wheel
//!   writes both neighbours before it reads one.

use crate::store::{Place, Store};
use mainspring_core::time::{EntryRef, Nanos};

/// Reads and writes the links inside the entries themselves.
pub(crate) struct Entries;

/// What an entry in the wheel keeps.
#[derive(Clone, Copy)]
struct Links {
    prev: EntryRef,
    next: EntryRef,
}

fn links(id: EntryRef) -> Links {
    debug_assert!(
        Entries.place(id) != Place::NONE,
        "entries.links: not in the wheel"
    );
    // SAFETY: [entries.links] the entry is in the wheel and keeps its links.
    unsafe { id.kept() }
}

fn set_links(id: EntryRef, links: Links) {
    // SAFETY: [entries.registered] the lock of the entry's shard is held.
    unsafe { id.keep(links) }
}

impl Store for Entries {
    type Id = EntryRef;

    #[inline]
    fn deadline(&self, id: EntryRef) -> Nanos {
        // SAFETY: [entries.registered] the wheel asks only for entries in it, which are armed.
        unsafe { id.deadline() }
    }

    #[inline]
    fn prev(&self, id: EntryRef) -> EntryRef {
        links(id).prev
    }

    #[inline]
    fn next(&self, id: EntryRef) -> EntryRef {
        links(id).next
    }

    #[inline]
    fn place(&self, id: EntryRef) -> Place {
        // SAFETY: [entries.registered] the lock of the entry's shard is held.
        Place::from_bits(unsafe { id.place() } as u16)
    }

    /// Nothing: the entry's own word says it.
    #[inline]
    fn set_deadline(&mut self, _id: EntryRef, _deadline: Nanos) {}

    #[inline]
    fn set_neighbours(&mut self, id: EntryRef, prev: EntryRef, next: EntryRef) {
        set_links(id, Links { prev, next });
    }

    #[inline]
    fn set_prev(&mut self, id: EntryRef, prev: EntryRef) {
        set_links(id, Links { prev, ..links(id) });
    }

    #[inline]
    fn set_next(&mut self, id: EntryRef, next: EntryRef) {
        set_links(id, Links { next, ..links(id) });
    }

    #[inline]
    fn set_place(&mut self, id: EntryRef, place: Place) {
        // SAFETY: [entries.registered] the lock of the entry's shard is held.
        unsafe { id.set_place(u32::from(place.into_bits())) }
    }
}

//! A bare timing wheel: four levels of 256 slots, a slab of entries in doubly linked slots,
//! microsecond ticks. Insert and cancel are what the rows measure; nothing here expires.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const LEVELS: usize = 4;
const SLOT_BITS: usize = 8;
const SLOTS: usize = 1 << SLOT_BITS;
const NONE: u32 = u32::MAX;

struct Entry {
    next: u32,
    previous: u32,
    slot: u32,
    waker: Option<Waker>,
}

struct Wheel {
    entries: Vec<Entry>,
    free: u32,
    heads: [u32; LEVELS * SLOTS],
    occupied: [u64; LEVELS * SLOTS / 64],
}

thread_local! {
    static WHEEL: RefCell<Wheel> = const {
        RefCell::new(Wheel {
            entries: Vec::new(),
            free: NONE,
            heads: [NONE; LEVELS * SLOTS],
            occupied: [0; LEVELS * SLOTS / 64],
        })
    };
}

impl Wheel {
    fn insert(&mut self, tick: u32, waker: Waker) -> u32 {
        // The highest byte that differs from now (which is 0 here) names the level.
        let level = (31 - (tick | 1).leading_zeros() as usize) / SLOT_BITS;
        let slot = level * SLOTS + ((tick >> (level * SLOT_BITS)) as usize & (SLOTS - 1));
        let next = self.heads[slot];
        let entry = Entry {
            next,
            previous: NONE,
            slot: slot as u32,
            waker: Some(waker),
        };
        let index = self.free;
        let index = if index == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            self.free = self.entries[index as usize].next;
            self.entries[index as usize] = entry;
            index
        };
        if next != NONE {
            self.entries[next as usize].previous = index;
        }
        self.heads[slot] = index;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        index
    }

    fn cancel(&mut self, index: u32) -> Option<Waker> {
        let entry = &mut self.entries[index as usize];
        let (next, previous, slot) = (entry.next, entry.previous, entry.slot as usize);
        let waker = entry.waker.take();
        entry.next = self.free;
        self.free = index;
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
        if previous == NONE {
            self.heads[slot] = next;
            if next == NONE {
                self.occupied[slot / 64] &= !(1 << (slot % 64));
            }
        } else {
            self.entries[previous as usize].next = next;
        }
        waker
    }
}

/// A registered deadline; dropping it cancels.
#[derive(Debug)]
pub struct Sleep {
    tick: u32,
    index: u32,
}

impl Sleep {
    pub fn new(duration: Duration) -> Sleep {
        Sleep {
            tick: duration.as_micros().min(u128::from(u32::MAX)) as u32,
            index: NONE,
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.index == NONE {
            let waker = cx.waker().clone();
            self.index = WHEEL.with_borrow_mut(|wheel| wheel.insert(self.tick, waker));
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if self.index != NONE {
            drop(WHEEL.with_borrow_mut(|wheel| wheel.cancel(self.index)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NONE, WHEEL, Wheel};
    use std::task::Waker;

    #[test]
    fn entries_leave_from_the_middle_and_their_slots_empty_out() {
        WHEEL.with_borrow_mut(|wheel: &mut Wheel| {
            let held: Vec<u32> = [5, 5, 5, 300, 70_000]
                .map(|tick| wheel.insert(tick, Waker::noop().clone()))
                .into();
            for index in [held[1], held[0], held[2], held[4], held[3]] {
                assert!(wheel.cancel(index).is_some());
            }
            assert!(wheel.heads.iter().all(|&head| head == NONE));
            assert!(wheel.occupied.iter().all(|&word| word == 0));
        });
    }
}

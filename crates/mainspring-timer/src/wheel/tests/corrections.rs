//! The wheel as articles print it, beside ours.

use crate::geometry::TICK_NS;
use crate::store::Slab;
use crate::wheel::Wheel;
use mainspring_core::time::Nanos;

/// Two levels of eight slots in the usual form: delays relative to a cursor, and a `tick` which
/// fires its slot before it cascades.
mod printed {
    const SLOTS: u64 = 8;

    pub(super) struct Wheel {
        cursor: u64,
        near: Vec<Vec<u64>>,
        far: Vec<Vec<u64>>,
    }

    impl Wheel {
        pub(super) fn new() -> Self {
            Self {
                cursor: 0,
                near: vec![Vec::new(); SLOTS as usize],
                far: vec![Vec::new(); SLOTS as usize],
            }
        }

        /// Returns the tick at which the entry ought to fire.
        pub(super) fn insert(&mut self, delay: u64) -> u64 {
            let expiry = self.cursor + delay;
            if delay < SLOTS {
                self.near[(expiry % SLOTS) as usize].push(expiry);
            } else {
                self.far[(expiry / SLOTS % SLOTS) as usize].push(expiry);
            }
            expiry
        }

        /// The expiries that fire at the next tick, and that tick.
        pub(super) fn tick(&mut self) -> (u64, Vec<u64>) {
            self.cursor += 1;
            let fired = std::mem::take(&mut self.near[(self.cursor % SLOTS) as usize]);
            if self.cursor % SLOTS == 0 {
                let slot = (self.cursor / SLOTS % SLOTS) as usize;
                for expiry in std::mem::take(&mut self.far[slot]) {
                    self.near[(expiry % SLOTS) as usize].push(expiry);
                }
            }
            (self.cursor, fired)
        }

        /// At which tick the only entry fires.
        pub(super) fn run(&mut self) -> u64 {
            loop {
                let (tick, fired) = self.tick();
                if !fired.is_empty() {
                    return tick;
                }
            }
        }
    }
}

/// At which tick ours fires an entry inserted at tick `start`, shown every tick in turn.
fn ours(start: u64, delay: u64) -> u64 {
    let mut wheel = Wheel::new(Slab::new(), Nanos(start * TICK_NS));
    let id = wheel.store_mut().add(());
    wheel.insert(Nanos((start + delay) * TICK_NS), id);
    for tick in start.. {
        let mut fired = false;
        let _ = wheel.advance(Nanos(tick * TICK_NS), 128, |_, _| fired = true);
        if fired {
            return tick;
        }
    }
    unreachable!("a wheel fires what is in it")
}

// CORRECTION: 21
#[test]
fn textbook_form_fires_what_is_due_at_a_wrap_one_lap_late_ours_on_time() {
    let mut wheel = printed::Wheel::new();
    let due = wheel.insert(8);
    assert_eq!(
        (due, wheel.run()),
        (8, 16),
        "fired before the cascade: one lap late"
    );
    assert_eq!(ours(0, 256), 256);
    assert_eq!(ours(0, 65_536), 65_536);
}

// CORRECTION: 21
#[test]
fn textbook_form_fires_a_delay_of_zero_one_lap_late_ours_at_once() {
    let mut wheel = printed::Wheel::new();
    let due = wheel.insert(0);
    assert_eq!((due, wheel.run()), (0, 8), "the cursor has passed its slot");
    assert_eq!(ours(0, 0), 0);
    assert_eq!(ours(1_000, 0), 1_000);
}

// CORRECTION: 21
#[test]
fn textbook_form_is_early_when_its_cursor_lags_ours_rounds_an_absolute_time_up() {
    // The clock stands at 2.9 ticks, the printed cursor at 2: a delay of one tick ends at 3.9.
    let mut wheel = printed::Wheel::new();
    let _ = (wheel.tick(), wheel.tick());
    wheel.insert(1);
    let now_ns = 29 * TICK_NS / 10;
    assert!(
        wheel.run() * TICK_NS < now_ns + TICK_NS,
        "early by most of a tick"
    );

    let mut wheel = Wheel::new(Slab::new(), Nanos(now_ns));
    let id = wheel.store_mut().add(());
    wheel.insert(Nanos(now_ns + TICK_NS), id);
    let next = wheel.next().expect("one entry");
    assert!(next >= Nanos(now_ns + TICK_NS) && next < Nanos(now_ns + 2 * TICK_NS));
}

//! Compositions of this crate under random schedules; `cargo xtask shuttle` runs them.
#![cfg(mainspring_shuttle)]

mod broadcast;
mod closing;
mod guarded;
mod ledger;
mod pipeline;
mod printed;
mod semaphore;
mod signals;

/// One wait in how many is given up.
const ODDS: u32 = 6;

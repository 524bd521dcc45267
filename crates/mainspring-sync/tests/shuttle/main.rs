//! Compositions of this crate under random schedules; `cargo xtask shuttle` runs them.
#![cfg(mainspring_shuttle)]

mod ledger;
mod pipeline;
mod printed;

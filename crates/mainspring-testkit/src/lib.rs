//! What breaks a primitive that tasks wait on.
//!
//! Channels, locks, semaphores and events are rarely wrong where their tests look. They are wrong
//! where a waiting future is dropped after it was woken and before it was polled; where a waker
//! calls back into the primitive that calls it; where one panics; where a future is polled with
//! another waker than last time. This crate produces those moments on purpose:
//!
//! | item | what it is |
//! |---|---|
//! | [`mod@conformance`] | a suite of such moments that any primitive is run through |
//! | [`Script`], [`Tally`] | wakers that count, call back and panic in wake, clone and drop |
//! | [`Hand`] | a future that is polled by hand, with the waker that the test says |
//! | [`Puppet`] | a task of mainspring that polls hands, one poll at a time |
//! | [`drop_everywhere`] | a scenario, run once for each point at which it waits, dropped there |
//! | [`History`] | which value was lost, doubled or overtaken |
//! | [`CountingAlloc`] | what each thread has allocated and not freed |
//! | [`seeded`] | randomness that prints how to replay it |
//! | [`block_on`] | the smallest executor |
//!
//! # When not
//!
//! It looks for what primitives have been seen to do wrong, by running them. It proves nothing
//! about memory orderings: a model checker does. It says nothing about speed.

mod alloc;
mod block;
pub mod conformance;
mod everywhere;
mod hand;
mod history;
mod puppet;
mod seed;
mod sync;
mod waker;

pub use alloc::{CountingAlloc, Heap};
pub use block::block_on;
pub use everywhere::{Dropped, Points, Turn, drop_everywhere};
pub use hand::{Boxed, Hand};
pub use history::{Consumer, History, Producer, Stamp, Verdict};
pub use puppet::Puppet;
pub use seed::{SEED_VARIABLE, seed, seeded};
pub use waker::{Moment, Script, Scripted, Tally};

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

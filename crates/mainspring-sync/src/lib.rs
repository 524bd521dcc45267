//! Channels, locks and permits for tasks, under any executor.

mod block;
pub mod channel;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

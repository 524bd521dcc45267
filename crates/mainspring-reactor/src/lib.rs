//! Asynchronous sockets, on whatever the operating system offers, under any executor.
//!
//! | item | what it is |
//! |---|---|
//! | [`net`] | TCP: listeners, streams and their halves, sockets with options, look-up |
//! | [`buf`] | buffers that are lent, and buffers that go in and come back |
//! | [`Reactor`] | the [`Driver`](mainspring_core::driver::Driver) of a worker that knows I/O |
//! | [`Backend`] | what serves the sockets, and why that |
//! | [`ReactorError`] | what the reactor itself may have to say |
//!
//! # Alone or together
//!
//! On a thread that drives a [`Reactor`] sockets belong to it, and no other thread takes part.
//! Where none is current (under tokio, under smol, under a hand-written loop) the caller makes the
//! system calls and one background thread, started on first use, delivers readiness.
//!
//! # Nothing is lost
//!
//! A call whose future has a named type may be dropped at any time: what arrives meanwhile is there
//! for the next one. It is marked [`CancelSafe`](mainspring_core::CancelSafe). The other calls say
//! what they lose.

mod backend;
mod background;
pub mod buf;
mod driver;
mod error;
pub mod net;

pub use self::backend::{Backend, Explanation, RingRefusal, UnknownBackend};
pub use self::driver::Reactor;
pub use self::error::ReactorError;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

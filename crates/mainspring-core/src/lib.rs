//! The words an async runtime is made of.
//!
//! Every crate of the mainspring family depends on this one and on no other: what two of them
//! need from each other is a trait or a type here. The modules are independent of any executor,
//! so each of them is also useful under tokio, smol or a hand-written loop.
//!
//! | module | what it is |
//! |---|---|
//! | [`driver`] | "wait for the outside world until then": what an executor parks on |
//! | [`time`] | nanoseconds since one origin, clocks, deadlines |
//! | [`context`] | what is current on this thread, and the guard that restores it |

mod atomic_waker;
pub mod context;
pub mod driver;
pub mod handshake;
#[cfg(test)]
mod recorder;
pub mod relay;
#[doc(hidden)]
pub mod sync;
pub mod time;
mod wake_batch;

pub use atomic_waker::AtomicWaker;
pub use handshake::Handshake;
pub use handshake::completion::{Completer, Completion, completion, completion_with_cancel};
pub use relay::Relay;
pub use wake_batch::WakeBatch;

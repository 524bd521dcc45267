//! The runtimes: an executor over the timer's driver over the reactor.

mod block_on;
mod local;
mod stack;

pub use self::block_on::block_on;
pub use self::local::{LocalBuilder, LocalRuntime};

//! The runtimes: executors over the timer's driver over the reactor.

mod block_on;
mod builder;
mod handle;
mod local;
mod stack;
mod stealing;

pub use self::block_on::block_on;
pub use self::builder::RuntimeBuilder;
pub use self::handle::Handle;
pub use self::local::{LocalBuilder, LocalRuntime};
pub use self::stealing::Runtime;

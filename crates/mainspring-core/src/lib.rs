//! The words an async runtime is made of.
//!
//! Every crate of the mainspring family depends on this one and on no other: what two of them
//! need from each other is a trait or a type here. The modules are independent of any executor,
//! so each of them is also useful under tokio, smol or a hand-written loop.
//!
//! | module | what it is |
//! |---|---|
//! | [`driver`] | "wait for the outside world until then": what an executor parks on |
//! | [`park`] | one thread to sleep, any other to wake it |
//! | [`time`] | nanoseconds since one origin, clocks, deadlines |
//! | [`poll`], [`budget`], [`wait`] | what a poll knows: its task, its budget, why it is pending |
//! | [`wait_list`] | the queue of waiting futures that every primitive parks on |
//! | [`list`], [`ring`], [`heap`] | an intrusive list, a fixed ring, an indexed min-heap |
//! | [`mod@handshake`], [`relay`] | a value, or many, from one producer to one consumer |
//! | [`AtomicWaker`], [`WakeBatch`] | a place for one waker; wakers to be woken outside a lock |
//! | [`task`] | a future that runs by itself: runnable, join handle, waker, registry, queues |
//! | [`trace`] | hook points for a recorder |
//! | [`spawn`], [`microtask`] | tasks and jobs on whatever executor is current |
//! | [`blocking`] | threads for work that blocks |
//! | [`cancel_safe`] | which futures may be dropped without loss |
//! | [`random`], [`load`], [`readiness`], [`shutdown`] | what executor and reactor tell the code |
//! | [`context`] | what is current on this thread, and the guard that restores it |

mod atomic_waker;
pub mod blocking;
pub mod budget;
pub mod cancel_safe;
pub mod context;
pub mod driver;
pub mod handshake;
pub mod heap;
pub mod list;
pub mod load;
pub mod microtask;
pub mod park;
#[doc(hidden)]
pub mod payload;
pub mod poll;
pub mod random;
pub mod readiness;
pub mod relay;
pub mod ring;
pub mod shutdown;
pub mod spawn;
#[doc(hidden)]
pub mod sync;
pub mod task;
#[cfg(test)]
mod tests;
pub mod time;
pub mod trace;
pub mod wait;
pub mod wait_list;
mod wake_batch;

pub use self::heap::Heap;
pub use self::list::List;
pub use self::ring::Ring;
pub use self::wait_list::WaitList;
pub use atomic_waker::AtomicWaker;
pub use cancel_safe::{AssertCancelSafe, CancelSafe, assert_cancel_safe};
pub use handshake::Handshake;
pub use handshake::completion::{Completer, Completion, completion, completion_with_cancel};
pub use relay::Relay;
pub use wake_batch::WakeBatch;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! The completion ring: operations are handed to the kernel, which says when they are done.
//!
//! # The walk of a byte
//!
//! ```text
//! kernel receives into a provided buffer, posts a completion with the operation's number
//!   ─▶ hub: reaps, finds the socket by the number            (cell)
//!   ─▶ the socket's half: the piece joins the carry-over      (read_half)
//!   ─▶ the reader is woken; its next read copies out, or lends the buffer itself
//!   ─▶ the buffer goes back to the ring with the next turn    (provided)
//! ```
//!
//! | file | what |
//! |---|---|
//! | `probe` | whether there is a ring, and if not, why |
//! | `ring` | the two queues, and who may touch which end |
//! | `provided` | the buffers that the kernel receives into |
//! | `carrier` | which of several rings has to do with an operation |
//! | `cell` | numbers of operations, and the references that they carry |
//! | `read_half`, `write_half` | what a direction owns: plain data |
//! | `side` | a direction between its caller and the ring: the lock and the waiter |
//! | `stream`, `listener` | the sockets around them |
//! | `remote` | what other threads hand in |
//! | `hub` | a turn, other threads' requests, the end |

mod carrier;
mod cell;
mod expedite;
mod hub;
mod listener;
mod probe;
mod provided;
mod read_half;
mod remote;
mod ring;
mod side;
mod stream;
mod write_half;

pub(crate) use self::hub::Hub;
pub(crate) use self::listener::Listener;
pub(crate) use self::probe::{Profile, probe};
pub(crate) use self::provided::Lent;
pub(crate) use self::ring::Completed;
pub(crate) use self::stream::{ReadOwnedState, Stream, WriteOwnedState};

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
pub(crate) mod tests;

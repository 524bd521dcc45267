//! The crate as its users see it.

mod channel;
mod rendezvous;

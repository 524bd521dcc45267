//! The door to the queues between workers.

pub(crate) mod local;

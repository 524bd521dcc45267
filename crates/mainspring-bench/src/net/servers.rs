//! The peers' servers, one file each: a task a connection, its loop as users write it.

pub mod compio;
pub mod glommio;
pub mod hyper;
pub mod monoio;
pub mod ours;
pub mod smol;
pub mod tokio;

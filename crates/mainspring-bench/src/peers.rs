//! The runtimes that ours is measured against, one file each.

pub mod compio;
pub mod glommio;
pub mod monoio;
pub mod smol;
pub mod tokio;

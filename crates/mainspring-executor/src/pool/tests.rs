pub(crate) mod rig;
#[cfg(not(mainspring_loom))]
mod whole;

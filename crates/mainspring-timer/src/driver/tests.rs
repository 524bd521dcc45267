#[cfg(not(mainspring_loom))]
mod busy;
#[cfg(not(mainspring_loom))]
mod home;
#[cfg(not(mainspring_loom))]
mod latency;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(mainspring_loom))]
pub(crate) mod rig;
#[cfg(not(mainspring_loom))]
mod wake;

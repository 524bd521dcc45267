#[cfg(not(mainspring_loom))]
mod aborts;
#[cfg(not(mainspring_loom))]
mod home;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(mainspring_loom))]
mod names;
#[cfg(not(mainspring_loom))]
mod orders;
#[cfg(not(mainspring_loom))]
mod panics;
#[cfg(not(mainspring_loom))]
mod runs;
#[cfg(mainspring_shuttle)]
mod shuttle;
pub(crate) mod support;
#[cfg(not(mainspring_loom))]
mod wakers;

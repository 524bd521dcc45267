#[cfg(not(mainspring_loom))]
mod corrections;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(mainspring_loom))]
mod order;
#[cfg(not(mainspring_loom))]
pub(in crate::pool) mod script;
#[cfg(mainspring_shuttle)]
mod shuttle;
#[cfg(not(mainspring_loom))]
mod sim;
#[cfg(not(mainspring_loom))]
mod sleep;

mod kinds;

#[cfg(not(mainspring_loom))]
mod behaviour;
#[cfg(not(mainspring_loom))]
mod corrections;
#[cfg(all(not(mainspring_loom), debug_assertions))]
mod crowds;
#[cfg(not(mainspring_loom))]
mod foreign;
#[cfg(not(mainspring_loom))]
mod forgotten;
#[cfg(not(mainspring_loom))]
mod grants;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(mainspring_loom))]
mod props;
#[cfg(mainspring_shuttle)]
mod shuttle;
#[cfg(not(mainspring_loom))]
mod slot;
#[cfg(not(mainspring_loom))]
mod tasks;

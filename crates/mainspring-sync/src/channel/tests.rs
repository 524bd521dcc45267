#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod behaviour;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod close;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod foreign;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
pub(super) mod kit;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod props;
#[cfg(all(feature = "sink", not(all(mainspring_loom, feature = "loom"))))]
mod sink;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod streams;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod traits;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod unbounded;

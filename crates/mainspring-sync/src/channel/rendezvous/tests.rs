#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod behaviour;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod conformance;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod hostile;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod props;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod streams;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod threads;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod traits;

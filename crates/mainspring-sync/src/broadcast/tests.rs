#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod hostile;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod lossless;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod lossy;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod props;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod support;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod traits;

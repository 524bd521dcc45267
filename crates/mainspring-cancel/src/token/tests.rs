//! The token, alone and against others.

#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod callbacks;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod counted;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod deadlines;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod props;
#[cfg(all(mainspring_loom, feature = "loom"))]
pub(crate) mod racing;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod threads;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod trees;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod unit;
pub(crate) mod wakers;

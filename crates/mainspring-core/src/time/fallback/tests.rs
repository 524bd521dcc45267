#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(all(mainspring_loom, feature = "loom"))]
pub(in crate::time) mod model;

#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod unit;

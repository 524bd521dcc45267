#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(mainspring_loom))]
mod queue;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod support;
#[cfg(not(mainspring_loom))]
mod unit;

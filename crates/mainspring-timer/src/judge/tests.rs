#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(mainspring_loom))]
mod unit;

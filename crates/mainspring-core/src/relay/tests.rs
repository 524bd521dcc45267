#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(mainspring_loom))]
mod props;
#[cfg(not(mainspring_loom))]
mod unit;

#[cfg(not(mainspring_loom))]
mod corrections;
#[cfg(not(mainspring_loom))]
mod driving;
#[cfg(not(mainspring_loom))]
mod ending;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(mainspring_loom))]
mod running;
#[cfg(not(mainspring_loom))]
mod shutdown;

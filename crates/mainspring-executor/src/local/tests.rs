#[cfg(not(mainspring_loom))]
mod corrections;
#[cfg(not(mainspring_loom))]
mod driving;
#[cfg(not(mainspring_loom))]
mod ending;
#[cfg(not(mainspring_loom))]
mod running;

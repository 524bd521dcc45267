#[cfg(not(mainspring_loom))]
mod model;
#[cfg(not(mainspring_loom))]
mod retired;

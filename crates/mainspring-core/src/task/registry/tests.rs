#[cfg(not(mainspring_loom))]
mod model;

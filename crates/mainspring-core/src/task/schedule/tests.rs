#[cfg(not(mainspring_loom))]
mod purse;

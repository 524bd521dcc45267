#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod unit;

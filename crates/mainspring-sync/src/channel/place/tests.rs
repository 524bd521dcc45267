#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;

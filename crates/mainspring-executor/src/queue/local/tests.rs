#[cfg(not(mainspring_loom))]
mod both_ends;
#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;

#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;

#[cfg(mainspring_shuttle)]
mod shuttle;

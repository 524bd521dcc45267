#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(any(all(mainspring_loom, feature = "loom"), mainspring_shuttle)))]
mod unit;

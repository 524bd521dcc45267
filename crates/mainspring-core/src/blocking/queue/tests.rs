mod support;

#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;

#[cfg(mainspring_shuttle)]
mod shuttle;

#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod unit;

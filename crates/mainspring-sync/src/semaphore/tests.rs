#[cfg(all(test, debug_assertions, not(all(mainspring_loom, feature = "loom"))))]
mod crowds;
#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod forgotten;
#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod futurelock;
#[cfg(all(test, mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod props;
pub(crate) mod support;
#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod traits;
#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod unit;
#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod waiting;

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod futurelock;
#[cfg(all(test, mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod traits;
#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod unit;

/// For the models, which name no primitive.
#[cfg(all(test, mainspring_loom, feature = "loom"))]
type Counted = super::Mutex<i32>;

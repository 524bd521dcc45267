//! What the tests of the signals share, and the tests of the waiter itself.

#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod counted;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
pub(crate) mod hooks;
#[cfg(all(mainspring_loom, feature = "loom"))]
pub(crate) mod racing;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
pub(crate) mod threads;
pub(crate) mod wakers;

#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod unit;

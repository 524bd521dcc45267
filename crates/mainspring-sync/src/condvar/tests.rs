#[cfg(all(test, mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod unit;

/// For the models, which name no primitive.
#[cfg(all(test, mainspring_loom, feature = "loom"))]
#[derive(Default)]
struct Flag {
    is_set: crate::mutex::Mutex<bool>,
    changed: super::Condvar,
}

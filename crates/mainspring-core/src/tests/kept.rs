//! Things that live until the process ends.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

/// Never drops `value`: for fixtures of which statics are made, and for what may not be dropped.
///
/// It stays reachable, unlike what is forgotten or leaked, which a leak checker could not tell from
/// a leak of ours.
pub(crate) fn keep<T: Any + Send + Sync>(value: T) -> &'static T {
    static KEPT: Mutex<Vec<&(dyn Any + Send + Sync)>> = Mutex::new(Vec::new());
    let value: &'static T = Box::leak(Box::new(value));
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push(value);
    value
}

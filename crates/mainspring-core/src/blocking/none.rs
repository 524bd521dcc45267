//! A model has no process to keep lanes in: each call makes one of its own.

use super::queue::Lane;
use super::{Blocking, BlockingGroup};

pub(super) fn lane(class: Blocking) -> &'static Lane {
    Box::leak(Box::new(Lane::new(class)))
}

pub(super) fn ungrouped() -> BlockingGroup {
    BlockingGroup::new()
}

//! The lanes of the process, and the group of those who entered none.

use super::queue::Lane;
use super::{Blocking, BlockingGroup};
use std::sync::LazyLock;

/// The lane of a class. Its threads start with its first jobs.
pub(super) fn lane(class: Blocking) -> &'static Lane {
    static SYSCALL: LazyLock<Lane> = LazyLock::new(|| Lane::new(Blocking::Syscall));
    static COMPUTE: LazyLock<Lane> = LazyLock::new(|| Lane::new(Blocking::Compute));
    static ABANDONABLE: LazyLock<Lane> = LazyLock::new(|| Lane::new(Blocking::Abandonable));
    match class {
        Blocking::Syscall => &SYSCALL,
        Blocking::Compute => &COMPUTE,
        Blocking::Abandonable => &ABANDONABLE,
    }
}

/// The group of those who entered none. Nobody closes it.
pub(super) fn ungrouped() -> BlockingGroup {
    static UNGROUPED: LazyLock<BlockingGroup> = LazyLock::new(BlockingGroup::new);
    UNGROUPED.clone()
}

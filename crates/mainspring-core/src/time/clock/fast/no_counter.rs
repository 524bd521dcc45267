//! No counter that could be trusted on this platform, or a model's build.

pub(super) fn is_trusted() -> bool {
    false
}

#[inline(always)]
pub(super) fn read() -> Option<u64> {
    None
}

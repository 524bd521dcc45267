//! Without the feature there is nothing to keep.

use std::marker::PhantomData;

/// Nothing.
pub(crate) struct Node<T>(PhantomData<fn() -> T>);

impl<T> Default for Node<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T> Node<T> {
    #[expect(
        clippy::unused_self,
        reason = "the form with the feature has something to drop"
    )]
    pub(crate) fn clear(&mut self) {}

    #[inline(always)]
    #[expect(
        clippy::unused_self,
        reason = "the form with the feature has something to leave"
    )]
    pub(crate) fn leave(&self) {}
}

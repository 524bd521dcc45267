//! Cancelling by a drop.

use super::CancelToken;
use crate::reason::{Reason, What};
use std::fmt;
use std::panic::Location;

/// Cancels its token when it is dropped, also by a panic. [`CancelToken::drop_guard`] makes one.
#[must_use = "dropping it cancels the token at once"]
pub struct DropGuard {
    token: Option<CancelToken>,
    at: &'static Location<'static>,
}

impl DropGuard {
    pub(super) fn new(token: CancelToken, at: &'static Location<'static>) -> Self {
        Self {
            token: Some(token),
            at,
        }
    }

    /// Gives the token back, which this guard then does not cancel.
    pub fn disarm(mut self) -> CancelToken {
        self.token.take().expect("taken by `disarm` alone")
    }
}

impl Drop for DropGuard {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            token.cancel(Reason::at(What::Requested, self.at).because("its guard was dropped"));
        }
    }
}

impl fmt::Debug for DropGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropGuard")
            .field("token", &self.token)
            .finish()
    }
}

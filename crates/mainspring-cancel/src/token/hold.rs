//! Keeping a token from being CANCELLED.

use super::{CancelToken, Phase, node};
use std::error::Error;
use std::fmt;
use std::panic::Location;

/// Keeps a token from being [`Cancelled`](Phase::Cancelled) until it is dropped: the mark of work
/// that [`drained`](CancelToken::drained) waits for. [`CancelToken::hold`] makes one.
#[must_use = "dropping it releases the hold at once"]
pub struct Hold {
    token: CancelToken,
    id: u64,
    at: &'static Location<'static>,
}

/// The token is [`Cancelled`](Phase::Cancelled) already, so that nobody would wait for a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained;

impl Hold {
    pub(super) fn take(
        token: &CancelToken,
        at: &'static Location<'static>,
    ) -> Result<Self, Drained> {
        let mut state = token.node.lock();
        if token.node.has_reached(Phase::Cancelled) {
            return Err(Drained);
        }
        let id = state.make_id();
        state.holds.insert(id, at);
        drop(state);
        Ok(Self {
            token: token.clone(),
            id,
            at,
        })
    }

    /// The token that is held.
    #[must_use]
    pub fn token(&self) -> &CancelToken {
        &self.token
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        node::take_away(&self.token.node, |state| state.holds.remove(&self.id));
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold")
            .field("at", &format_args!("{}", self.at))
            .field("token", &self.token)
            .finish()
    }
}

impl fmt::Display for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the token is cancelled, and everything was waited for")
    }
}

impl Error for Drained {}

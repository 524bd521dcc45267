//! Callbacks: registered, called once, or taken back.
//!
//! # Invariants
//!
//! - **register.never-lost** — a callback is called exactly once, or given back exactly once: what
//!   is registered on a token that has left ALIVE is called at once, by who registers it.
//! - **register.counted** — until a callback has returned its token is not CANCELLED, unless it was
//!   registered after that.
//!
//! # Rejected
//!
//! An unregistration that waits for a callback which runs: it deadlocks inside that callback, and
//! under any lock that the callback takes. Waiting is a future.

use super::node;
use super::{CancelToken, Phase, wave};
use crate::reason::Reason;
use mainspring_core::{Completer, Completion, completion};
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

/// What is called when a token is cancelled, as [`CancelToken::on_cancel`] keeps it.
pub type OnCancel = Box<dyn FnOnce(&Reason) + Send>;

/// A callback, and where it was registered.
pub(super) struct Callback {
    pub(super) call: OnCancel,
    pub(super) at: &'static Location<'static>,
}

/// A callback that is being called.
pub(super) struct Running {
    id: u64,
    pub(super) at: &'static Location<'static>,
    /// Whoever waits for its end.
    waiting: Option<Completer<()>>,
}

impl Running {
    pub(super) fn new(id: u64, at: &'static Location<'static>) -> Self {
        Self {
            id,
            at,
            waiting: None,
        }
    }

    fn find(row: &mut [Self], id: u64) -> Option<&mut Self> {
        row.iter_mut().find(|running| running.id == id)
    }

    /// Takes it out of the row; whom to tell, if anybody waits.
    pub(super) fn end(row: &mut Vec<Self>, id: u64) -> Option<Completer<()>> {
        let at = row.iter().position(|running| running.id == id)?;
        row.swap_remove(at).waiting
    }
}

/// Registers a callback, or calls it.
pub(super) fn register(
    token: &CancelToken,
    call: OnCancel,
    at: &'static Location<'static>,
) -> Registration {
    let node = &token.node;
    let callback = Callback { call, at };
    let mut state = node.lock();
    let id = state.make_id();
    let registration = Registration {
        token: token.clone(),
        id,
        is_spent: false,
    };
    if !node.has_reached(Phase::Cancelling) {
        // CLAIM: [register.never-lost] under the lock, under which a wave marks the node.
        state.callbacks.insert(id, callback);
        return registration;
    }
    // CLAIM: [register.counted] a token that is CANCELLED stays so, and nobody waits any more.
    state.running.push(Running::new(id, at));
    let reason = state.reason.clone();
    drop(state);
    wave::call(node, id, callback, reason.as_ref());
    registration
}

/// A callback that is registered with a token. Dropping it takes the callback back, and never
/// waits; a callback that is being called then goes on.
///
/// Keep it for as long as the callback may be called. It keeps the token in its tree, as any handle
/// does.
///
/// # Complexity
///
/// O(log n) in the callbacks of the token.
#[must_use = "dropping it takes the callback back at once"]
pub struct Registration {
    token: CancelToken,
    id: u64,
    is_spent: bool,
}

/// What [`Registration::unregister`] found.
#[must_use = "the callback may be running"]
pub enum Unregistered {
    /// It was not called and never will be. Here it is.
    Removed(OnCancel),
    /// It is being called: by another thread, or further up on this one's stack. To wait for its
    /// end await this, which never ends inside the callback itself.
    Running(WaitForIt),
    /// It was called, and has returned.
    Ran,
}

impl Registration {
    /// Takes the callback back, if it was not called. Never waits.
    ///
    /// ```
    /// use mainspring_cancel::{CancelToken, Reason, Unregistered};
    ///
    /// let token = CancelToken::new();
    /// let registration = token.on_cancel(|_| panic!("it was taken back"));
    /// assert!(matches!(registration.unregister(), Unregistered::Removed(_)));
    /// token.cancel(Reason::requested());
    /// ```
    pub fn unregister(mut self) -> Unregistered {
        self.is_spent = true;
        self.take_back(true)
    }

    fn take_back(&self, waits: bool) -> Unregistered {
        let id = self.id;
        node::take_away(&self.token.node, |state| {
            if let Some(callback) = state.callbacks.remove(&id) {
                // CLAIM: [register.never-lost] out of the row: nobody else finds it.
                return Unregistered::Removed(callback.call);
            }
            match Running::find(&mut state.running, id) {
                Some(running) if waits => {
                    let (completer, end) = completion();
                    running.waiting = Some(completer);
                    Unregistered::Running(WaitForIt { end })
                }
                _ => Unregistered::Ran,
            }
        })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if !self.is_spent {
            // What was removed is dropped here, without the lock.
            drop(self.take_back(false));
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Unregistered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Removed(_) => "Removed(..)",
            Self::Running(_) => "Running(..)",
            Self::Ran => "Ran",
        })
    }
}

/// Ends when a callback that was being called has returned, or panicked.
///
/// # Cancel safety
///
/// *Not restartable*: there is one of it, and the callback goes on without it. Dropping it costs
/// nothing else. Polled after its end it is ready again.
#[must_use = "futures do nothing unless polled"]
pub struct WaitForIt {
    end: Completion<()>,
}

impl Future for WaitForIt {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.end).poll(cx).map(drop)
    }
}

impl fmt::Debug for WaitForIt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitForIt").finish_non_exhaustive()
    }
}

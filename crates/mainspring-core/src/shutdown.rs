//! The signal that the executor is about to end, for the tasks that want to end well.
//!
//! Whoever runs an executor holds the [`Controller`] and enters its signal on every worker; tasks
//! ask for it with [`signal`]. It only tells: who does not listen is polled until the executor's
//! grace has passed, and then dropped.
//!
//! ```
//! use mainspring_core::shutdown::{self, Controller};
//! use mainspring_core::time::Deadline;
//! use std::time::Duration;
//!
//! let controller = Controller::new();
//! let _entered = shutdown::enter(&controller.signal()); // on each worker
//!
//! // In a task:
//! let signal = shutdown::signal();
//! assert!(!signal.is_requested());
//!
//! // Whoever ends it all:
//! controller.request(Deadline::after(Duration::from_secs(10)));
//! assert!(signal.is_requested());
//! assert!(!signal.deadline().is_never());
//! ```
//!
//! # Invariants
//!
//! - **shutdown.told** — a wait that is registered was not requested yet, and the request that
//!   comes takes it out and wakes it: both look at the state under one lock.
//!
//! No waker is cloned, woken or dropped while the lock is held.

use crate::context::{Entered, Slot};
use crate::payload::absorb;
use crate::sync::{Arc, Mutex, thread_local};
use crate::time::Deadline;
use crate::wait::{self, WaitKind};
use crate::wake_batch::WakeBatch;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

#[derive(Debug, Default)]
struct State {
    requested: Option<Deadline>,
    /// By number, so that they are woken in the order in which they came.
    waiting: BTreeMap<u64, Waker>,
    next: u64,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
}

/// The end that requests the shutdown: its owner runs the executor.
///
/// Dropping it requests nothing; signals that it gave out are then never requested.
pub struct Controller {
    shared: Arc<Shared>,
}

impl Controller {
    /// A shutdown that nobody has requested yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State::default()),
            }),
        }
    }

    /// The end that is told.
    #[must_use]
    pub fn signal(&self) -> Signal {
        Signal {
            shared: Some(Arc::clone(&self.shared)),
        }
    }

    /// Requests the shutdown, to be complete by `deadline`, and wakes all who wait for it.
    /// Requested again, the earlier deadline holds. A waker that panics is contained, so that the
    /// shutdown goes on: the panic hook has reported it.
    pub fn request(&self, deadline: Deadline) {
        loop {
            let mut batch = WakeBatch::new();
            let mut state = self.shared.state.lock();
            let earliest = state
                .requested
                .map_or(deadline, |before| before.earliest(deadline));
            state.requested = Some(earliest);
            while batch.has_room() {
                let Some((_, waker)) = state.waiting.pop_first() else {
                    break;
                };
                let pushed = batch.push(waker);
                debug_assert!(pushed.is_ok(), "shutdown.told: a waker came back");
            }
            drop(state);
            if batch.is_empty() {
                return;
            }
            absorb(|| batch.wake_all());
        }
    }
}

impl Default for Controller {
    fn default() -> Self {
        Self::new()
    }
}

/// The end that is told: the shutdown of the executor it was asked of.
///
/// Clones are the same signal.
#[derive(Clone)]
pub struct Signal {
    /// `None`: no executor, no shutdown.
    shared: Option<Arc<Shared>>,
}

impl Signal {
    /// Whether the shutdown was requested. Takes a short lock.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.look().is_some()
    }

    /// When the shutdown is to be complete; never, while none was requested.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        self.look().unwrap_or_default()
    }

    fn look(&self) -> Option<Deadline> {
        let shared = self.shared.as_ref()?;
        shared.state.lock().requested
    }

    /// Waits until the shutdown is requested, and returns its deadline.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: the request stays.
    ///
    /// One small allocation while it waits.
    pub fn requested(&self) -> Requested {
        Requested {
            signal: self.clone(),
            number: None,
        }
    }
}

/// The future of [`Signal::requested`].
///
/// # Cancel safety
///
/// *Safe*: the request stays.
#[must_use = "futures do nothing unless polled"]
pub struct Requested {
    signal: Signal,
    number: Option<u64>,
}

impl Future for Requested {
    type Output = Deadline;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Deadline> {
        let this = &mut *self;
        let Some(shared) = &this.signal.shared else {
            wait::note(WaitKind::Signal, 0);
            return Poll::Pending;
        };
        let waker = cx.waker().clone();
        let mut state = shared.state.lock();
        if let Some(deadline) = state.requested {
            drop(state);
            return Poll::Ready(deadline);
        }
        debug_assert!(
            this.number
                .is_none_or(|number| state.waiting.contains_key(&number)),
            "shutdown.told: taken out and not requested"
        );
        let number = this.number.unwrap_or(state.next);
        if this.number.is_none() {
            state.next += 1;
            this.number = Some(number);
        }
        let before = state.waiting.insert(number, waker);
        drop(state);
        drop(before);
        wait::note(WaitKind::Signal, 0);
        Poll::Pending
    }
}

impl crate::cancel_safe::CancelSafe for Requested {}

impl Drop for Requested {
    fn drop(&mut self) {
        if let (Some(number), Some(shared)) = (self.number, &self.signal.shared) {
            let waker = shared.state.lock().waiting.remove(&number);
            // The guard is gone at the end of the statement above.
            drop(waker);
        }
    }
}

thread_local! {
    static SIGNAL: Slot<Signal> = const { Slot::new() };
}

/// The shutdown of the executor that runs this thread. Where none does, one that is never
/// requested: code that waits for it beside its work needs no special case.
#[must_use]
pub fn signal() -> Signal {
    SIGNAL.with(|slot| slot.with(|signal| signal.cloned().unwrap_or(Signal { shared: None })))
}

/// Makes `signal` this thread's, for a worker's life.
pub fn enter(signal: &Signal) -> Entered {
    Entered::new(&SIGNAL, std::sync::Arc::new(signal.clone()))
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Controller").field(&self.signal()).finish()
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal")
            .field("requested", &self.look())
            .finish()
    }
}

impl fmt::Debug for Requested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Requested").field(&self.signal).finish()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

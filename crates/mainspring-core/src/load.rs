//! How loaded the executor of this thread is, for whoever decides whether to take on more.
//!
//! ```
//! use mainspring_core::load::{self, Load};
//! use mainspring_core::time::Nanos;
//! use std::sync::Arc;
//!
//! assert_eq!(load::delay(), None); // nobody measures here
//!
//! struct Measured; // what an executor's worker keeps
//! impl Load for Measured {
//!     fn delay(&self) -> Option<Nanos> {
//!         Some(Nanos(40_000))
//!     }
//! }
//! let _entered = load::enter(Arc::new(Measured));
//! assert_eq!(load::delay(), Some(Nanos(40_000)));
//! ```

use crate::context::{Entered, Slot};
use crate::sync::thread_local;
use crate::time::Nanos;
use std::fmt;
use std::sync::Arc;

/// What a worker knows about its own lateness.
pub trait Load {
    /// How long tasks that were woken have recently waited until they ran, in nanoseconds; `None`
    /// if nothing was measured yet.
    fn delay(&self) -> Option<Nanos>;

    /// Whether a task of the executor is ready, or about to be, that none of its threads has been
    /// called for yet: for whoever would move a stopped clock because all of them wait.
    ///
    /// Called by a thread of the executor while the others wait in their drivers. `false` unless
    /// the executor knows better: one whose wakes always call a thread has nothing to say.
    fn has_work(&self) -> bool {
        false
    }
}

thread_local! {
    static LOAD: Slot<dyn Load> = const { Slot::new() };
}

/// How late woken tasks run on this worker, in nanoseconds. `None` where no worker of ours runs or
/// nothing was measured yet: a limiter then decides without it.
///
/// One thread-local access and a virtual call.
#[must_use]
pub fn delay() -> Option<Nanos> {
    LOAD.with(|slot| slot.with(|load| load.and_then(Load::delay)))
}

/// Whether a task of this thread's executor is ready that nobody was called for: see
/// [`Load::has_work`]. `false` where nobody says.
#[must_use]
pub fn has_work() -> bool {
    LOAD.with(|slot| slot.with(|load| load.is_some_and(Load::has_work)))
}

/// Makes `load` this thread's, for a worker's life.
pub fn enter(load: Arc<dyn Load>) -> Entered {
    Entered::new(&LOAD, load)
}

impl fmt::Debug for dyn Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Load").field(&self.delay()).finish()
    }
}

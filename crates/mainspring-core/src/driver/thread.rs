//! The innermost driver when there is no I/O: it only parks its thread.

use super::{Driver, DriverHandle, Turn, Until};
use crate::context::Entered;
use crate::park::{Parker, Unparker};
use crate::time::{self, Nanos};
use std::fmt;
use std::io;
use std::sync::Arc;

/// Parks the thread, and nothing else: what `block_on` and a pool without I/O drive.
///
/// Wrap it in the timer's driver to have timers; use the reactor instead to have I/O.
///
/// ```
/// use mainspring_core::driver::{Driver, ThreadDriver, Until};
///
/// let mut driver = ThreadDriver::new();
/// let handle = driver.handle();
/// let other = std::thread::spawn(move || handle.unpark());
/// let turn = driver.park(Until::Forever)?; // until the other thread says so
/// assert_eq!(turn.woken, 0);
/// # other.join().unwrap();
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ThreadDriver {
    parker: Parker,
    handle: Arc<ThreadHandle>,
}

struct ThreadHandle {
    unparker: Unparker,
}

impl ThreadDriver {
    /// A driver with one token for its wake-ups. Two allocations.
    #[must_use]
    pub fn new() -> Self {
        let parker = Parker::new();
        let unparker = parker.unparker();
        Self {
            parker,
            handle: Arc::new(ThreadHandle { unparker }),
        }
    }
}

impl Driver for ThreadDriver {
    /// Never fails.
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        // Both ways to wake lead to a new turn; what there is to do, the worker's queues know.
        let _ = self.parker.park_until(until);
        Ok(Turn {
            now: time::anchor(),
            woken: 0,
        })
    }

    fn peek(&self) -> bool {
        false
    }

    fn handle(&self) -> Arc<dyn DriverHandle> {
        Arc::clone(&self.handle) as Arc<dyn DriverHandle>
    }
}

impl DriverHandle for ThreadHandle {
    fn enter(&self) -> Entered {
        Entered::nothing()
    }

    fn unpark(&self) {
        self.unparker.unpark();
    }

    fn rescue(&self, _now: Nanos, _limit: usize) -> usize {
        0
    }

    fn next(&self) -> Option<Nanos> {
        None
    }
}

impl Default for ThreadDriver {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ThreadDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadDriver").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

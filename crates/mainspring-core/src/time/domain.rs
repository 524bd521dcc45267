//! One clock for the threads of one executor, which can be stopped.
//!
//! Time is virtual for a whole executor or not at all: a task that moves to another worker must
//! find the same time there. So the threads of an executor share a [`Domain`]. It costs them
//! nothing until somebody stops its clock; from then on [`now`](super::now) asks it.
//!
//! The domain only keeps the time. Who moves it on, and when, is for whoever waits for deadlines:
//! the timer's driver, which hangs what it needs for that on the domain ([`Domain::kept`]).
//!
//! # Invariants
//!
//! - **domain.forward** — a domain's clock never goes back: not at a pause, not at a resume, not
//!   when it is moved.
//! - **domain.at-once** — whoever comes after a pause reads the time at which the clock stands, on
//!   every thread that has entered the domain. The real clock is read first and the switch
//!   afterwards: a reading that misses the switch is older than the pause.
//!
//! Two threads that read and pause at the same moment agree as two readings of the real clock on
//! two threads do: to less than a microsecond.
//!
//! # Rejected
//!
//! A clock that each thread enters when it next parks: a task that is spawned after a pause may run
//! before that, in a turn that has begun already, and would read the real time. A clock that is
//! entered from the start and asks a flag: three times the cost of a load, in every program, for
//! what only tests use.

use super::Nanos;
use super::clock::{Clock, FastClock, SystemClock};
use crate::context::{Entered, Slot};
use crate::sync::atomic::{AtomicBool, Ordering::Relaxed};
use crate::sync::{Mutex, thread_local};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Whether the clock of any domain of the process was ever stopped: until then nobody looks for
/// one.
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod ever {
    use crate::sync::global::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    static IS_VIRTUAL: AtomicBool = AtomicBool::new(false);

    #[inline]
    pub(super) fn any() -> bool {
        IS_VIRTUAL.load(Relaxed)
    }

    pub(super) fn note() {
        IS_VIRTUAL.store(true, Relaxed);
    }
}

/// In models always: what one execution does must not be seen by the next.
#[cfg(all(mainspring_loom, feature = "loom"))]
mod ever {
    pub(super) fn any() -> bool {
        true
    }

    pub(super) fn note() {}
}

thread_local! {
    static DOMAIN: Slot<Current> = const { Slot::new() };
}

/// A domain that was entered, and what is kept for as long.
struct Current {
    domain: Domain,
    _kept: Option<Box<dyn Any + Send + Sync>>,
}

/// The threads whose time is the same. Clones are the same domain.
///
/// An executor makes one and [enters](Self::enter) it on each of its threads where the thread's
/// driver is made. A driver that keeps time takes the [current](Self::current) one, and enters it
/// wherever it is entered itself. Where none is current, a timer driver makes one for its thread.
///
/// Tests pause time through the timer crate, which also moves it; the methods here are for those
/// who keep time.
///
/// # Complexity and allocation
///
/// [`time::now`](super::now) costs one load more once the clock of any domain of the process was
/// stopped, and a short lock where that domain is current. One allocation to make, two to enter.
///
/// ```
/// use mainspring_core::time::{Domain, now};
/// use std::time::Duration;
///
/// let domain = Domain::new();
/// let entered = domain.enter(); // on each thread
/// domain.pause();
/// let start = now();
/// domain.move_to(start.saturating_add(Duration::from_secs(3600)));
/// assert_eq!(now().since(start), Duration::from_secs(3600));
/// # drop(entered);
/// ```
#[derive(Clone)]
pub struct Domain {
    shared: Arc<Shared>,
}

struct Shared {
    is_paused: AtomicBool,
    /// `None`: real, as it is until the first pause.
    mode: Mutex<Option<Mode>>,
    /// What those who keep time for it have hung on it, one of each type.
    kept: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

#[derive(Clone, Copy)]
enum Mode {
    Frozen(Nanos),
    /// It stood at `from` when the real time was `since`.
    Running {
        from: Nanos,
        since: Nanos,
    },
}

impl Mode {
    fn now(self) -> Nanos {
        match self {
            Self::Frozen(now) => now,
            Self::Running { from, since } => from.saturating_add(SystemClock.now().since(since)),
        }
    }
}

impl Domain {
    /// A domain whose clock is the real one.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                is_paused: AtomicBool::new(false),
                mode: Mutex::new(None),
                kept: Mutex::new(Vec::new()),
            }),
        }
    }

    /// The domain that was entered last on this thread.
    #[must_use]
    pub fn current() -> Option<Self> {
        DOMAIN.with(|slot| slot.with(|current| current.map(|current| current.domain.clone())))
    }

    /// Makes this thread one of the domain's while the guard lives.
    pub fn enter(&self) -> Entered {
        self.enter_keeping(None)
    }

    /// As [`enter`](Self::enter), and drops `kept` when the thread leaves.
    pub fn enter_with<T: Any + Send + Sync>(&self, kept: T) -> Entered {
        self.enter_keeping(Some(Box::new(kept)))
    }

    fn enter_keeping(&self, kept: Option<Box<dyn Any + Send + Sync>>) -> Entered {
        let current = Current {
            domain: self.clone(),
            _kept: kept,
        };
        Entered::new(&DOMAIN, Arc::new(current))
    }

    /// What hangs on the domain of type `T`: made at the first call.
    pub fn kept<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(found) = self.find() {
            return found;
        }
        let made = Arc::new(make());
        let mut kept = self.shared.kept.lock();
        let found = kept
            .iter()
            .find_map(|one| Arc::clone(one).downcast::<T>().ok());
        if let Some(found) = found {
            drop(kept);
            return found;
        }
        kept.push(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        made
    }

    fn find<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let kept = self.shared.kept.lock();
        kept.iter()
            .find_map(|one| Arc::clone(one).downcast::<T>().ok())
    }

    /// The time in this domain.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.now_or(FastClock.now())
    }

    /// The time in this domain if its clock was ever stopped, else `real`.
    #[must_use]
    pub fn now_or(&self, real: Nanos) -> Nanos {
        self.virtual_now().unwrap_or(real)
    }

    fn virtual_now(&self) -> Option<Nanos> {
        self.shared.mode.lock().map(Mode::now)
    }

    /// Whether the clock stands. One load.
    #[inline]
    #[must_use]
    pub fn is_paused(&self) -> bool {
        // Relaxed: who has to know is told afterwards, by something that synchronizes.
        self.shared.is_paused.load(Relaxed)
    }

    /// Whether the clock was ever stopped, and has been its own since.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        self.shared.mode.lock().is_some()
    }

    /// Stops the clock where it is. Pausing twice is pausing once.
    pub fn pause(&self) {
        ever::note();
        let mut mode = self.shared.mode.lock();
        // CLAIM: [domain.at-once] the switch first, then the time, under the lock that readers
        // who see the switch wait for.
        let now = mode.map_or_else(|| FastClock.now(), Mode::now);
        *mode = Some(Mode::Frozen(now));
        self.shared.is_paused.swap(true, Relaxed);
    }

    /// Lets the clock run on from where it stands. Does nothing if it runs.
    pub fn resume(&self) {
        let mut mode = self.shared.mode.lock();
        if let Some(Mode::Frozen(now)) = *mode {
            let running = Mode::Running {
                from: now,
                since: SystemClock.now(),
            };
            debug_assert!(running.now() >= now, "domain.forward: back at a resume");
            *mode = Some(running);
        }
        self.shared.is_paused.swap(false, Relaxed);
    }

    /// Moves the stopped clock forward to `moment`, and says where it stands then: there, or where
    /// it stood if that is later. A clock that runs is left alone.
    pub fn move_to(&self, moment: Nanos) -> Nanos {
        let mut mode = self.shared.mode.lock();
        let Some(Mode::Frozen(before)) = *mode else {
            drop(mode);
            return self.now();
        };
        let now = before.max(moment);
        debug_assert!(now >= before, "domain.forward: moved back");
        *mode = Some(Mode::Frozen(now));
        now
    }
}

impl Default for Domain {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Domain {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Domain {}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Domain")
            .field("is_paused", &self.is_paused())
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}

/// The time on this thread, where the real clock has just said `real`.
#[inline]
pub(super) fn now_over(real: Nanos) -> Nanos {
    if ever::any() {
        virtual_over(real)
    } else {
        real
    }
}

#[cold]
fn virtual_over(real: Nanos) -> Nanos {
    DOMAIN.with(|slot| {
        slot.with(|current| current.map_or(real, |current| current.domain.now_or(real)))
    })
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

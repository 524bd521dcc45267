//! Values that make trouble when they are dropped.

use crate::history::Stamp;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::waker::Scripted;
use std::fmt;

/// Makes parcels, and counts those that are alive.
#[derive(Clone, Debug, Default)]
pub struct Parcels {
    alive: Arc<AtomicUsize>,
}

/// A value to be sent, that knows when it is dropped.
///
/// It neither can be cloned nor has a default: a channel has to move it.
pub struct Parcel {
    stamp: Stamp,
    load: Load,
    alive: Arc<AtomicUsize>,
}

enum Load {
    Nothing,
    /// Panics when it is dropped.
    Panic,
    /// Calls this when it is dropped.
    Call(Option<Box<dyn FnOnce() + Send>>),
}

impl Parcels {
    /// None so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many exist.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.alive.load(Relaxed)
    }

    /// One that does nothing.
    #[must_use]
    pub fn plain(&self, stamp: Stamp) -> Parcel {
        self.with(stamp, Load::Nothing)
    }

    /// One that panics with [`Scripted`] when it is dropped.
    #[must_use]
    pub fn panicking(&self, stamp: Stamp) -> Parcel {
        self.with(stamp, Load::Panic)
    }

    /// One that calls this when it is dropped.
    #[must_use]
    pub fn calling(&self, stamp: Stamp, call: impl FnOnce() + Send + 'static) -> Parcel {
        self.with(stamp, Load::Call(Some(Box::new(call))))
    }

    fn with(&self, stamp: Stamp, load: Load) -> Parcel {
        self.alive.fetch_add(1, Relaxed);
        Parcel {
            stamp,
            load,
            alive: Arc::clone(&self.alive),
        }
    }
}

impl Parcel {
    /// Who it is.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Takes the sting out: nothing happens when it is dropped.
    #[must_use]
    pub fn defused(mut self) -> Self {
        self.load = Load::Nothing;
        self
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Relaxed);
        match &mut self.load {
            Load::Nothing => {}
            Load::Panic => Scripted::panic(),
            Load::Call(call) => {
                if let Some(call) = call.take() {
                    call();
                }
            }
        }
    }
}

impl fmt::Debug for Parcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parcel({})", self.stamp)
    }
}

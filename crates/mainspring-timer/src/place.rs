//! Where a driver stands: on which thread, in which domain.
//!
//! # Invariants
//!
//! - **place.own** — drivers that are made on one thread where no domain was entered share a domain
//!   of that thread. It lasts while one of them lives, or longer if its clock was never stopped.
//! - **place.number** — two threads never have the same number, also after one has ended.

use crate::judge::{Judge, Presence};
use mainspring_core::context::Entered;
use mainspring_core::sync::global::AtomicU64;
use mainspring_core::sync::thread_local;
use mainspring_core::time::Domain;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
// DOOR: a counter of numbers that carries nothing.
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// The domain of a thread that was given none.
struct Own {
    domain: Domain,
    drivers: usize,
    /// Keeps its clock current on this thread once it was stopped.
    entered: Option<Entered>,
}

/// The number of the calling thread.
pub(crate) fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NUMBER.with(|cell| {
        if cell.get() == 0 {
            // CLAIM: [place.number] 64 bits of a counter that only grows.
            cell.set(NEXT.fetch_add(1, Relaxed));
        }
        cell.get()
    })
}

/// The domain that whoever runs on this thread is in, if it has drivers.
pub(crate) fn current() -> Option<Domain> {
    let entered = Domain::current().filter(|domain| Judge::of(domain).has_members());
    entered.or_else(own)
}

fn own() -> Option<Domain> {
    let own = OWN.try_with(|own| {
        let own = own.borrow();
        let driven = own.as_ref().filter(|own| own.drivers > 0);
        driven.map(|own| own.domain.clone())
    });
    own.ok().flatten()
}

/// The clock of `domain` is about to stop: if it is the thread's own, the thread follows it until
/// the last of its drivers is gone.
pub(crate) fn follow(domain: &Domain) {
    let _ = OWN.try_with(|own| {
        if let Some(own) = &mut *own.borrow_mut() {
            if own.domain == *domain && own.entered.is_none() {
                own.entered = Some(domain.enter());
            }
        }
    });
}

/// See the module.
pub(crate) struct Place {
    domain: Domain,
    judge: Arc<Judge>,
    thread: u64,
    is_own: bool,
}

impl Place {
    /// That of a driver which is made on this thread, and what keeps it there.
    pub(crate) fn take() -> (Self, Tenancy) {
        let own = own_or_new();
        let entered = Domain::current().filter(|domain| Some(domain) != own.as_ref());
        let (domain, is_own) = match (entered, own) {
            (Some(domain), _) => (domain, false),
            (None, Some(own)) => (own, true),
            // The thread is being torn down: its drivers serve, and their clock cannot be paused.
            (None, None) => (Domain::new(), true),
        };
        let place = Self {
            judge: Judge::of(&domain),
            domain,
            thread: thread_number(),
            is_own,
        };
        let tenancy = Tenancy::begin(is_own);
        (place, tenancy)
    }

    pub(crate) fn domain(&self) -> &Domain {
        &self.domain
    }

    pub(crate) fn judge(&self) -> &Arc<Judge> {
        &self.judge
    }

    pub(crate) fn thread(&self) -> u64 {
        self.thread
    }

    /// Makes the domain current on this thread, which is present if the driver was made on it.
    ///
    /// A thread's own domain is not entered: it is found without, and the thread has no other whose
    /// sleep it could keep from being noticed.
    pub(crate) fn enter(&self) -> Entered {
        if self.is_own {
            return Entered::nothing();
        }
        let presence: Option<Presence> =
            (thread_number() == self.thread).then(|| self.judge.arrive(self.thread));
        self.domain.enter_with(presence)
    }
}

/// The thread's own domain, made if there is none. `None` while the thread is torn down.
fn own_or_new() -> Option<Domain> {
    let own = OWN.try_with(|own| {
        let mut own = own.borrow_mut();
        let own = own.get_or_insert_with(|| Own {
            domain: Domain::new(),
            drivers: 0,
            entered: None,
        });
        own.domain.clone()
    });
    own.ok()
}

/// That a driver lives in its thread's own domain, or in another.
pub(crate) struct Tenancy {
    is_own: bool,
}

impl Tenancy {
    fn begin(is_own: bool) -> Self {
        if is_own {
            let _ = OWN.try_with(|own| {
                if let Some(own) = &mut *own.borrow_mut() {
                    own.drivers += 1;
                }
            });
        }
        Self { is_own }
    }
}

impl Drop for Tenancy {
    fn drop(&mut self) {
        if !self.is_own {
            return;
        }
        // Gone if the thread is being torn down: nobody asks it for the time any more.
        let left = OWN.try_with(|slot| {
            let mut slot = slot.borrow_mut();
            let own = slot.as_mut()?;
            debug_assert!(own.drivers > 0, "place.own: a driver that was not counted");
            own.drivers -= 1;
            // CLAIM: [place.own] one whose clock was stopped is not found again.
            let is_over = own.drivers == 0 && own.domain.is_virtual();
            if is_over { slot.take() } else { None }
        });
        // CLAIM: [clock.scoped] outside the borrow: leaving drops the clock.
        drop(left);
    }
}

//! Semaphores: a grant is a permit that the suite gives back.

use Waited::{Closed, Granted};
use mainspring_sync::Semaphore;
use mainspring_sync::semaphore::OwnedPermit;
use mainspring_testkit::conformance::{Shape, Subject, Waited};
use mainspring_testkit::{Boxed, conformance};
use std::sync::{Arc, Mutex};

conformance! { mod strict: super::Pool<1, true, false>; }
conformance! { mod overtaking: super::Pool<1, false, false>; }
conformance! { mod strict_weight_three: super::Pool<3, true, false>; }
conformance! { mod overtaking_weight_three: super::Pool<3, false, false>; }
conformance! { mod revocable: super::Pool<1, true, true>; }
conformance! { mod strict_counted: super::Counted<true>; }
conformance! { mod overtaking_counted: super::Counted<false>; }

fn semaphore(permits: usize, is_strict: bool) -> Semaphore {
    if is_strict {
        Semaphore::strict(permits)
    } else {
        Semaphore::new(permits)
    }
}

/// All permits are held by the suite, which gives `WEIGHT` back to grant; a waiter asks for so many
/// and hands them to the suite.
///
/// Waiters of one weight are served first come, first served, whoever may pass in general.
pub(super) struct Pool<const WEIGHT: usize, const STRICT: bool, const REVOCABLE: bool> {
    semaphore: Arc<Semaphore>,
    held: Mutex<Option<OwnedPermit>>,
}

impl<const WEIGHT: usize, const STRICT: bool, const REVOCABLE: bool>
    Pool<WEIGHT, STRICT, REVOCABLE>
{
    fn give(&self, permits: usize) {
        let part = {
            let mut held = self.held.lock().unwrap();
            held.as_mut().and_then(|held| held.split(permits))
        };
        assert!(part.is_some(), "more was granted than there is");
    }
}

impl<const WEIGHT: usize, const STRICT: bool, const REVOCABLE: bool> Subject
    for Pool<WEIGHT, STRICT, REVOCABLE>
{
    fn shape() -> Shape {
        Shape::counting().fifo().budgeted().closes()
    }

    fn new() -> Self {
        /// More than the suite ever has out.
        const PERMITS: usize = 10_000;
        let mut semaphore = semaphore(PERMITS * WEIGHT, STRICT);
        if REVOCABLE {
            semaphore = semaphore.revocable();
        }
        let semaphore = Arc::new(semaphore);
        let held = semaphore.try_acquire_owned(PERMITS * WEIGHT);
        Self {
            held: Mutex::new(Some(held.expect("all are free"))),
            semaphore,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.semaphore.acquire_owned(WEIGHT).await {
                Ok(permit) => {
                    let mut held = this.held.lock().unwrap();
                    let merged = held.as_mut().expect("it stays").merge(permit);
                    assert!(merged.is_ok(), "a permit of another semaphore");
                    Granted
                }
                Err(error) => {
                    assert!(error.is_closed(), "{error}");
                    Closed
                }
            }
        })
    }

    fn grant(&self) {
        // One after the other: all but the last let nobody go.
        for _ in 0..WEIGHT {
            self.give(1);
        }
    }

    fn grant_many(&self, count: usize) -> bool {
        self.give(count * WEIGHT);
        true
    }

    fn close(&self) {
        self.semaphore.close();
    }
}

/// A grant is a permit that is added, and one that is used up is gone: the capacity grows and
/// shrinks.
struct Counted<const STRICT: bool>(Semaphore);

impl<const STRICT: bool> Subject for Counted<STRICT> {
    fn shape() -> Shape {
        Shape::counting().fifo().budgeted().closes()
    }

    fn new() -> Self {
        // One that was there, or to ask for one would be too much.
        let semaphore = semaphore(1, STRICT);
        assert_eq!(semaphore.forget(1), 1);
        Self(semaphore)
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(async move {
            match this.0.acquire(1).await {
                Ok(permit) => {
                    permit.forget();
                    Granted
                }
                Err(error) => {
                    assert!(error.is_closed(), "{error}");
                    Closed
                }
            }
        })
    }

    fn grant(&self) {
        assert!(self.grant_many(1));
    }

    fn grant_many(&self, count: usize) -> bool {
        self.0.add(count).expect("not too many");
        true
    }

    fn close(&self) {
        self.0.close();
    }
}

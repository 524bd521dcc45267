//! B142, B143, S18: who may go where.

use crate::semaphore::{
    Acquire, AcquireError, AcquireOwned, OwnedPermit, Permit, Semaphore, TooMany, TryAcquireError,
};
use mainspring_core::CancelSafe;
use std::error::Error;
use std::panic::{RefUnwindSafe, UnwindSafe};

fn is_send_and_sync<T: Send + Sync>() {}
fn is_error<T: Error + Send + Sync + Copy + 'static>() {}
fn is_unpin<T: Unpin>() {}
fn is_unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
const fn keeps_place<F: CancelSafe>() -> bool {
    F::KEEPS_PLACE
}

static SHARED: Semaphore = Semaphore::new(1);

#[test]
fn everything_of_a_semaphore_may_be_sent_and_shared() {
    is_send_and_sync::<Semaphore>();
    is_send_and_sync::<Permit<'_>>();
    is_send_and_sync::<OwnedPermit>();
    is_send_and_sync::<Acquire<'_>>();
    is_send_and_sync::<AcquireOwned>();
    is_error::<AcquireError>();
    is_error::<TryAcquireError>();
    is_error::<TooMany>();
    is_unpin::<Permit<'_>>();
    is_unwind_safe::<Semaphore>();
    is_unwind_safe::<OwnedPermit>();
    assert!(!keeps_place::<Acquire<'_>>() && !keeps_place::<AcquireOwned>());
    assert_eq!(SHARED.available(), 1);
}

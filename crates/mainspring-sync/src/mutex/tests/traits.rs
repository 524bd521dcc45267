//! B142, B143, S18: who may go where, for values that may not go everywhere.

use crate::mutex::{Lock, LockOwned, MappedMutexGuard, Mutex, MutexGuard, OwnedMutexGuard};
use crate::semaphore::tests::support::{Otherwise, Probe, auto_traits};
use mainspring_core::CancelSafe;
use std::cell::Cell;
use std::rc::Rc;

type Guarded = std::sync::MutexGuard<'static, u32>;
type Raw = *const u32;

const BOTH: (bool, bool) = (true, true);
const NEITHER: (bool, bool) = (false, false);
const SEND: (bool, bool) = (true, false);
const SYNC: (bool, bool) = (false, true);

#[test]
fn values_are_what_the_tables_take_them_for() {
    assert_eq!(auto_traits!(Cell<u32>), SEND);
    assert_eq!(auto_traits!(Guarded), SYNC);
    assert_eq!(auto_traits!(Rc<u32>), NEITHER);
    assert_eq!(auto_traits!(Raw), NEITHER);
}

#[test]
fn mutex_needs_values_that_may_be_sent() {
    assert_eq!(auto_traits!(Mutex<u32>), BOTH);
    assert_eq!(auto_traits!(Mutex<Cell<u32>>), BOTH);
    assert_eq!(auto_traits!(Mutex<Guarded>), NEITHER);
    assert_eq!(auto_traits!(Mutex<Rc<u32>>), NEITHER);
    assert_eq!(auto_traits!(Mutex<Raw>), NEITHER);
    assert_eq!(auto_traits!(Lock<'static, Cell<u32>>), BOTH);
    assert_eq!(auto_traits!(Lock<'static, Rc<u32>>), NEITHER);
    assert_eq!(auto_traits!(LockOwned<Cell<u32>>), BOTH);
    assert_eq!(auto_traits!(LockOwned<Guarded>), NEITHER);
}

#[test]
fn shared_guards_need_values_that_may_be_shared() {
    assert_eq!(auto_traits!(MutexGuard<'static, u32>), BOTH);
    assert_eq!(auto_traits!(MutexGuard<'static, Cell<u32>>), SEND);
    assert_eq!(auto_traits!(MutexGuard<'static, Guarded>), NEITHER);
    assert_eq!(auto_traits!(MutexGuard<'static, Rc<u32>>), NEITHER);
    assert_eq!(auto_traits!(MutexGuard<'static, Raw>), NEITHER);
    assert_eq!(auto_traits!(OwnedMutexGuard<u32>), BOTH);
    assert_eq!(auto_traits!(OwnedMutexGuard<Cell<u32>>), SEND);
    assert_eq!(auto_traits!(OwnedMutexGuard<Guarded>), NEITHER);
    assert_eq!(auto_traits!(OwnedMutexGuard<Rc<u32>>), NEITHER);
    assert_eq!(auto_traits!(OwnedMutexGuard<Raw>), NEITHER);
    assert_eq!(auto_traits!(MappedMutexGuard<'static, u32>), BOTH);
    assert_eq!(auto_traits!(MappedMutexGuard<'static, Cell<u32>>), SEND);
    assert_eq!(auto_traits!(MappedMutexGuard<'static, Guarded>), SYNC);
    assert_eq!(auto_traits!(MappedMutexGuard<'static, Rc<u32>>), NEITHER);
    assert_eq!(auto_traits!(MappedMutexGuard<'static, Raw>), NEITHER);
}

#[test]
fn locking_may_be_cancelled_and_loses_the_place() {
    const fn keeps_place<F: CancelSafe>() -> bool {
        F::KEEPS_PLACE
    }
    assert!(!keeps_place::<Lock<'static, u32>>());
    assert!(!keeps_place::<LockOwned<u32>>());
}

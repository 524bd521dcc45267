//! B142, B143, S18: who may go where, for values that may not go everywhere.

use crate::rwlock::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
    Read, ReadOwned, RwLock, RwLockReadGuard, RwLockUpgradableGuard, RwLockWriteGuard, Upgrade,
    Write, WriteOwned,
};
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
fn lock_needs_values_that_may_be_sent_and_shared() {
    assert_eq!(auto_traits!(RwLock<u32>), BOTH);
    assert_eq!(auto_traits!(RwLock<Cell<u32>>), SEND);
    assert_eq!(auto_traits!(RwLock<Guarded>), NEITHER);
    assert_eq!(auto_traits!(RwLock<Rc<u32>>), NEITHER);
    assert_eq!(auto_traits!(RwLock<Raw>), NEITHER);
    assert_eq!(auto_traits!(Read<'static, u32>), BOTH);
    assert_eq!(auto_traits!(Read<'static, Cell<u32>>), NEITHER);
    assert_eq!(auto_traits!(Write<'static, Guarded>), NEITHER);
    assert_eq!(auto_traits!(Upgrade<'static, u32>), BOTH);
    assert_eq!(auto_traits!(Upgrade<'static, Cell<u32>>), NEITHER);
    assert_eq!(auto_traits!(ReadOwned<u32>), BOTH);
    assert_eq!(auto_traits!(WriteOwned<Cell<u32>>), NEITHER);
}

#[test]
fn guards_lead_to_the_lock_and_need_what_it_needs() {
    assert_eq!(auto_traits!(RwLockReadGuard<'static, u32>), BOTH);
    assert_eq!(auto_traits!(RwLockReadGuard<'static, Cell<u32>>), NEITHER);
    assert_eq!(auto_traits!(RwLockReadGuard<'static, Guarded>), NEITHER);
    assert_eq!(auto_traits!(RwLockReadGuard<'static, Rc<u32>>), NEITHER);
    assert_eq!(auto_traits!(RwLockReadGuard<'static, Raw>), NEITHER);
    assert_eq!(auto_traits!(RwLockUpgradableGuard<'static, u32>), BOTH);
    assert_eq!(
        auto_traits!(RwLockUpgradableGuard<'static, Cell<u32>>),
        NEITHER
    );
    assert_eq!(
        auto_traits!(RwLockUpgradableGuard<'static, Guarded>),
        NEITHER
    );
    assert_eq!(auto_traits!(RwLockWriteGuard<'static, u32>), BOTH);
    assert_eq!(auto_traits!(RwLockWriteGuard<'static, Cell<u32>>), NEITHER);
    assert_eq!(auto_traits!(RwLockWriteGuard<'static, Guarded>), NEITHER);
    assert_eq!(auto_traits!(RwLockWriteGuard<'static, Rc<u32>>), NEITHER);
    assert_eq!(auto_traits!(OwnedRwLockReadGuard<u32>), BOTH);
    assert_eq!(auto_traits!(OwnedRwLockReadGuard<Cell<u32>>), NEITHER);
    assert_eq!(auto_traits!(OwnedRwLockReadGuard<Guarded>), NEITHER);
    assert_eq!(auto_traits!(OwnedRwLockWriteGuard<u32>), BOTH);
    assert_eq!(auto_traits!(OwnedRwLockWriteGuard<Cell<u32>>), NEITHER);
    assert_eq!(auto_traits!(OwnedRwLockWriteGuard<Raw>), NEITHER);
}

#[test]
fn mapped_guards_go_where_references_to_the_part_go() {
    assert_eq!(auto_traits!(MappedRwLockReadGuard<'static, u32>), BOTH);
    assert_eq!(
        auto_traits!(MappedRwLockReadGuard<'static, Cell<u32>>),
        NEITHER
    );
    assert_eq!(auto_traits!(MappedRwLockReadGuard<'static, Guarded>), BOTH);
    assert_eq!(
        auto_traits!(MappedRwLockReadGuard<'static, Rc<u32>>),
        NEITHER
    );
    assert_eq!(auto_traits!(MappedRwLockReadGuard<'static, Raw>), NEITHER);
    assert_eq!(auto_traits!(MappedRwLockWriteGuard<'static, u32>), BOTH);
    assert_eq!(
        auto_traits!(MappedRwLockWriteGuard<'static, Cell<u32>>),
        SEND
    );
    assert_eq!(auto_traits!(MappedRwLockWriteGuard<'static, Guarded>), SYNC);
    assert_eq!(
        auto_traits!(MappedRwLockWriteGuard<'static, Rc<u32>>),
        NEITHER
    );
    assert_eq!(auto_traits!(MappedRwLockWriteGuard<'static, Raw>), NEITHER);
}

#[test]
fn entering_may_be_cancelled_and_loses_the_place() {
    const fn keeps_place<F: CancelSafe>() -> bool {
        F::KEEPS_PLACE
    }
    assert!(!keeps_place::<Read<'static, u32>>() && !keeps_place::<Write<'static, u32>>());
    assert!(!keeps_place::<ReadOwned<u32>>() && !keeps_place::<WriteOwned<u32>>());
}

//! Set, got, waited for.

use crate::SetOnce;
use crate::parked::tests::hooks::{Touch, hooked};
use crate::parked::tests::threads::send_sync;
use crate::parked::tests::wakers::{counted, poll};
use crate::set_once::{SetOnceError, Wait};
use mainspring_core::CancelSafe;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, MutexGuard};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

// WITNESS: set-once.init
#[test]
fn first_value_stays_and_wakes_everybody() {
    let cell = SetOnce::new();
    let (counter, waker) = counted();
    let mut waits: Vec<_> = (0..40).map(|_| Box::pin(cell.wait())).collect();
    for wait in &mut waits {
        assert!(poll(wait.as_mut(), &waker).is_pending());
    }
    assert_eq!((cell.get(), cell.is_set()), (None, false));
    assert_eq!(cell.set(7), Ok(()));
    assert_eq!(cell.set(8).unwrap_err().value, 8);
    assert_eq!(counter.calls(), 40);
    for wait in &mut waits {
        assert_eq!(poll(wait.as_mut(), &waker), Poll::Ready(&7));
        assert_eq!(poll(wait.as_mut(), &waker), Poll::Ready(&7), "again");
    }
    assert_eq!(poll(pin!(cell.wait()), &waker), Poll::Ready(&7));
    assert_eq!(cell.get(), Some(&7));
}

#[test]
fn thread_waits_for_the_value() {
    static CELL: SetOnce<u32> = SetOnce::new();
    assert_eq!(CELL.wait_timeout(Duration::ZERO), None);
    let waiting = thread::spawn(|| *CELL.wait_blocking());
    CELL.set(7).unwrap();
    assert_eq!(waiting.join().unwrap(), 7);
    assert_eq!(CELL.wait_timeout(Duration::ZERO), Some(&7));
}

// S5, B124
#[test]
fn waker_that_comes_back_finds_the_cell_usable() {
    for when in [Touch::Clone, Touch::Wake, Touch::Drop] {
        let cell = Arc::new(SetOnce::new());
        let waker = {
            let cell = Arc::clone(&cell);
            hooked(move |touch| {
                if touch == when {
                    let _ = cell.set(1);
                    assert!(poll(pin!(cell.wait()), Waker::noop()).is_ready());
                }
            })
        };
        let mut wait = Box::pin(cell.wait());
        let _ = poll(wait.as_mut(), &waker);
        let _ = poll(wait.as_mut(), Waker::noop());
        let _ = cell.set(2);
        assert!(poll(wait.as_mut(), &waker).is_ready());
    }
}

// B127
#[test]
fn waker_that_panics_keeps_nobody_asleep() {
    let cell = SetOnce::new();
    let broken = hooked(|touch| assert_ne!(touch, Touch::Wake, "on purpose"));
    let (counter, other) = counted();
    let mut first = pin!(cell.wait());
    let mut second = pin!(cell.wait());
    assert!(poll(first.as_mut(), &broken).is_pending());
    assert!(poll(second.as_mut(), &other).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| cell.set(7))).is_err());
    assert_eq!((counter.calls(), cell.get()), (1, Some(&7)));
}

// S18, B142, B143
#[test]
fn threads_and_classes_are_as_promised() {
    fn is_cancel_safe<F: CancelSafe>() {}
    is_cancel_safe::<Wait<'_, u32>>();
    assert_eq!(send_sync!(SetOnce<u32>), (true, true));
    assert_eq!(send_sync!(SetOnce<Cell<u32>>), (true, false));
    assert_eq!(send_sync!(SetOnce<Rc<u32>>), (false, false));
    assert_eq!(
        send_sync!(SetOnce<MutexGuard<'static, u32>>),
        (false, false)
    );
    assert_eq!(send_sync!(Wait<'static, u32>), (true, true));
    assert_eq!(send_sync!(Wait<'static, Cell<u32>>), (false, false));
    assert_eq!(
        format!("{:?}", SetOnce::<u32>::default()),
        "SetOnce { value: None, .. }"
    );
    let refused = SetOnceError { value: Rc::new(7) };
    assert!(!refused.is_transient() && refused.to_string().contains("before"));
    assert!(format!("{refused:?}").contains("SetOnceError"));
}

//! Wakers and keys that do what foreign code may do: come back, panic, drop the waiter.

use super::behaviour::{counted, poll};
use super::kinds::{Acquire, Notified, Permits, Stored, notify, release};
use crate::poll::{Polling, TaskStamp};
use crate::wait::WaitSlot;
use crate::wait_list::{From, Kind, WaitList, Waiter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, RawWaker, RawWakerVTable, Waker};

/// A waker that calls back on clone, wake and drop.
struct Script {
    on: Box<dyn Fn(&'static str) + Send + Sync>,
}

impl Script {
    fn waker(on: impl Fn(&'static str) + Send + Sync + 'static) -> Waker {
        let script = Arc::new(Self { on: Box::new(on) });
        // SAFETY: [wait-list.outside] the table below keeps the count of the `Arc` as a waker must.
        unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(script).cast(), &TABLE)) }
    }

    /// # Safety
    ///
    /// `data` came from [`Script::waker`], and its waker still counts.
    unsafe fn borrow<'a>(data: *const ()) -> &'a Self {
        // SAFETY: [wait-list.outside] the contract.
        unsafe { &*data.cast::<Self>() }
    }

    /// # Safety
    ///
    /// As for `borrow`, and the waker's count is given up.
    unsafe fn own(data: *const ()) -> Arc<Self> {
        // SAFETY: [wait-list.outside] the contract.
        unsafe { Arc::from_raw(data.cast::<Self>()) }
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: [wait-list.outside] called with a live waker's data.
        let script = unsafe { Script::borrow(data) };
        (script.on)("clone");
        // SAFETY: [wait-list.outside] it came from `Arc::into_raw` and is counted.
        unsafe { Arc::increment_strong_count(data.cast::<Script>()) };
        RawWaker::new(data, &TABLE)
    },
    |data| {
        // SAFETY: [wait-list.outside] called with a waker that is consumed.
        let script = unsafe { Script::own(data) };
        (script.on)("wake");
    },
    |data| {
        // SAFETY: [wait-list.outside] called with a live waker's data.
        let script = unsafe { Script::borrow(data) };
        (script.on)("wake");
    },
    |data| {
        // SAFETY: [wait-list.outside] called with a waker that is consumed.
        let script = unsafe { Script::own(data) };
        (script.on)("drop");
    },
);

type Shared = Arc<WaitList<Stored>>;
type Boxed = Pin<Box<Notified<Shared>>>;

// WITNESS: wait-list.outside
#[test]
fn waker_that_comes_back_on_clone_wake_and_drop_finds_the_lock_free() {
    let list = Shared::default();
    let calls = Arc::new(AtomicUsize::new(0));
    let scripted = || {
        let (list, calls) = (Arc::clone(&list), Arc::clone(&calls));
        Script::waker(move |_| {
            // Would deadlock here if the lock were held.
            list.with(|_| ());
            drop(list.diagnose());
            calls.fetch_add(1, Relaxed);
        })
    };
    let mut future: Boxed = Box::pin(Notified::new(Arc::clone(&list)));
    assert!(poll(future.as_mut(), &scripted()).is_pending());
    assert!(
        poll(future.as_mut(), &scripted()).is_pending(),
        "the waker is replaced"
    );
    notify(&list, From::Oldest);
    assert!(poll(future.as_mut(), &scripted()).is_ready());
    assert!(poll(future.as_mut(), &scripted()).is_pending());
    list.wake_all();
    assert!(poll(future.as_mut(), &scripted()).is_ready());
    assert!(poll(future.as_mut(), &scripted()).is_pending());
    drop(future);
    assert!(calls.load(Relaxed) >= 10, "{calls:?}");
}

// WITNESS: wait-list.outside
#[test]
fn waker_left_in_a_waiter_that_takes_an_offer_over_is_dropped_without_the_lock() {
    let list = Shared::default();
    let drops = Arc::new(AtomicUsize::new(0));
    let waker = {
        let (list, drops) = (Arc::clone(&list), Arc::clone(&drops));
        Script::waker(move |what| {
            list.with(|_| ());
            drops.fetch_add(usize::from(what == "drop"), Relaxed);
        })
    };
    let slot = WaitSlot::of(TaskStamp { task: 1, polls: 0 });
    let _polling = Polling::begin(Some(&slot));
    let mut unpolled: Boxed = Box::pin(Notified::new(Arc::clone(&list)));
    assert!(poll(unpolled.as_mut(), Waker::noop()).is_pending());
    let mut driven: Boxed = Box::pin(Notified::new(Arc::clone(&list)));
    assert!(poll(driven.as_mut(), &waker).is_pending());
    notify(&list, From::Oldest);
    assert!(poll(driven.as_mut(), &waker).is_ready());
    assert_eq!(drops.load(Relaxed), 1);
}

// WITNESS: wait-list.outside, wait-list.hand-on
#[test]
fn waker_that_drops_its_own_waiter_hands_on() {
    let list = Shared::default();
    let slot: Arc<Mutex<Option<Boxed>>> = Arc::default();
    let waker = {
        let slot = Arc::clone(&slot);
        Script::waker(move |what| {
            if what == "wake" {
                let taken = slot.lock().unwrap().take();
                drop(taken);
            }
        })
    };
    let mut first: Boxed = Box::pin(Notified::new(Arc::clone(&list)));
    assert!(poll(first.as_mut(), &waker).is_pending());
    *slot.lock().unwrap() = Some(first);
    let (counter, next) = counted();
    let mut second = pin!(Notified::new(Arc::clone(&list)));
    assert!(poll(second.as_mut(), &next).is_pending());
    notify(&list, From::Oldest);
    assert!(slot.lock().unwrap().is_none());
    assert_eq!(counter.calls(), 1);
    assert!(poll(second.as_mut(), &next).is_ready());
}

// WITNESS: wait-list.newcomers, wait-list.outside
#[test]
fn waker_that_drops_others_and_comes_anew_during_a_release_of_all() {
    let list = Shared::default();
    let others: Arc<Mutex<Vec<Boxed>>> = Arc::default();
    let newcomers: Arc<Mutex<Vec<Boxed>>> = Arc::default();
    let waker = {
        let (list, others) = (Arc::clone(&list), Arc::clone(&others));
        let newcomers = Arc::clone(&newcomers);
        Script::waker(move |what| {
            if what == "wake" {
                let gone = others.lock().unwrap().pop();
                drop(gone);
                let mut newcomer: Boxed = Box::pin(Notified::new(Arc::clone(&list)));
                assert!(poll(newcomer.as_mut(), Waker::noop()).is_pending());
                newcomers.lock().unwrap().push(newcomer);
            }
        })
    };
    let mut all: Vec<Boxed> = (0..100)
        .map(|_| Box::pin(Notified::new(Arc::clone(&list))))
        .collect();
    for (at, one) in all.iter_mut().enumerate() {
        let noop = Waker::noop();
        let waker = if at < 40 { &waker } else { noop };
        assert!(poll(one.as_mut(), waker).is_pending());
    }
    *others.lock().unwrap() = all.split_off(80);
    list.wake_all();
    assert!(others.lock().unwrap().is_empty());
    assert_eq!(newcomers.lock().unwrap().len(), 40);
    assert_eq!(list.diagnose().waiting, 40, "newcomers wait on");
    for one in &mut all {
        assert!(poll(one.as_mut(), Waker::noop()).is_ready());
    }
}

// WITNESS: wait-list.woken
#[test]
fn panicking_waker_keeps_nobody_from_being_woken() {
    let list = Shared::default();
    let (counter, good) = counted();
    let bad = Script::waker(|what| assert_ne!(what, "wake", "a waker that panics"));
    let mut all: Vec<Boxed> = (0..70)
        .map(|_| Box::pin(Notified::new(Arc::clone(&list))))
        .collect();
    for (at, one) in all.iter_mut().enumerate() {
        let waker = if at % 32 == 0 { &bad } else { &good };
        assert!(poll(one.as_mut(), waker).is_pending());
    }
    let caught = catch_unwind(AssertUnwindSafe(|| list.wake_all()));
    assert!(caught.is_err(), "the first panic is resumed");
    assert_eq!(counter.calls(), 67);
    assert!(
        all.iter_mut()
            .all(|one| poll(one.as_mut(), &good).is_ready())
    );
    assert_eq!(list.diagnose().waiting, 0);
}

// WITNESS: wait-list.outside
#[test]
fn waker_that_panics_on_clone_leaves_the_list_whole() {
    let list = Shared::default();
    let bad = Script::waker(|what| assert_ne!(what, "clone", "a waker that panics"));
    let mut future: Boxed = Box::pin(Notified::new(Arc::clone(&list)));
    let first = catch_unwind(AssertUnwindSafe(|| poll(future.as_mut(), &bad)));
    assert!(first.is_err());
    assert_eq!(list.diagnose().waiting, 0);
    let (_, good) = counted();
    assert!(poll(future.as_mut(), &good).is_pending());
    let again = catch_unwind(AssertUnwindSafe(|| poll(future.as_mut(), &bad)));
    assert!(again.is_err());
    notify(&list, From::Oldest);
    assert!(
        poll(future.as_mut(), &good).is_ready(),
        "the offer is not lost"
    );
}

// WITNESS: wait-list.state
#[test]
fn look_that_panics_leaves_its_waiter_idle_and_the_others_served() {
    let list = Shared::default();
    let (counter, good) = counted();
    let mut other: Boxed = Box::pin(Notified::new(Arc::clone(&list)));
    assert!(poll(other.as_mut(), &good).is_pending());
    let mut waiter = pin!(Waiter::new(Arc::clone(&list), ()));
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let mut cx = Context::from_waker(Waker::noop());
        let _ = waiter.as_mut().poll_wait(&mut cx, |queue, (), _| {
            queue.wake_one(From::Oldest);
            assert!(queue.is_closed(), "a look that panics");
            None::<()>
        });
    }));
    assert!(caught.is_err());
    assert_eq!(counter.calls(), 1);
    assert!(!list.wake_one(From::Oldest));
    assert!(poll(other.as_mut(), &good).is_ready());
}

// WITNESS: wait-list.outside
#[test]
fn key_that_comes_back_when_dropped_finds_the_lock_free() {
    struct Slot;
    impl Kind for Slot {
        type Key = ComesBack;
    }
    struct ComesBack(Option<Arc<WaitList<Slot>>>);
    impl Drop for ComesBack {
        fn drop(&mut self) {
            if let Some(list) = &self.0 {
                list.with(|_| ());
            }
        }
    }
    let list = Arc::new(WaitList::new(Slot));
    let key = ComesBack(Some(Arc::clone(&list)));
    let mut waiter = Box::pin(Waiter::new(Arc::clone(&list), key));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(
        waiter
            .as_mut()
            .poll_wait(&mut cx, |_, _, _| None::<()>)
            .is_pending()
    );
    drop(waiter);
    assert!(list.with(|queue| queue.is_empty()));
}

// WITNESS: wait-list.revoke, wait-list.woken
#[test]
fn waker_that_panics_during_a_revocation_does_not_reach_the_poll_that_ends() {
    let list = Permits::revocable(0);
    let slot = WaitSlot::of(TaskStamp { task: 1, polls: 0 });
    let mut unpolled = pin!(Acquire::new(&list, 1));
    let polling = Polling::begin(Some(&slot));
    assert!(poll(unpolled.as_mut(), Waker::noop()).is_pending());
    drop(polling);
    let bad = Script::waker(|what| assert_ne!(what, "wake", "a waker that panics"));
    let mut next = pin!(Acquire::new(&list, 1));
    assert!(poll(next.as_mut(), &bad).is_pending());
    release(&list, 1);
    drop(Polling::begin(Some(&slot)));
    assert!(poll(next.as_mut(), &bad).is_ready());
}

//! What each rule of the wait list looks like from outside.

use super::kinds::{Acquire, Notified, Permits, Stored, notify, release};
use super::props::Counter;
use crate::wait_list::{From, Scan, WaitList, Waiter, Why};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

pub(super) fn counted() -> (Arc<Counter>, Waker) {
    let counter = Arc::new(Counter::default());
    (Arc::clone(&counter), Waker::from(counter))
}

pub(super) fn poll<F: Future>(future: Pin<&mut F>, waker: &Waker) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(waker))
}

type Boxed<'a> = Pin<Box<Notified<&'a WaitList<Stored>>>>;

fn waiting<'a>(list: &'a WaitList<Stored>, wakers: &[(Arc<Counter>, Waker)]) -> Vec<Boxed<'a>> {
    let one = |(_, waker): &(_, Waker)| {
        let mut future = Box::pin(Notified::new(list));
        assert!(poll(future.as_mut(), waker).is_pending());
        future
    };
    wakers.iter().map(one).collect()
}

fn wakers<const N: usize>() -> [(Arc<Counter>, Waker); N] {
    std::array::from_fn(|_| counted())
}

// WITNESS: wait-list.order
#[test]
fn offers_go_to_the_oldest_or_the_newest() {
    let list = WaitList::default();
    let wakers = wakers::<3>();
    let mut futures = waiting(&list, &wakers);
    notify(&list, From::Newest);
    notify(&list, From::Oldest);
    assert_eq!(
        wakers.each_ref().map(|(counter, _)| counter.calls()),
        [1, 0, 1]
    );
    let result = poll(futures[2].as_mut(), &wakers[2].1);
    assert_eq!(result, Poll::Ready(Why::Offered(From::Newest)));
    assert!(poll(futures[1].as_mut(), &wakers[1].1).is_pending());
}

// WITNESS: wait-list.hand-on
#[test]
fn dropped_waiter_hands_on_from_the_same_end() {
    let list = WaitList::default();
    let wakers = wakers::<4>();
    let mut futures = waiting(&list, &wakers);
    notify(&list, From::Newest);
    drop(futures.pop());
    assert_eq!(wakers[2].0.calls(), 1, "the next newest");
    notify(&list, From::Oldest);
    drop(futures.remove(0));
    assert_eq!(wakers[1].0.calls(), 1, "the next oldest");
    drop(futures);
    let mut late = pin!(Notified::new(&list));
    assert!(
        poll(late.as_mut(), &wakers[0].1).is_ready(),
        "stored when nobody is left"
    );
}

// WITNESS: wait-list.newcomers
#[test]
fn stored_notification_survives_the_drop_of_a_released_waiter() {
    let list = WaitList::default();
    let wakers = wakers::<1>();
    let released = waiting(&list, &wakers);
    list.wake_all();
    notify(&list, From::Oldest);
    drop(released);
    let mut late = pin!(Notified::new(&list));
    assert_eq!(poll(late.as_mut(), &wakers[0].1), Poll::Ready(Why::First));
}

// WITNESS: wait-list.newcomers
#[test]
fn released_waiter_leaves_a_later_notification_to_others() {
    let list = WaitList::default();
    let wakers = wakers::<1>();
    let mut released = waiting(&list, &wakers);
    list.wake_all();
    notify(&list, From::Oldest);
    assert_eq!(
        poll(released[0].as_mut(), &wakers[0].1),
        Poll::Ready(Why::Released)
    );
    let mut other = pin!(Notified::new(&list));
    assert_eq!(poll(other.as_mut(), &wakers[0].1), Poll::Ready(Why::First));
}

// WITNESS: wait-list.newcomers, wait-list.woken
#[test]
fn hundred_thousand_are_released_and_leave_in_any_order() {
    let list = WaitList::<()>::new(());
    let (counter, waker) = counted();
    let mut waiters: Vec<_> = (0..100_000)
        .map(|_| Box::pin(Waiter::new(&list, ())))
        .collect();
    for waiter in &mut waiters {
        let answer = waiter
            .as_mut()
            .poll_wait(&mut Context::from_waker(&waker), |_, (), _| None::<()>);
        assert!(answer.is_pending());
    }
    while waiters.len() > 60_000 {
        let at = (waiters.len() * 7) % 59_999;
        drop(waiters.swap_remove(at));
    }
    list.wake_all();
    assert_eq!(counter.calls(), 60_000);
    assert!(waiters.iter().all(|waiter| waiter.was_released()));
}

// WITNESS: wait-list.woken
#[test]
fn offers_beyond_one_batch_are_woken_too() {
    let list = Permits::list(0);
    let (counter, waker) = counted();
    let mut all: Vec<_> = (0..100).map(|_| Box::pin(Acquire::new(&list, 1))).collect();
    for one in &mut all {
        assert!(poll(one.as_mut(), &waker).is_pending());
    }
    release(&list, 90);
    assert_eq!(counter.calls(), 90);
    for one in &mut all[..90] {
        assert!(poll(one.as_mut(), &waker).is_ready());
    }
    assert!(poll(all[90].as_mut(), &waker).is_pending());
}

// WITNESS: wait-list.order
#[test]
fn waiter_that_looked_in_vain_keeps_its_place() {
    let list = WaitList::<()>::new(());
    let [first, second] = wakers::<2>();
    let mut one = pin!(Waiter::new(&list, ()));
    let mut two = pin!(Waiter::new(&list, ()));
    let look_in_vain = |waiter: Pin<&mut Waiter<_>>, waker: &Waker| {
        let mut why = None;
        let answer = waiter.poll_wait(&mut Context::from_waker(waker), |_, (), asked| {
            // Asked again when its waker was cloned, without the lock.
            why.get_or_insert(asked);
            None::<()>
        });
        assert!(answer.is_pending());
        why
    };
    assert_eq!(look_in_vain(one.as_mut(), &first.1), Some(Why::First));
    assert_eq!(look_in_vain(two.as_mut(), &second.1), Some(Why::First));
    list.wake_one(From::Oldest);
    assert_eq!(
        look_in_vain(one.as_mut(), &first.1),
        Some(Why::Offered(From::Oldest))
    );
    list.wake_one(From::Oldest);
    assert_eq!((first.0.calls(), second.0.calls()), (2, 0));
    assert_eq!(
        look_in_vain(two.as_mut(), &second.1),
        Some(Why::Again),
        "it is in front now"
    );
}

#[test]
fn scan_offers_to_those_that_fit() {
    let list = Permits::list(0);
    let wakers = wakers::<4>();
    let mut all: Vec<_> = [5, 1, 2, 1]
        .map(|n| Box::pin(Acquire::new(&list, n)))
        .into();
    for (one, (_, waker)) in all.iter_mut().zip(&wakers) {
        assert!(poll(one.as_mut(), waker).is_pending());
    }
    let mut budget = 3;
    let fits = |wanted: &mut usize| match *wanted {
        _ if budget == 0 => Scan::Stop,
        wanted if wanted > budget => Scan::Skip,
        wanted => {
            budget -= wanted;
            Scan::Offer
        }
    };
    let offers = list.with(|queue| queue.wake_where(fits));
    assert_eq!(offers, 2);
    assert_eq!(
        wakers.each_ref().map(|(counter, _)| counter.calls()),
        [0, 1, 1, 0]
    );
}

#[test]
fn close_is_sticky_and_releases_everybody() {
    let list = WaitList::default();
    let wakers = wakers::<2>();
    let mut futures = waiting(&list, &wakers);
    list.close();
    assert!(list.with(|queue| queue.is_closed()));
    list.close();
    assert!(list.diagnose().closed);
    for (future, (_, waker)) in futures.iter_mut().zip(&wakers) {
        assert_eq!(poll(future.as_mut(), waker), Poll::Ready(Why::Released));
    }
}

// WITNESS: wait-list.node, wait-list.inline
#[test]
fn forgotten_waiter_keeps_its_place_and_the_list_may_move() {
    let list = WaitList::default();
    let (counter, waker) = counted();
    let mut forgotten = Box::pin(Notified::new(&list));
    assert!(poll(forgotten.as_mut(), &waker).is_pending());
    // Leaked on purpose, and kept reachable so that leak checkers stay quiet.
    static KEPT: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
    let leaked = Box::leak(Box::new(std::mem::ManuallyDrop::new(forgotten)));
    KEPT.store(std::ptr::from_mut(leaked).cast(), Relaxed);
    let moved = Box::new(list);
    notify(&moved, From::Oldest);
    assert_eq!(counter.calls(), 1);
    assert_eq!(
        moved.diagnose().offers.len(),
        1,
        "its offer stays for ever, and is named"
    );
}

// WITNESS: wait-list.outside
#[test]
fn value_is_saved_from_an_abandoned_waiter() {
    struct Value;
    impl crate::wait_list::Kind for Value {
        type Key = Option<Box<u32>>;
    }
    let list = WaitList::new(Value);
    let mut waiter = pin!(Waiter::new(&list, Some(Box::new(7))));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(
        waiter
            .as_mut()
            .poll_wait(&mut cx, |_, _, _| None::<()>)
            .is_pending()
    );
    assert_eq!(waiter.as_mut().abandon(Option::take).as_deref(), Some(&7));
    assert!(list.with(|queue| queue.is_empty()));
}

#[test]
fn threads_and_types_are_as_promised() {
    fn is_send_sync<T: Send + Sync>() {}
    is_send_sync::<WaitList<Stored>>();
    is_send_sync::<Waiter<&WaitList<Stored>>>();
    is_send_sync::<Waiter<Arc<WaitList<Stored>>>>();
    let list = WaitList::<Stored>::default();
    assert!(format!("{list:?}").contains("waiting: 0"));
    assert!(
        list.with(|queue| format!("{queue:?}"))
            .contains("closed: false")
    );
    assert!(format!("{:?}", Waiter::new(&list, ())).contains("idle: true"));
    list.with(|_| assert!(format!("{list:?}").contains("locked: true")));
}

// WITNESS: wait-list.released, wait-list.newcomers
#[test]
fn one_that_is_released_is_free_without_the_lock_and_owes_nothing() {
    let list = WaitList::new(());
    let wakers = wakers::<3>();
    let mut waiters: Vec<_> = wakers
        .iter()
        .map(|(_, waker)| {
            let mut waiter = Box::pin(Waiter::new(&list, ()));
            let mut cx = Context::from_waker(waker);
            assert!(
                waiter
                    .as_mut()
                    .poll_wait(&mut cx, |_, (), _| None::<()>)
                    .is_pending()
            );
            waiter
        })
        .collect();
    list.with(|queue| {
        assert!(queue.release_one(From::Oldest));
        assert!(queue.release_one(From::Newest));
        assert_eq!(queue.len(), 1);
    });
    let calls = || wakers.each_ref().map(|(counter, _)| counter.calls());
    assert_eq!(calls(), [1, 0, 1]);
    list.with(|_| {
        // The lock is held here: whoever wanted it would hang.
        assert!(waiters[0].as_mut().take_release());
        assert!(!waiters[0].as_mut().take_release(), "twice");
        assert!(!waiters[1].as_mut().take_release(), "it waits");
        drop(waiters.pop());
    });
    assert_eq!(calls(), [1, 0, 1], "a dropped one hands nothing on");
    // It waits again, behind the other.
    let mut cx = Context::from_waker(&wakers[0].1);
    let again = waiters[0].as_mut().poll_wait(&mut cx, |_, (), why| {
        assert_eq!(why, Why::First);
        None::<()>
    });
    assert!(again.is_pending());
    list.with(|queue| queue.release_one(From::Oldest));
    assert_eq!(calls(), [1, 1, 1]);
    assert!(!list.with(|queue| queue.release_one(From::Oldest) && queue.release_one(From::Oldest)));
}

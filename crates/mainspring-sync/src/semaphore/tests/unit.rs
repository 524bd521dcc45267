//! What a semaphore looks like from outside.

use crate::semaphore::tests::support::{counted, poll, poll_alone};
use crate::semaphore::{AcquireError, Semaphore, TryAcquireError};
use std::panic::catch_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

const MAX: usize = Semaphore::MAX_PERMITS;

// WITNESS: semaphore.conserved
#[test]
fn permits_come_back_when_they_are_dropped() {
    let semaphore = Arc::new(Semaphore::new(3));
    let two = semaphore.try_acquire(2).unwrap();
    assert_eq!(semaphore.available(), 1);
    assert_eq!(
        semaphore.try_acquire(2).unwrap_err(),
        TryAcquireError::NoPermits
    );
    let owned = semaphore.acquire_owned_blocking(1).unwrap();
    drop(two);
    drop(owned);
    assert_eq!((semaphore.available(), semaphore.capacity()), (3, 3));
}

// S2 is trivial here: a waiter has taken nothing, whatever it waits for.
// WITNESS: semaphore.conserved
#[test]
fn waiting_request_holds_nothing_back() {
    let semaphore = Semaphore::new(5);
    let held = semaphore.try_acquire(2).unwrap();
    let mut large = Box::pin(semaphore.acquire(5));
    assert!(poll_alone(large.as_mut()).is_pending());
    assert_eq!(semaphore.available(), 3);
    let small = semaphore.try_acquire(3).unwrap();
    drop(large);
    drop((held, small));
    assert_eq!(semaphore.available(), 5);
}

// WITNESS: ledger.overtaking
#[test]
fn first_is_passed_by_the_capacity_and_no_more() {
    let semaphore = Semaphore::new(4);
    let held = semaphore.try_acquire(1).unwrap();
    let mut large = pin!(semaphore.acquire(4));
    assert!(poll_alone(large.as_mut()).is_pending());
    drop(semaphore.try_acquire(2).unwrap());
    drop(semaphore.acquire_blocking(1).unwrap());
    // Three went past, so one more may; `try_acquire` obeys as well.
    assert_eq!(
        semaphore.try_acquire(2).unwrap_err(),
        TryAcquireError::NoPermits
    );
    drop(semaphore.try_acquire(1).unwrap());
    assert_eq!(
        semaphore.try_acquire(1).unwrap_err(),
        TryAcquireError::NoPermits
    );
    let mut late = pin!(semaphore.acquire(1));
    assert!(poll_alone(late.as_mut()).is_pending());
    assert_eq!(semaphore.available(), 3);
    drop(held);
    let all = poll_alone(large.as_mut());
    assert!(matches!(&all, Poll::Ready(Ok(permit)) if permit.permits() == 4));
    assert!(poll_alone(late.as_mut()).is_pending());
    drop(all);
    assert!(poll_alone(late.as_mut()).is_ready());
}

// WITNESS: ledger.overtaking
#[test]
fn nobody_passes_in_a_strict_semaphore() {
    let semaphore = Semaphore::strict(4);
    let held = semaphore.try_acquire(1).unwrap();
    let mut large = pin!(semaphore.acquire(4));
    assert!(poll_alone(large.as_mut()).is_pending());
    assert_eq!(
        semaphore.try_acquire(1).unwrap_err(),
        TryAcquireError::NoPermits
    );
    let mut small = pin!(semaphore.acquire(1));
    assert!(poll_alone(small.as_mut()).is_pending());
    drop(held);
    assert!(poll_alone(small.as_mut()).is_pending());
    assert!(poll_alone(large.as_mut()).is_ready());
}

#[test]
fn dropping_the_first_serves_those_that_it_held_up() {
    let semaphore = Semaphore::strict(2);
    let held = semaphore.try_acquire(1).unwrap();
    let mut large = Box::pin(semaphore.acquire(2));
    assert!(poll_alone(large.as_mut()).is_pending());
    let (counter, waker) = counted();
    let mut small = pin!(semaphore.acquire(1));
    assert!(poll(small.as_mut(), &waker).is_pending());
    drop(large);
    assert_eq!(counter.calls(), 1);
    assert!(poll(small.as_mut(), &waker).is_ready());
    drop(held);
}

// S1
// WITNESS: semaphore.conserved
#[test]
fn offer_of_a_dropped_waiter_goes_to_the_next() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire(1).unwrap();
    let mut first = Box::pin(semaphore.acquire(1));
    assert!(poll_alone(first.as_mut()).is_pending());
    let (counter, waker) = counted();
    let mut second = pin!(semaphore.acquire(1));
    assert!(poll(second.as_mut(), &waker).is_pending());
    drop(held);
    assert_eq!(counter.calls(), 0);
    drop(first);
    assert_eq!(counter.calls(), 1);
    assert!(poll(second.as_mut(), &waker).is_ready());
}

#[test]
fn none_at_all_is_granted_whatever_the_queue() {
    let semaphore = Semaphore::strict(1);
    let held = semaphore.try_acquire(1).unwrap();
    let mut waits = pin!(semaphore.acquire(1));
    assert!(poll_alone(waits.as_mut()).is_pending());
    let mut nothing = semaphore.acquire_blocking(0).unwrap();
    assert_eq!(semaphore.try_acquire(0).unwrap().permits(), 0);
    assert!(nothing.merge(held).is_ok());
    assert_eq!(nothing.permits(), 1);
    drop(nothing);
    assert!(poll_alone(waits.as_mut()).is_ready());
    semaphore.close();
    assert_eq!(
        semaphore.try_acquire(0).unwrap_err(),
        TryAcquireError::Closed
    );
    assert_eq!(
        semaphore.acquire_blocking(0).unwrap_err(),
        AcquireError::Closed
    );
}

// S19, B139
#[test]
fn more_than_there_ever_were_is_an_error() {
    let semaphore = Semaphore::new(2);
    for asked in [3, MAX, MAX + 1, usize::MAX / 4 + 1, usize::MAX] {
        let error = semaphore.acquire_blocking(asked).unwrap_err();
        assert_eq!(error, AcquireError::TooLarge { asked, capacity: 2 });
        assert!(semaphore.try_acquire(asked).unwrap_err().is_too_large());
    }
    // Also while others wait.
    let held = semaphore.try_acquire(2).unwrap();
    let mut waits = pin!(semaphore.acquire(1));
    assert!(poll_alone(waits.as_mut()).is_pending());
    assert!(matches!(
        poll_alone(pin!(semaphore.acquire(3))),
        Poll::Ready(Err(_))
    ));
    assert!(semaphore.try_acquire(3).unwrap_err().is_too_large());
    // After a resize it waits.
    semaphore.resize(1).unwrap();
    let mut both = pin!(semaphore.acquire(2));
    assert!(poll_alone(both.as_mut()).is_pending());
    assert_eq!(
        semaphore.try_acquire(2).unwrap_err(),
        TryAcquireError::NoPermits
    );
    drop(held);
    assert!(matches!(poll_alone(waits.as_mut()), Poll::Ready(Ok(_))));
    assert!(poll_alone(both.as_mut()).is_pending());
    semaphore.resize(2).unwrap();
    assert!(poll_alone(both.as_mut()).is_ready());
}

// B139, S19
#[test]
fn maxima_are_checked_at_every_entry() {
    assert!(catch_unwind(|| Semaphore::new(MAX + 1)).is_err());
    assert!(catch_unwind(|| Semaphore::strict(usize::MAX)).is_err());
    let semaphore = Semaphore::new(MAX);
    assert!(semaphore.add(1).is_err());
    assert!(semaphore.add(usize::MAX).is_err());
    assert!(semaphore.resize(usize::MAX).is_err());
    let all = semaphore.try_acquire(MAX).unwrap();
    assert!(semaphore.add(1).is_err());
    semaphore.resize(0).unwrap();
    // All are out and owed: what is added pays, and the word cannot overflow.
    semaphore.add(MAX).unwrap();
    drop(all);
    assert_eq!(semaphore.available(), MAX);
    assert_eq!(semaphore.forget(usize::MAX), MAX);
    assert_eq!((semaphore.available(), semaphore.capacity()), (0, 0));
}

#[test]
fn semaphore_that_begins_empty_has_no_size() {
    let semaphore = Semaphore::new(0);
    let mut waits = pin!(semaphore.acquire(3));
    assert!(poll_alone(waits.as_mut()).is_pending());
    semaphore.add(2).unwrap();
    assert!(poll_alone(waits.as_mut()).is_pending());
    semaphore.add(1).unwrap();
    let Poll::Ready(Ok(permit)) = poll_alone(waits.as_mut()) else {
        panic!("three were added");
    };
    permit.forget();
    assert_eq!(semaphore.capacity(), 0);
}

#[test]
fn resize_takes_free_permits_now_and_held_ones_later() {
    let semaphore = Semaphore::new(5);
    let mut held = semaphore.try_acquire(3).unwrap();
    semaphore.resize(2).unwrap();
    assert_eq!((semaphore.available(), semaphore.capacity()), (0, 2));
    drop(held.split(1));
    assert_eq!(semaphore.available(), 0);
    drop(held);
    assert_eq!(semaphore.available(), 2);
    semaphore.resize(4).unwrap();
    assert_eq!(semaphore.available(), 4);
}

// WITNESS: semaphore.conserved
#[test]
fn permits_are_split_merged_and_forgotten() {
    let semaphore = Arc::new(Semaphore::new(6));
    let other = Arc::new(Semaphore::new(6));
    let mut permit = semaphore.try_acquire(4).unwrap();
    assert!(permit.split(5).is_none());
    assert_eq!(permit.permits(), 4);
    let part = permit.split(3).unwrap();
    assert!(permit.merge(other.try_acquire(1).unwrap()).is_err());
    assert!(std::ptr::eq(permit.semaphore(), &*semaphore));
    permit.merge(part).unwrap();
    permit.forget();
    let mut owned = semaphore.try_acquire_owned(2).unwrap();
    let part = owned.split(1).unwrap();
    let foreign = owned
        .merge(other.try_acquire_owned(1).unwrap())
        .unwrap_err();
    assert!(Arc::ptr_eq(foreign.semaphore(), &other));
    drop(foreign);
    owned.merge(part).unwrap();
    assert_eq!(owned.permits(), 2);
    drop(owned);
    assert_eq!((semaphore.available(), semaphore.capacity()), (2, 2));
    assert_eq!((other.available(), other.capacity()), (6, 6));
}

// WITNESS: semaphore.sticky
#[test]
fn close_ends_waiting_and_leaves_offers_and_permits_good() {
    let semaphore = Semaphore::new(2);
    let held = semaphore.try_acquire(2).unwrap();
    let mut offered = pin!(semaphore.acquire(1));
    let mut waits = pin!(semaphore.acquire(2));
    let (counter, waker) = counted();
    assert!(poll_alone(offered.as_mut()).is_pending());
    assert!(poll(waits.as_mut(), &waker).is_pending());
    let mut held = held;
    drop(held.split(1));
    semaphore.close();
    assert_eq!(counter.calls(), 1);
    assert!(matches!(
        poll(waits.as_mut(), &waker),
        Poll::Ready(Err(AcquireError::Closed))
    ));
    assert!(matches!(poll_alone(offered.as_mut()), Poll::Ready(Ok(_))));
    drop(held);
    semaphore.add(3).unwrap();
    assert_eq!(semaphore.forget(1), 1);
    semaphore.resize(9).unwrap();
    assert!(semaphore.is_closed());
    assert!(semaphore.acquire_blocking(1).unwrap_err().is_closed());
    assert!(semaphore.try_acquire(1).unwrap_err().is_closed());
}

// B140, S7: all sequences of six out of five.
// WITNESS: semaphore.sticky, semaphore.conserved
#[test]
fn no_sequence_of_changes_reopens_or_loses_a_permit() {
    for number in 0..5_usize.pow(6) {
        let semaphore = Semaphore::new(1);
        let (mut capacity, mut free, mut is_closed) = (1_usize, 1_usize, false);
        let mut held = Vec::new();
        let mut rest = number;
        for _ in 0..6 {
            match rest % 5 {
                0 => {
                    semaphore.add(1).unwrap();
                    capacity += 1;
                    free += 1;
                }
                1 => {
                    let gone = free.min(1);
                    assert_eq!(semaphore.forget(1), gone);
                    capacity -= gone;
                    free -= gone;
                }
                2 => {
                    semaphore.close();
                    is_closed = true;
                }
                3 => match semaphore.try_acquire(1) {
                    Ok(permit) => {
                        assert!(!is_closed && free > 0);
                        free -= 1;
                        held.push(permit);
                    }
                    Err(error) => assert_eq!(error.is_closed(), is_closed, "{error}"),
                },
                _ => {
                    free += usize::from(held.pop().is_some());
                }
            }
            rest /= 5;
            assert_eq!(semaphore.is_closed(), is_closed);
            assert_eq!(
                (semaphore.available(), semaphore.capacity()),
                (free, capacity)
            );
        }
    }
}

#[test]
fn blocking_waits_and_gives_up_in_time() {
    let semaphore = Arc::new(Semaphore::new(1));
    let held = semaphore.acquire_owned_blocking(1).unwrap();
    let late = semaphore.acquire_timeout(1, Duration::ZERO);
    assert_eq!(late.unwrap_err(), TryAcquireError::NoPermits);
    assert_eq!(semaphore.diagnose().waiting, 0);
    let other = {
        let semaphore = Arc::clone(&semaphore);
        std::thread::spawn(move || semaphore.acquire_blocking(1).unwrap().permits())
    };
    while semaphore.diagnose().waiting == 0 {
        std::thread::yield_now();
    }
    drop(held);
    assert_eq!(other.join().unwrap(), 1);
    assert!(semaphore.acquire_timeout(1, Duration::from_secs(9)).is_ok());
}

#[test]
fn debug_and_errors_speak() {
    let semaphore = Semaphore::new(1);
    assert!(format!("{semaphore:?}").contains("available: 1"));
    assert!(format!("{:?}", semaphore.acquire(1)).contains("permits: 1"));
    let error = semaphore.try_acquire(2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "2 permits were asked for, and the semaphore never had more than 1"
    );
    let error = semaphore.add(usize::MAX).unwrap_err();
    assert!(error.to_string().contains("on top of 1"), "{error}");
    assert!(!error.is_transient());
}

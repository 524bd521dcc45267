//! What a person has to act on has a code, and nothing ends the process.

use mainspring_sync::{Condvar, Mutex, OnceCell, RwLock, Semaphore, broadcast, channel};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// What a call panics with.
fn panic_of<R>(call: impl FnOnce() -> R) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(call()))) else {
        panic!("it was to panic");
    };
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.into()))
        .expect("a message")
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// What the second poll of a future that was ready panics with.
fn panic_of_another_poll<F: Future>(future: F) -> String {
    let mut future = pin!(future);
    assert!(poll(future.as_mut()).is_ready());
    panic_of(|| poll(future.as_mut()).is_ready())
}

#[test]
fn numbers_that_cannot_be_are_refused_with_their_code() {
    let messages = [
        panic_of(|| channel::bounded::<u8>(0)),
        panic_of(|| broadcast::lossy::<u8>(0)),
        panic_of(|| broadcast::lossless::<u8>(0)),
        panic_of(|| Semaphore::new(Semaphore::MAX_PERMITS + 1)),
        panic_of(|| Semaphore::strict(usize::MAX)),
    ];
    for message in messages {
        assert!(message.starts_with("MS0016: "), "{message}");
    }
}

/// Of a size that has no layout, and of one that has and that no machine has. That of a ring whose
/// values are too large is tried in `lib.rs`: a sanitizer cannot compile frames of that size.
#[test]
fn capacity_beyond_all_memory_panics_and_does_not_abort() {
    let messages = [
        panic_of(|| broadcast::lossy::<u8>(usize::MAX)),
        panic_of(|| broadcast::lossy::<u8>(1 << 45)),
        panic_of(|| broadcast::lossless::<u8>(1 << 45)),
    ];
    for message in messages {
        assert!(message.starts_with("MS0016: a channel of "), "{message}");
    }
    // What takes its memory as messages come in has no such limit, and says what its bound is.
    let (tx, rx) = channel::bounded::<[u8; 64]>(1 << 50);
    assert_eq!(
        (tx.capacity(), rx.capacity()),
        (Some(1 << 50), Some(1 << 50))
    );
    let (tx, _rx) = channel::bounded::<u8>(usize::MAX);
    assert_eq!((tx.capacity(), tx.is_full()), (None, false));
}

#[test]
fn future_polled_after_its_end_says_so_with_its_code() {
    let (tx, _rx) = channel::bounded(4);
    let (lossless, _receiver) = broadcast::lossless(4);
    let (met, meets) = channel::rendezvous();
    let mut meeting = Box::pin(meets.recv());
    assert!(poll(meeting.as_mut()).is_pending());
    let lock = RwLock::new(());
    let mutex = Mutex::new(());
    let condvar = Condvar::new();
    let cell = OnceCell::<u8>::new();
    let mut broken = pin!(cell.get_or_init(|| async { panic!("on purpose") }));
    assert_eq!(panic_of(|| poll(broken.as_mut()).is_ready()), "on purpose");
    let upgradable = lock.try_upgradable_read().unwrap();
    let guard = mutex.try_lock().unwrap();
    let messages = [
        panic_of_another_poll(tx.send(1)),
        panic_of_another_poll(tx.send_many([1, 2])),
        panic_of_another_poll(tx.clone().reserve_owned()),
        panic_of_another_poll(lossless.send(1)),
        panic_of_another_poll(mainspring_sync::RwLockUpgradableGuard::upgrade(upgradable)),
        panic_of_another_poll(condvar.wait_while(guard, |()| false)),
        panic_of(|| poll(broken.as_mut()).is_ready()),
    ];
    for message in messages {
        assert!(message.starts_with("MS0017: "), "{message}");
    }
    let mut taken = pin!(met.send(1));
    assert_eq!(taken.as_mut().take(), Some(1));
    let message = panic_of(|| poll(taken.as_mut()).is_ready());
    assert!(message.starts_with("MS0017: "), "{message}");
}

#[test]
fn permits_that_are_all_out_are_not_called_a_full_channel_alone() {
    let (tx, _rx) = channel::unbounded::<u8>();
    let permits: Vec<_> = std::iter::from_fn(|| tx.try_reserve().ok()).collect();
    assert_eq!(permits.len(), 65_535);
    let refused = tx.try_reserve().unwrap_err();
    assert!(refused.is_transient());
    let text = refused.to_string();
    assert!(text.ends_with("or all its permits are out"), "{text}");
    drop(permits);
    assert!(tx.try_reserve().is_ok());
}

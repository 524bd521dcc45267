//! The channel's own part: names, errors, and what each method says in each state.

use super::{Closed, Receiver, RecvError, RecvTimeoutError, Sender, TryRecvError, channel};
use crate::parked::tests::hooks::{Touch, hooked};
use crate::parked::tests::threads::send_sync;
use crate::parked::tests::wakers::{counted, poll};
use mainspring_core::CancelSafe;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

fn look<T>(receiver: &mut Receiver<T>) -> Poll<Result<T, RecvError>> {
    poll(Pin::new(receiver), Waker::noop())
}

/// The states that a receiver can be in, and how it came there.
fn in_state(state: usize) -> (Receiver<u32>, Option<Sender<u32>>) {
    let (sender, mut receiver) = channel();
    match state {
        0 => return (receiver, Some(sender)),
        1 => {
            assert!(look(&mut receiver).is_pending());
            return (receiver, Some(sender));
        }
        2 => sender.send(7).unwrap(),
        3 => drop(sender),
        4 => {
            sender.send(7).unwrap();
            assert_eq!(receiver.try_recv(), Ok(7));
        }
        _ => {
            assert_eq!(receiver.close(), None);
            return (receiver, Some(sender));
        }
    }
    (receiver, None)
}

// B152
#[test]
fn every_method_answers_in_every_state() {
    use Poll::{Pending, Ready};
    const GONE: RecvError = RecvError;
    for (state, found) in [
        Pending,
        Pending,
        Ready(Ok(7)),
        Ready(Err(GONE)),
        Ready(Err(GONE)),
        Ready(Err(GONE)),
    ]
    .into_iter()
    .enumerate()
    {
        let (mut receiver, _sender) = in_state(state);
        assert_eq!(look(&mut receiver), found, "{state}: poll");
        if found.is_ready() {
            assert_eq!(look(&mut receiver), Ready(Err(GONE)), "{state}: again");
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
        }
        let (mut receiver, _sender) = in_state(state);
        let tried = match found {
            Pending => Err(TryRecvError::Empty),
            Ready(received) => received.map_err(|_| TryRecvError::Closed),
        };
        assert_eq!(receiver.try_recv(), tried, "{state}: try_recv");
        let (mut receiver, _sender) = in_state(state);
        let waited = match found {
            Pending => Err(RecvTimeoutError::Timeout),
            Ready(received) => received.map_err(|_| RecvTimeoutError::Closed),
        };
        assert_eq!(receiver.recv_timeout(Duration::ZERO), waited, "{state}");
        let (mut receiver, sender) = in_state(state);
        let left = if let Ready(Ok(value)) = found {
            Some(value)
        } else {
            None
        };
        assert_eq!(receiver.close(), left, "{state}: close");
        assert_eq!(receiver.close(), None);
        assert_eq!(look(&mut receiver), Ready(Err(GONE)));
        if let Some(sender) = sender {
            assert!(sender.is_closed());
            assert_eq!(sender.send(8), Err(8));
        }
        let (receiver, sender) = in_state(state);
        drop(receiver);
        assert!(sender.is_none_or(|sender| sender.is_closed() && sender.send(8) == Err(8)));
    }
}

#[test]
fn blocking_receiver_is_woken_by_the_value_and_by_the_senders_end() {
    let (sender, receiver) = channel();
    let sending = thread::spawn(move || sender.send(7));
    assert_eq!(receiver.recv_blocking(), Ok(7));
    assert_eq!(sending.join().unwrap(), Ok(()));
    let (sender, receiver) = channel::<u32>();
    let leaving = thread::spawn(move || drop(sender));
    assert_eq!(receiver.recv_blocking(), Err(RecvError));
    leaving.join().unwrap();
    let (sender, mut receiver) = channel();
    assert!(
        receiver
            .recv_timeout(Duration::ZERO)
            .unwrap_err()
            .is_timeout()
    );
    sender.send(8).unwrap();
    assert_eq!(receiver.recv_timeout(Duration::MAX), Ok(8));
}

#[test]
fn sender_waits_for_the_receivers_end() {
    let (mut sender, receiver) = channel::<u32>();
    let (counter, waker) = counted();
    assert!(poll(Pin::new(&mut sender.closed()), &waker).is_pending());
    drop(receiver);
    assert_eq!(counter.calls(), 1);
    assert!(poll(Pin::new(&mut sender.closed()), &waker).is_ready());
    assert!(sender.is_closed());
}

// S10, B151: the waker of a side that has gone is released while the other lives.
#[test]
fn wakers_of_a_side_that_goes_are_released_at_once() {
    let (mut sender, mut receiver) = channel::<u32>();
    let (counter, waker) = counted();
    let before = Arc::strong_count(&counter);
    assert!(poll(Pin::new(&mut receiver), &waker).is_pending());
    assert_eq!(Arc::strong_count(&counter), before + 1);
    drop(receiver);
    assert_eq!(Arc::strong_count(&counter), before);
    assert!(poll(Pin::new(&mut sender.closed()), &waker).is_ready());

    let (mut sender, receiver) = channel();
    assert!(poll(Pin::new(&mut sender.closed()), &waker).is_pending());
    assert_eq!(Arc::strong_count(&counter), before + 1);
    sender.send(7).unwrap();
    assert_eq!(Arc::strong_count(&counter), before);
    drop(receiver);
}

// S15
#[test]
fn latest_waker_is_woken() {
    let (sender, mut receiver) = channel();
    let [(first, one), (second, two)] = [counted(), counted()];
    assert!(poll(Pin::new(&mut receiver), &one).is_pending());
    assert!(poll(Pin::new(&mut receiver), &two).is_pending());
    sender.send(7).unwrap();
    assert_eq!((first.calls(), second.calls()), (0, 1));
}

// S9, S11, B125
#[test]
fn value_whose_drop_panics_or_comes_back_is_dropped_once() {
    struct Value(Arc<Mutex<u32>>, Option<Sender<u32>>, bool);
    impl Drop for Value {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
            if let Some(sender) = self.1.take() {
                let _ = sender.send(1);
            }
            assert!(!self.2, "on purpose");
        }
    }
    let drops = Arc::new(Mutex::new(0));
    let (sender, receiver) = channel();
    let (reply, mut replied) = channel();
    let value = Value(Arc::clone(&drops), Some(reply), true);
    assert!(sender.send(value).is_ok());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(receiver))).is_err());
    assert_eq!(*drops.lock().unwrap(), 1);
    assert_eq!(replied.try_recv(), Ok(1));
    assert_eq!(Arc::strong_count(&drops), 1, "freed");
}

// S5, B124
#[test]
fn waker_that_comes_back_finds_the_channel_usable() {
    for when in [Touch::Clone, Touch::Wake, Touch::Drop] {
        let (sender, receiver) = channel::<u32>();
        let sender = Arc::new(Mutex::new(Some(sender)));
        let waker = {
            let sender = Arc::clone(&sender);
            hooked(move |touch| {
                let taken = (touch == when).then(|| sender.try_lock().ok()?.take());
                if let Some(sender) = taken.flatten() {
                    sender.send(7).unwrap();
                }
            })
        };
        let mut receiver = Box::pin(receiver);
        let mut found = poll(receiver.as_mut(), &waker);
        if found.is_pending() {
            // The second waker makes the first one be dropped.
            found = poll(receiver.as_mut(), Waker::noop());
        }
        let sender = sender.lock().unwrap().take();
        if let Some(sender) = sender {
            sender.send(7).unwrap();
        }
        if found.is_pending() {
            found = poll(receiver.as_mut(), Waker::noop());
        }
        assert_eq!(found, Poll::Ready(Ok(7)), "{when:?}");
    }
}

// S18, B142, B143
#[test]
fn threads_and_classes_are_as_promised() {
    fn is_cancel_safe<F: CancelSafe>() {}
    fn is_unpin<T: Unpin>() {}
    is_cancel_safe::<Closed<'_, u32>>();
    is_unpin::<Receiver<std::marker::PhantomPinned>>();
    assert_eq!(send_sync!(Sender<Cell<u32>>), (true, true));
    assert_eq!(send_sync!(Receiver<Cell<u32>>), (true, true));
    assert_eq!(send_sync!(Sender<Rc<u32>>), (false, false));
    assert_eq!(send_sync!(Receiver<Rc<u32>>), (false, false));
    assert_eq!(
        send_sync!(Receiver<MutexGuard<'static, u32>>),
        (false, false)
    );
    assert_eq!(send_sync!(Closed<'static, Rc<u32>>), (false, false));
}

#[test]
fn errors_read_well() {
    let (sender, receiver) = channel::<u32>();
    assert_eq!(format!("{sender:?}"), "Sender { is_closed: false }");
    assert!(format!("{receiver:?}").starts_with("Receiver"));
    let texts = [
        RecvError.to_string(),
        TryRecvError::Closed.to_string(),
        RecvTimeoutError::Closed.to_string(),
    ];
    assert!(texts.iter().all(|text| *text == texts[0]));
    assert_eq!(
        TryRecvError::Empty.to_string(),
        "no value has been sent yet"
    );
    assert!(TryRecvError::Empty.is_transient() && TryRecvError::Empty.is_empty());
    assert!(RecvTimeoutError::Timeout.is_transient() && !RecvError.is_transient());
    assert!(TryRecvError::Closed.is_closed() && RecvTimeoutError::Closed.is_closed());
}

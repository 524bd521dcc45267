//! What receivers see, and when.

use crate::parked::tests::hooks::{Touch, hooked};
use crate::parked::tests::threads::send_sync;
use crate::parked::tests::wakers::{counted, poll, tasks};
use crate::watch::{Changed, Closed, Receiver, RecvError, Ref, Sender, WaitFor, channel};
use mainspring_core::CancelSafe;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;

fn changed<T>(receiver: &mut Receiver<T>) -> Poll<Result<(), RecvError>> {
    poll(pin!(receiver.changed()), Waker::noop())
}

// B176
#[test]
fn change_is_told_once_and_borrowing_is_not_seeing() {
    let (sender, mut receiver) = channel(0);
    assert!(!receiver.has_changed(), "the first value is seen");
    assert_eq!(changed(&mut receiver), Poll::Pending);
    sender.send(1);
    sender.send(2);
    assert_eq!(*receiver.borrow(), 2);
    assert!(receiver.has_changed());
    let mut other = receiver.clone();
    assert_eq!(changed(&mut receiver), Poll::Ready(Ok(())));
    assert_eq!(changed(&mut receiver), Poll::Pending);
    assert!(other.has_changed(), "a clone sees for itself");
    assert_eq!(*other.borrow_and_update(), 2);
    assert!(!other.has_changed());
    other.mark_changed();
    assert_eq!(changed(&mut other), Poll::Ready(Ok(())));
    sender.send(3);
    other.mark_unchanged();
    assert_eq!(changed(&mut other), Poll::Pending);
    let mut late = sender.subscribe();
    assert_eq!(changed(&mut late), Poll::Pending);
    late.mark_changed();
    assert!(late.has_changed());
}

// B176: whether something has changed and what `changed` says never disagree.
#[test]
fn last_value_comes_before_the_end() {
    let (sender, mut receiver) = channel(0);
    let second = sender.clone();
    sender.send(1);
    drop(sender);
    assert!(!receiver.is_closed());
    drop(second);
    assert!(receiver.is_closed() && receiver.has_changed());
    assert_eq!(changed(&mut receiver), Poll::Ready(Ok(())));
    assert!(!receiver.has_changed());
    assert_eq!(changed(&mut receiver), Poll::Ready(Err(RecvError)));
    receiver.mark_changed();
    assert!(receiver.has_changed());
    assert_eq!(changed(&mut receiver), Poll::Ready(Ok(())));
    assert_eq!(*receiver.borrow(), 1);
}

// B175, B176
// WITNESS: watch.sent
#[test]
fn value_sent_to_nobody_is_there_for_who_comes() {
    let sender = Sender::new(String::from("first"));
    assert_eq!((sender.receiver_count(), sender.is_closed()), (0, true));
    sender.send(String::from("second"));
    assert_eq!(sender.send_replace(String::from("third")), "second");
    let receiver = sender.subscribe();
    assert_eq!(*receiver.borrow(), "third");
    assert_eq!(*sender.borrow(), "third");
    assert!(!receiver.has_changed());
    let clone = receiver.clone();
    assert_eq!(sender.receiver_count(), 2);
    drop((receiver, clone));
    assert!(sender.is_closed());
}

// B176
// WITNESS: watch.version
#[test]
fn closure_that_panics_leaves_the_channel_usable() {
    let (sender, mut receiver) = channel(0);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        sender.send_modify(|value| {
            *value = 1;
            panic!("on purpose");
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(*receiver.borrow(), 1);
    assert_eq!(
        changed(&mut receiver),
        Poll::Ready(Ok(())),
        "it may have changed"
    );
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        sender.send_if_modified(|_| panic!("on purpose"));
    }));
    assert!(panicked.is_err() && receiver.has_changed());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = poll(
            pin!(receiver.wait_for(|_| panic!("on purpose"))),
            Waker::noop(),
        );
    }));
    assert!(panicked.is_err() && receiver.has_changed(), "not seen");
    sender.send(2);
    assert_eq!(*receiver.borrow_and_update(), 2);
}

// WITNESS: watch.waits
#[test]
fn waiters_are_woken_by_changes_and_by_nothing_else() {
    let (sender, receiver) = channel(0);
    let tasks = tasks::<70>();
    let mut receivers = vec![receiver; 70];
    let mut waits: Vec<_> = receivers
        .iter_mut()
        .map(|r| Box::pin(r.changed()))
        .collect();
    for (wait, (_, waker)) in waits.iter_mut().zip(&tasks) {
        assert!(poll(wait.as_mut(), waker).is_pending());
        assert!(poll(wait.as_mut(), waker).is_pending());
    }
    assert!(!sender.send_if_modified(|_| false));
    assert!(tasks.iter().all(|(counter, _)| counter.calls() == 0));
    assert!(sender.send_if_modified(|value| {
        *value += 1;
        true
    }));
    sender.send_modify(|value| *value += 1);
    for (wait, (counter, waker)) in waits.iter_mut().zip(&tasks) {
        assert_eq!(counter.calls(), 1);
        assert_eq!(poll(wait.as_mut(), waker), Poll::Ready(Ok(())));
    }
    drop(waits);
    assert!(receivers.iter().all(|receiver| *receiver.borrow() == 2));
}

#[test]
fn condition_is_asked_once_for_each_value() {
    let (sender, mut receiver) = channel(0);
    let asked = RefCell::new(Vec::new());
    let (counter, waker) = counted();
    let mut wait = Box::pin(receiver.wait_for(|value| {
        asked.borrow_mut().push(*value);
        *value >= 3
    }));
    for value in 1..=2 {
        assert!(poll(wait.as_mut(), &waker).is_pending());
        assert!(poll(wait.as_mut(), &waker).is_pending());
        sender.send(value);
        assert_eq!(counter.calls(), value);
    }
    sender.send(3);
    let Poll::Ready(Ok(found)) = poll(wait.as_mut(), &waker) else {
        panic!("the value satisfies it")
    };
    assert_eq!(*found, 3);
    drop(found);
    drop(wait);
    assert_eq!(*asked.borrow(), [0, 1, 3], "the second was missed");
    assert!(!receiver.has_changed());
    let at_once = poll(pin!(receiver.wait_for(|value| *value == 3)), &waker);
    assert!(matches!(at_once, Poll::Ready(Ok(_))), "seen before");
    drop(at_once);
    drop(sender);
    let never = poll(pin!(receiver.wait_for(|value| *value == 4)), &waker);
    assert!(matches!(never, Poll::Ready(Err(RecvError))));
}

#[test]
fn sender_waits_for_a_moment_without_receivers() {
    let (sender, receiver) = channel(0);
    let (counter, waker) = counted();
    let mut closed = pin!(sender.closed());
    assert!(poll(closed.as_mut(), &waker).is_pending());
    let second = sender.subscribe();
    drop(receiver);
    assert_eq!(counter.calls(), 0);
    drop(second);
    assert_eq!(counter.calls(), 1);
    let _third = sender.subscribe();
    assert!(poll(closed.as_mut(), &waker).is_ready());
    assert!(poll(pin!(sender.closed()), &waker).is_pending());
}

#[test]
fn thread_waits_for_changes_until_the_end() {
    let (sender, mut receiver) = channel(0);
    let sending = thread::spawn(move || {
        for value in 1..=100 {
            sender.send(value);
        }
    });
    let mut last = 0;
    while receiver.changed_blocking() == Ok(()) {
        let value = *receiver.borrow_and_update();
        assert!(value >= last);
        last = value;
    }
    assert_eq!(last, 100);
    sending.join().unwrap();
}

// S10
#[test]
fn future_that_is_dropped_takes_its_waker_along() {
    let (sender, mut receiver) = channel(0);
    let (counter, waker) = counted();
    let before = Arc::strong_count(&counter);
    {
        let mut wait = pin!(receiver.changed());
        assert!(poll(wait.as_mut(), &waker).is_pending());
        assert_eq!(Arc::strong_count(&counter), before + 1);
    }
    assert_eq!(Arc::strong_count(&counter), before);
    sender.send(1);
    assert_eq!(counter.calls(), 0);
}

/// Uses the channel when it is dropped, and then panics if it is told to.
struct Noisy(Option<Arc<Sender<Noisy>>>, bool);

impl Drop for Noisy {
    fn drop(&mut self) {
        if let Some(sender) = self.0.take() {
            assert!(!sender.borrow().1);
            sender.send_modify(|_| ());
            let _ = sender.subscribe();
        }
        assert!(!self.1, "on purpose");
    }
}

// S5, S11, B125
// WITNESS: watch.sent
#[test]
fn old_value_is_dropped_with_nothing_locked() {
    let sender = Arc::new(Sender::new(Noisy(None, false)));
    let mut receiver = sender.subscribe();
    sender.send(Noisy(Some(Arc::clone(&sender)), true));
    receiver.mark_unchanged();
    let panicked = catch_unwind(AssertUnwindSafe(|| sender.send(Noisy(None, false))));
    assert!(panicked.is_err());
    assert_eq!(changed(&mut receiver), Poll::Ready(Ok(())));
    assert!(!receiver.borrow().1);
    assert_eq!(
        (Arc::strong_count(&sender), sender.receiver_count()),
        (1, 1)
    );
}

// S5, B124, B127
#[test]
fn waker_that_comes_back_finds_the_channel_usable() {
    for when in [Touch::Clone, Touch::Wake, Touch::Drop] {
        let (sender, mut receiver) = channel(0);
        let sender = Arc::new(sender);
        let waker = {
            let sender = Arc::clone(&sender);
            let is_inside = std::sync::atomic::AtomicBool::new(false);
            hooked(move |touch| {
                if touch == when && !is_inside.swap(true, std::sync::atomic::Ordering::Relaxed) {
                    sender.send_modify(|value| *value += 1);
                    let mut other = sender.subscribe();
                    assert_eq!(changed(&mut other), Poll::Pending);
                    let _ = poll(pin!(sender.closed()), Waker::noop());
                }
            })
        };
        let mut wait = Box::pin(receiver.changed());
        let found = poll(wait.as_mut(), &waker);
        if found.is_pending() {
            sender.send_modify(|value| *value += 1);
            assert_eq!(poll(wait.as_mut(), Waker::noop()), Poll::Ready(Ok(())));
        }
        drop(wait);
        drop(waker);
        assert!(*receiver.borrow() > 0, "{when:?}");
    }
}

// S18, B142, B143
#[test]
fn threads_and_classes_are_as_promised() {
    fn is_cancel_safe<F: CancelSafe>() {}
    is_cancel_safe::<Changed<'_, u32>>();
    is_cancel_safe::<Closed<'_, u32>>();
    is_cancel_safe::<WaitFor<'_, u32, fn(&u32) -> bool>>();
    assert_eq!(send_sync!(Sender<u32>), (true, true));
    assert_eq!(send_sync!(Receiver<u32>), (true, true));
    assert_eq!(send_sync!(Changed<'static, u32>), (true, true));
    assert_eq!(
        send_sync!(WaitFor<'static, u32, fn(&u32) -> bool>),
        (true, true)
    );
    // Two threads may read at once, and the last one drops.
    assert_eq!(send_sync!(Sender<Cell<u32>>), (false, false));
    assert_eq!(send_sync!(Receiver<Cell<u32>>), (false, false));
    assert_eq!(send_sync!(Receiver<Rc<u32>>), (false, false));
    assert_eq!(send_sync!(Ref<'static, u32>), (false, true));
    assert_eq!(send_sync!(Ref<'static, Cell<u32>>), (false, false));
}

#[test]
fn shown_without_a_debug_of_the_value() {
    struct Mute;
    let (sender, mut receiver) = channel(Mute);
    assert!(format!("{sender:?}").contains("receivers: 1"));
    assert!(format!("{:?}", sender.closed()).contains("Closed"));
    assert!(format!("{receiver:?}").contains("has_changed: false"));
    assert!(format!("{:?}", receiver.changed()).contains("seen: 0"));
    assert!(format!("{:?}", receiver.wait_for(|_| true)).contains("WaitFor"));
    assert!(!RecvError.is_transient() && RecvError.to_string().contains("senders"));
    let (numbers, _receiver) = channel(7);
    assert_eq!(format!("{:?}", numbers.borrow()), "7");
}

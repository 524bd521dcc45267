use super::block_on;
use std::cell::RefCell;
use std::future::{Future, pending, poll_fn};
use std::panic::catch_unwind;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

fn message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(|&s| s.to_owned()))
        .unwrap_or_default()
}

/// A future that hands its waker out and is ready when it is polled again.
fn woken_once(wakers: &mpsc::Sender<Waker>) -> impl Future<Output = u32> {
    let mut polls = 0;
    poll_fn(move |cx| {
        polls += 1;
        if polls > 1 {
            return Poll::Ready(polls);
        }
        wakers
            .send(cx.waker().clone())
            .expect("the receiver waits for it");
        Poll::Pending
    })
}

#[test]
fn future_woken_by_another_thread_is_polled_again() {
    let (wakers, woken) = mpsc::channel::<Waker>();
    let other = std::thread::spawn(move || woken.recv().map(Waker::wake));
    assert!(block_on(woken_once(&wakers)) >= 2);
    assert!(other.join().is_ok());
}

#[test]
fn waker_of_an_earlier_call_does_no_harm_to_a_later_one() {
    let (wakers, woken) = mpsc::channel::<Waker>();
    let stale = {
        let mut first = pin!(woken_once(&wakers));
        let mut polled = false;
        block_on(poll_fn(|cx| {
            if !polled {
                polled = true;
                assert!(first.as_mut().poll(cx).is_pending());
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        }));
        woken.recv().expect("the first poll sent it")
    };
    let mut polls = 0;
    let polls = block_on(poll_fn(|cx| {
        polls += 1;
        stale.wake_by_ref();
        if polls < 3 {
            Poll::Pending
        } else {
            cx.waker().wake_by_ref();
            Poll::Ready(polls)
        }
    }));
    assert_eq!(polls, 3, "the stale waker and this call's are one");
}

/// B146: no poll but those that are asked for.
#[test]
fn future_that_is_ready_is_polled_once() {
    let mut polls = 0;
    block_on(poll_fn(|_| {
        polls += 1;
        Poll::Ready(())
    }));
    assert_eq!(polls, 1);
}

#[test]
fn panic_passes_through_and_the_next_call_works() {
    let caught = catch_unwind(|| block_on(async { panic!("on purpose") }));
    assert_eq!(message(&*caught.expect_err("it panicked")), "on purpose");
    assert_eq!(block_on(async { 1 }), 1);
}

#[test]
fn nested_call_is_refused_with_its_code() {
    let caught = block_on(async { catch_unwind(|| block_on(async {})) });
    assert!(message(&*caught.expect_err("it panicked")).starts_with("MS0002"));
}

#[test]
fn waker_dropped_or_called_after_the_thread_ended_is_harmless() {
    let thread = std::thread::spawn(|| block_on(poll_fn(|cx| Poll::Ready(cx.waker().clone()))));
    let waker = thread.join().expect("it only clones its waker");
    waker.wake_by_ref();
    drop(waker);
}

// B044: what blocks in a destructor of a thread-local, in both orders of destruction.
#[test]
fn call_inside_thread_local_destruction_works() {
    struct Blocks(mpsc::Sender<u32>);
    impl Drop for Blocks {
        fn drop(&mut self) {
            let sent = self.0.send(block_on(async { 7 }));
            assert!(sent.is_ok());
        }
    }
    thread_local! { static GUARD: RefCell<Option<Blocks>> = const { RefCell::new(None) }; }
    for before in [true, false] {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            if before {
                block_on(async {});
            }
            GUARD.set(Some(Blocks(sender)));
            if !before {
                block_on(async {});
            }
        });
        assert!(thread.join().is_ok());
        assert_eq!(receiver.recv(), Ok(7));
    }
}

#[test]
fn borrowed_future_is_polled_to_its_end_or_dropped() {
    let mut cx = Context::from_waker(Waker::noop());
    let mut value = 1;
    block_on(async { value += 1 });
    let mut never = pin!(pending::<()>());
    assert!(never.as_mut().poll(&mut cx).is_pending());
    assert_eq!(value, 2);
}

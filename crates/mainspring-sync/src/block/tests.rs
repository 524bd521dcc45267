//! Waiting on a thread.

use super::{wait, wait_for};
use mainspring_core::completion;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::thread;
use std::time::Duration;

#[test]
fn sleeper_is_woken_from_another_thread() {
    let (completer, completion) = completion();
    let (ready, is_waiting) = std::sync::mpsc::channel();
    let other = thread::spawn(move || {
        is_waiting.recv().unwrap();
        completer.complete(7).unwrap();
    });
    let mut completion = pin!(completion);
    let mut told = false;
    let value = wait(pin!(poll_fn(|cx| {
        let result = completion.as_mut().poll(cx);
        if !std::mem::replace(&mut told, true) {
            ready.send(()).unwrap();
        }
        result
    })));
    assert_eq!(value.unwrap(), 7);
    other.join().unwrap();
}

#[test]
fn limit_passes_and_what_came_in_time_is_kept() {
    assert_eq!(wait_for(pin!(pending::<()>()), Duration::ZERO), None);
    let mut polls = 0;
    let late = pin!(poll_fn(|_| {
        polls += 1;
        if polls == 2 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
    assert_eq!(wait_for(late, Duration::ZERO), Some(()));
}

// WITNESS: block.seat
#[test]
fn wait_inside_a_wait_has_a_seat_of_its_own() {
    let mut inner_done = false;
    let output = wait(pin!(poll_fn(|cx| {
        if inner_done {
            return Poll::Ready(1);
        }
        // A token for the outer wait must not be eaten by the inner one.
        cx.waker().wake_by_ref();
        assert_eq!(wait_for(pin!(pending::<()>()), Duration::ZERO), None);
        inner_done = true;
        Poll::Pending
    })));
    assert_eq!(output, 1);
}

#[test]
fn blocking_inside_a_task_says_what_to_do() {
    let refused = std::panic::catch_unwind(|| {
        mainspring_core::poll::root(|| wait(pin!(pending::<()>())));
    });
    let message = *refused.unwrap_err().downcast::<&'static str>().unwrap();
    assert!(message.starts_with("MS0013"), "{message}");
}

//! The textbook waiter lists, as printed, failing beside ours.

use super::behaviour::{counted, poll};
use super::kinds::{Notified, Stored, notify};
use crate::wait_list::{From, WaitList};
use std::pin::pin;
use std::task::{Poll, Waker};

mod printed {
    use std::collections::VecDeque;
    use std::task::{Poll, Waker};

    /// A waiter is a waker in a queue: pushed at every poll, popped by whoever wakes.
    #[derive(Default)]
    pub(super) struct Channel {
        pub(super) messages: VecDeque<u32>,
        pub(super) waiters: VecDeque<Waker>,
    }

    impl Channel {
        pub(super) fn poll_recv(&mut self, waker: &Waker) -> Poll<u32> {
            match self.messages.pop_front() {
                Some(message) => Poll::Ready(message),
                None => {
                    self.waiters.push_back(waker.clone());
                    Poll::Pending
                }
            }
        }

        pub(super) fn send(&mut self, message: u32) {
            self.messages.push_back(message);
            if let Some(waker) = self.waiters.pop_front() {
                waker.wake();
            }
        }
    }
}

// CORRECTION: 33
// WITNESS: wait-list.hand-on
#[test]
fn woken_waiter_that_is_dropped_takes_the_wake_along_in_the_textbook() {
    let [(first, one), (second, two)] = [counted(), counted()];
    let mut printed = printed::Channel::default();
    assert!(printed.poll_recv(&one).is_pending());
    assert!(printed.poll_recv(&two).is_pending());
    printed.send(7);
    // The first receiver is dropped here: nothing happens, there is nothing of it in the list.
    assert_eq!((first.calls(), second.calls()), (1, 0));
    assert_eq!(
        printed.messages,
        [7],
        "a message, and a receiver that sleeps for ever"
    );

    let [(first, one), (second, two)] = [counted(), counted()];
    let ours = WaitList::<Stored>::default();
    let mut receiver = Box::pin(Notified::new(&ours));
    let mut next = pin!(Notified::new(&ours));
    assert!(poll(receiver.as_mut(), &one).is_pending());
    assert!(poll(next.as_mut(), &two).is_pending());
    notify(&ours, From::Oldest);
    drop(receiver);
    assert_eq!((first.calls(), second.calls()), (1, 1));
    assert!(poll(next.as_mut(), &two).is_ready());
}

// CORRECTION: 32
// WITNESS: wait-list.node
#[test]
fn waiter_pushed_at_every_poll_grows_the_list_in_the_textbook() {
    let mut printed = printed::Channel::default();
    let ours = WaitList::<Stored>::default();
    {
        let mut receiver = pin!(Notified::new(&ours));
        for _ in 0..100 {
            assert!(printed.poll_recv(Waker::noop()).is_pending());
            assert_eq!(poll(receiver.as_mut(), Waker::noop()), Poll::Pending);
        }
        assert_eq!((printed.waiters.len(), ours.diagnose().waiting), (100, 1));
    }
    // And its drop leaves nothing behind.
    assert_eq!((printed.waiters.len(), ours.diagnose().waiting), (100, 0));
}

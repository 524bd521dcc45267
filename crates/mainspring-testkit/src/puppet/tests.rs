use super::Puppet;
use crate::hand::Hand;
use crate::sync::Arc;
use mainspring_core::poll;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Poll;

fn stamps() -> Hand<()> {
    Hand::new(poll_fn(|cx| {
        assert!(poll::stamp().is_some());
        cx.waker().wake_by_ref();
        Poll::Pending
    }))
}

#[test]
fn hands_of_one_puppet_are_polled_by_one_task() {
    let (mut puppet, mut other) = (Puppet::new(), Puppet::new());
    assert_ne!(puppet.id(), other.id());
    let first = puppet.step();
    let second = puppet.step();
    assert_eq!((first.task, second.task), (puppet.id(), puppet.id()));
    assert_eq!(second.polls, first.polls + 1);
    assert_eq!(other.step().task, other.id());
    let mut hand = stamps();
    assert!(puppet.poll(&mut hand).is_pending());
    assert!(puppet.is_woken() && !other.is_woken());
    // The task changes under the future's feet, as in a select that was moved.
    assert!(other.poll(&mut hand).is_pending());
    assert!(other.is_woken());
    let mut ready = Hand::new(async { 5 });
    assert_eq!(puppet.poll(&mut ready), Poll::Ready(5));
    assert!(!ready.is_alive());
}

#[test]
fn panic_of_a_hand_comes_out_and_the_puppet_goes_on() {
    let mut puppet = Puppet::new();
    let mut hand: Hand<()> = Hand::new(poll_fn(|_| resume_unwind(Box::new("it"))));
    let panicked = catch_unwind(AssertUnwindSafe(|| puppet.poll(&mut hand)));
    assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"it"));
    assert!(hand.is_alive());
    assert_eq!(puppet.step().task, puppet.id());
}

#[test]
fn puppet_that_goes_leaves_nothing_behind() {
    let held = Arc::new(());
    for polled in [false, true] {
        let mut puppet = Puppet::new();
        let stage = Arc::downgrade(&puppet.stage);
        let theirs = Arc::clone(&held);
        let mut hand = Hand::new(async move {
            let _theirs = theirs;
            pending::<()>().await;
        });
        if polled {
            assert!(puppet.poll(&mut hand).is_pending());
        }
        drop(puppet);
        assert_eq!(stage.strong_count(), 0, "polled: {polled}");
        drop(hand);
    }
    assert_eq!(Arc::strong_count(&held), 1);
}

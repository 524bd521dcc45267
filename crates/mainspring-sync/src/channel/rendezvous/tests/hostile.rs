//! Code of the user's that comes back to the channel from where it is called, or panics there.

use crate::channel;
use crate::channel::rendezvous::{Receiver, Sender};
use crate::channel::tests::kit::{Grenade, Hand};
use mainspring_testkit::{Moment, Script, Scripted};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

fn poll_with<F: Future>(future: &mut Pin<Box<F>>, waker: &Waker) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(waker))
}

/// Runs what a waker that follows a script panics out of.
fn panics<R>(f: impl FnOnce() -> R) {
    let payload = catch_unwind(AssertUnwindSafe(f)).err();
    assert!(payload.is_some_and(|payload| Scripted::is(&*payload)));
}

/// Uses both ends in every way that takes the lock.
fn meddle(tx: &Sender<u32>, rx: &Receiver<u32>) {
    let _ = tx.try_send(100);
    let _ = rx.try_recv();
    let mut send = Hand::new(tx.send(200));
    if send.poll().is_pending() {
        let _ = send.poll();
    }
    let _ = send.future.as_mut().take();
    let _ = Hand::new(rx.recv()).poll();
    assert_eq!(tx.is_closed(), rx.is_closed());
}

/// S5, S20, B125: no lock is held while a waker is cloned, woken or dropped.
#[test]
fn wakers_may_use_the_channel() {
    for moment in Moment::ALL {
        let (tx, rx) = channel::rendezvous();
        let script = || {
            let (tx, rx) = (tx.clone(), rx.clone());
            Script::new().on(moment, move || meddle(&tx, &rx)).waker()
        };
        let wakers: Vec<_> = (0..4).map(|_| script()).collect();
        let mut recv = Box::pin(rx.recv());
        let _ = poll_with(&mut recv, &wakers[0].0);
        let _ = poll_with(&mut recv, &wakers[1].0);
        let mut send = Box::pin(tx.send(1));
        let _ = poll_with(&mut send, &wakers[2].0);
        let _ = poll_with(&mut send, &wakers[3].0);
        let _ = rx.try_recv();
        let mut closed = Box::pin(tx.closed());
        assert!(poll_with(&mut closed, &wakers[0].0).is_pending());
        let mut second = Box::pin(tx.send(2));
        let _ = poll_with(&mut second, &wakers[1].0);
        drop(second);
        let mut third = Box::pin(tx.send(3));
        let _ = poll_with(&mut third, &wakers[1].0);
        tx.close();
        assert!(poll_with(&mut closed, &wakers[0].0).is_ready());
        assert_eq!(rx.waiting(), (0, 0), "nothing is parked after the end");
        drop((recv, send, third));
        for (waker, tally) in wakers {
            tally.disarm();
            drop(waker);
            assert_eq!(tally.live(), 0);
        }
    }
}

// WITNESS: meeting.closed
/// S7: what is parked when the end comes comes back, also while the others are still being told.
#[test]
fn nothing_is_received_while_everybody_is_told_of_the_end() {
    let (tx, rx) = channel::rendezvous();
    let first = Hand::waiting(rx.recv());
    let (looks, takes) = (rx.clone(), rx.clone());
    let hook = move || assert!(looks.try_recv().unwrap_err().is_closed());
    let (waker, tally) = Script::new().on(Moment::Wake, hook).waker();
    let mut second = Box::pin(takes.recv());
    assert!(poll_with(&mut second, &waker).is_pending());
    let mut send = Hand::waiting(tx.send(1));
    assert_eq!((first.wakes(), tally.woken()), (1, 0));
    rx.close();
    assert_eq!(tally.woken(), 1);
    assert_eq!(send.ready().unwrap_err().into_inner(), 1);
    drop(second);
    tally.disarm();
}

/// Sends through the channel when it is dropped.
struct Echo(Sender<Echo>, Cell<bool>);

impl Drop for Echo {
    fn drop(&mut self) {
        if self.1.replace(false) {
            let echo = Self(self.0.clone(), Cell::new(false));
            assert!(self.0.try_send(echo).is_err());
            let tx = self.0.clone();
            let _ = Hand::new(tx.send(Self(self.0.clone(), Cell::new(false)))).poll();
        }
    }
}

/// S5, B125: no lock is held while a message is dropped.
#[test]
fn messages_may_use_the_channel() {
    let (tx, rx) = channel::rendezvous();
    let echo = || Echo(tx.clone(), Cell::new(true));
    drop(Hand::new(tx.send(echo())));
    drop(Hand::waiting(tx.send(echo())));
    let mut send = Hand::waiting(tx.send(echo()));
    drop(rx.try_recv());
    assert!(send.ready().is_ok());
    let blocks = Hand::waiting(rx.blocks());
    assert!(tx.try_send(echo()).is_ok());
    drop(blocks);
    let mut parked = Hand::waiting(tx.send(echo()));
    drop(rx);
    drop(parked.ready());
    assert_eq!(tx.sender_count(), 1);
}

/// S11, B127: a receiver's waker panics out of the poll that parks a message.
#[test]
fn send_whose_receivers_waker_panics_is_parked() {
    let (tx, rx) = channel::rendezvous();
    let (waker, _tally) = Script::new().panics(Moment::Wake).waker();
    let mut recv = Box::pin(rx.recv());
    assert!(poll_with(&mut recv, &waker).is_pending());
    let mut send = Hand::new(tx.send(1));
    panics(|| send.poll());
    assert_eq!(rx.waiting(), (1, 0));
    assert!(send.poll().is_pending());
    assert_eq!(poll_with(&mut recv, &waker), Poll::Ready(Ok(1)));
    assert_eq!((send.wakes(), send.ready()), (1, Ok(())));
    // And it leaves the list if it is dropped instead.
    let (waker, _tally) = Script::new().panics(Moment::Wake).waker();
    let mut recv = Box::pin(rx.recv());
    assert!(poll_with(&mut recv, &waker).is_pending());
    let mut send = Hand::new(tx.send(2));
    panics(|| send.poll());
    drop(send);
    assert_eq!(rx.waiting(), (0, 0));
}

/// S11: a sender's waker that panics takes no message along.
#[test]
fn message_whose_senders_waker_panics_is_received() {
    let (tx, rx) = channel::rendezvous();
    for by_poll in [false, true] {
        let (waker, _tally) = Script::new().panics(Moment::Wake).waker();
        let mut send = Box::pin(tx.send(7));
        assert!(poll_with(&mut send, &waker).is_pending());
        if by_poll {
            assert_eq!(Hand::new(rx.recv()).poll(), Poll::Ready(Ok(7)));
        } else {
            assert_eq!(rx.try_recv(), Ok(7));
        }
        assert_eq!(poll_with(&mut send, &waker), Poll::Ready(Ok(())));
        assert_eq!(rx.waiting(), (0, 0));
    }
}

/// S11: a waker that panics when it is cloned.
#[test]
fn send_whose_waker_cannot_be_cloned_has_its_message() {
    let (tx, rx) = channel::rendezvous();
    let (waker, _tally) = Script::new().panics(Moment::Clone).waker();
    let mut fresh = Box::pin(tx.send(1));
    panics(|| poll_with(&mut fresh, &waker));
    assert_eq!(rx.waiting(), (0, 0));
    assert_eq!(fresh.as_mut().take(), Some(1));
    let mut parked = Hand::waiting(tx.send(2));
    let (waker, _tally) = Script::new().panics(Moment::Clone).waker();
    panics(|| poll_with(&mut parked.future, &waker));
    assert_eq!(rx.waiting(), (1, 0));
    assert!(parked.poll().is_pending());
    assert_eq!(rx.try_recv(), Ok(2));
    assert_eq!((parked.wakes(), parked.ready()), (1, Ok(())));
}

/// S11: at the end, everybody is told whatever some wakers do; the first panic goes on.
#[test]
fn end_tells_all_though_wakers_panic() {
    for of_receivers in [false, true] {
        let (tx, rx) = channel::rendezvous();
        let (waker, _tally) = Script::new().panics(Moment::Wake).waker();
        let (other, _tally) = Script::new().panics(Moment::Wake).waker();
        let mut shouts = Box::pin(tx.closed());
        assert!(poll_with(&mut shouts, &other).is_pending());
        let mut closed = Hand::waiting(tx.closed());
        if of_receivers {
            let mut first = Box::pin(rx.recv());
            assert!(poll_with(&mut first, &waker).is_pending());
            let mut others: Vec<_> = (0..70).map(|_| Hand::waiting(rx.recv())).collect();
            panics(|| tx.close());
            assert!(others.iter_mut().all(|recv| recv.wakes() == 1));
            assert!(others.iter_mut().all(|recv| recv.ready().is_err()));
        } else {
            let mut first = Box::pin(tx.send(0));
            assert!(poll_with(&mut first, &waker).is_pending());
            let mut others: Vec<_> = (1..71).map(|n| Hand::waiting(tx.send(n))).collect();
            panics(|| drop(rx));
            assert!(others.iter_mut().all(|send| send.wakes() == 1));
            assert!(others.iter_mut().all(|send| send.ready().is_err()));
        }
        assert_eq!((closed.wakes(), closed.ready()), (1, ()));
    }
}

/// S11, B164: a destructor that panics leaves the channel whole.
#[test]
fn panic_of_a_destructor_leaves_the_list_whole() {
    let drops = Cell::new(0);
    let (tx, rx) = channel::rendezvous();
    let send = Hand::waiting(tx.send(Grenade(&drops)));
    let mut next = Hand::waiting(tx.send(Grenade(&drops)));
    let result = catch_unwind(AssertUnwindSafe(|| drop(send)));
    assert!(result.is_err());
    assert_eq!(rx.waiting(), (1, 0));
    assert!(rx.try_recv().is_ok());
    assert!(next.ready().is_ok());
    assert_eq!(drops.get(), 2);
}

//! S18, B142, B143: who may go to another thread, and who may be shared with one.

use crate::channel;
use crate::channel::rendezvous::{
    Receiver, Recv, Send as Sending, Sender, UntilClosed, WeakSender,
};
use crate::channel::tests::kit::Hand;
use mainspring_core::CancelSafe;
use std::cell::Cell;
use std::marker::PhantomPinned;
use std::rc::Rc;
use std::sync::MutexGuard;

/// Whether a type has a trait: an inherent constant hides the trait's where the bound holds.
macro_rules! is {
    ($bound:path, $t:ty) => {{
        #[allow(dead_code, reason = "only one of the two constants is used")]
        trait Otherwise {
            const IS: bool = false;
        }
        impl<T: ?Sized> Otherwise for T {}
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "only one of the two constants is used")]
        impl<T: ?Sized + $bound> Probe<T> {
            const IS: bool = true;
        }
        <Probe<$t>>::IS
    }};
}

macro_rules! all {
    ($bound:path, $message:ty) => {
        [
            is!($bound, Sender<$message>),
            is!($bound, Receiver<$message>),
            is!($bound, WeakSender<$message>),
            is!($bound, Recv<'static, $message>),
            is!($bound, Sending<'static, $message>),
            is!($bound, UntilClosed<'static, $message>),
        ]
    };
}

#[test]
fn ends_and_futures_are_as_sendable_as_the_messages() {
    assert_eq!(all!(Send, u8), [true; 6]);
    assert_eq!(all!(Sync, u8), [true; 6]);
    assert_eq!(all!(Send, Cell<u8>), [true; 6]);
    // Messages are moved, and never seen through what holds them.
    assert_eq!(all!(Sync, Cell<u8>), [true; 6]);
    assert_eq!(all!(Send, Rc<u8>), [false; 6]);
    assert_eq!(all!(Sync, Rc<u8>), [false; 6]);
    assert_eq!(all!(Send, MutexGuard<'static, u8>), [false; 6]);
    assert_eq!(all!(Sync, MutexGuard<'static, u8>), [false; 6]);
}

#[test]
fn ends_can_be_moved_and_futures_that_are_linked_cannot() {
    assert!(is!(Unpin, Sender<PhantomPinned>) && is!(Unpin, Receiver<PhantomPinned>));
    assert!(!is!(Unpin, Sending<'static, u8>) && !is!(Unpin, Recv<'static, u8>));
}

/// Which futures may lose a race.
#[test]
fn futures_that_lose_nothing_say_so() {
    assert!(is!(CancelSafe, Recv<'static, u8>) && is!(CancelSafe, UntilClosed<'static, u8>));
    assert!(!is!(CancelSafe, Sending<'static, u8>));
}

#[test]
fn messages_of_every_size_and_alignment_come_through() {
    #[derive(Clone, Debug, PartialEq)]
    #[repr(align(128))]
    struct Aligned(u8);

    fn comes_through<T: Clone + PartialEq + std::fmt::Debug>(message: T) {
        let (tx, rx) = channel::rendezvous();
        let _send = Hand::waiting(tx.send(message.clone()));
        assert_eq!(rx.try_recv(), Ok(message.clone()));
        let mut blocks = Hand::waiting(rx.blocks());
        tx.try_send(message.clone()).unwrap();
        assert_eq!(blocks.ready(), Ok(message.clone()));
        let mut back = Hand::waiting(tx.send(message.clone()));
        rx.close();
        assert_eq!(back.ready().unwrap_err().into_inner(), message);
    }

    comes_through(());
    comes_through([7_u8; 4_096]);
    comes_through(Aligned(7));
    comes_through(String::from("seven"));
}

//! S18, B142, B143: who may go to another thread, and who may be shared with one.

use crate::channel::{
    Drain, OwnedPermit, Permit, Receiver, Recv, RecvMany, Reserve, ReserveOwned, Send as Sending,
    SendMany, Sender, UntilClosed, WeakSender, bounded,
};
use mainspring_core::CancelSafe;
use std::cell::Cell;
use std::rc::Rc;
use std::vec::IntoIter;

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

macro_rules! both {
    ($bound:path, $message:ty) => {
        [
            is!($bound, Sender<$message>),
            is!($bound, Receiver<$message>),
            is!($bound, WeakSender<$message>),
            is!($bound, Permit<'static, $message>),
            is!($bound, OwnedPermit<$message>),
            is!($bound, Reserve<'static, $message>),
            is!($bound, ReserveOwned<$message>),
            is!($bound, Recv<'static, $message>),
            is!($bound, RecvMany<'static, $message>),
            is!($bound, Sending<'static, $message>),
            is!($bound, SendMany<'static, IntoIter<$message>>),
            is!($bound, Drain<'static, $message>),
            is!($bound, UntilClosed<'static, $message>),
        ]
    };
}

#[test]
fn ends_and_futures_are_as_sendable_as_the_messages() {
    assert_eq!(both!(Send, u8), [true; 13]);
    assert_eq!(both!(Sync, u8), [true; 13]);
    // Not `Sync`: messages are moved, never shared, but those in the hands of a future can be seen.
    assert_eq!(both!(Send, Cell<u8>), [true; 13]);
    let shows = [8, 9, 10];
    let sync = both!(Sync, Cell<u8>);
    for (index, is_sync) in sync.into_iter().enumerate() {
        assert_eq!(is_sync, !shows.contains(&index), "{index}");
    }
    assert_eq!(both!(Send, Rc<u8>), [false; 13]);
    assert_eq!(both!(Sync, Rc<u8>), [false; 13]);
    assert_eq!(both!(Send, std::sync::MutexGuard<'static, u8>), [false; 13]);
    assert!(is!(Unpin, Sender<std::marker::PhantomPinned>));
    assert!(is!(Unpin, Receiver<std::marker::PhantomPinned>));
}

/// Which futures may lose a race, and what that costs them.
#[test]
fn futures_that_lose_nothing_say_so() {
    fn keeps_place<F: CancelSafe>() -> bool {
        F::KEEPS_PLACE
    }
    assert!(keeps_place::<Recv<'_, u8>>() && keeps_place::<RecvMany<'_, u8>>());
    assert!(keeps_place::<UntilClosed<'_, u8>>());
    assert!(!keeps_place::<Reserve<'_, u8>>());
    assert!(!is!(CancelSafe, Sending<'static, u8>));
    assert!(!is!(CancelSafe, SendMany<'static, IntoIter<u8>>));
    assert!(!is!(CancelSafe, ReserveOwned<u8>));
}

#[test]
fn messages_of_every_size_and_alignment_come_through() {
    #[derive(Debug, PartialEq)]
    #[repr(align(128))]
    struct Aligned(u8);

    let (tx, rx) = bounded(2);
    tx.try_send(()).unwrap();
    assert_eq!(rx.try_recv(), Ok(()));
    let (tx, rx) = bounded(3);
    for n in 0..7 {
        tx.try_send([n; 4_096]).unwrap();
        assert_eq!(rx.try_recv(), Ok([n; 4_096]));
    }
    let (tx, rx) = bounded(1);
    tx.try_send(Aligned(7)).unwrap();
    assert_eq!(rx.try_recv(), Ok(Aligned(7)));
}

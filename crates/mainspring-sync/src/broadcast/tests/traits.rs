//! Which type may go where: S18; B142, B143, and B175 (RUSTSEC-2025-0023).

use crate::broadcast::{
    Closed, LossySender, Permit, Receiver, Recv, RecvError, Reserve, Send as SendFuture, SendError,
    Sender, Slow, TryRecvError, TrySendError,
};
use mainspring_core::CancelSafe;
use std::cell::Cell;
use std::error::Error;
use std::rc::Rc;
use std::sync::MutexGuard;

/// Two impls for a type that has the marker: naming the method without its parameter is
/// ambiguous then, and does not compile. So what compiles has not the marker.
macro_rules! assert_not {
    ($marker:ident: $($type:ty),+ $(,)?) => {$(
        const _: fn() = || {
            struct WithMarker;
            trait AmbiguousIfMarked<A> {
                fn check() {}
            }
            impl<T: ?Sized> AmbiguousIfMarked<()> for T {}
            impl<T: ?Sized + $marker> AmbiguousIfMarked<WithMarker> for T {}
            let _ = <$type as AmbiguousIfMarked<_>>::check;
        };
    )+};
}

macro_rules! assert_is {
    ($marker:ident: $($type:ty),+ $(,)?) => {$(
        const _: fn() = || {
            fn check<T: ?Sized + $marker>() {}
            check::<$type>();
        };
    )+};
}

/// Each public type over one message type, with each of two markers.
macro_rules! each {
    ($assert:ident, $message:ty) => {
        $assert!(Send: Sender<$message>, LossySender<$message>, Receiver<$message>,
            SendFuture<'static, $message>, Reserve<'static, $message>, Permit<'static, $message>,
            Recv<'static, $message>, Closed<'static, $message>);
        $assert!(Sync: Sender<$message>, LossySender<$message>, Receiver<$message>,
            SendFuture<'static, $message>, Reserve<'static, $message>, Permit<'static, $message>,
            Recv<'static, $message>, Closed<'static, $message>);
    };
}

each!(assert_is, u8);
each!(assert_is, Box<str>);
// Shared by all receivers: a message has to be both.
each!(assert_not, Cell<u8>);
each!(assert_not, Rc<u8>);
each!(assert_not, MutexGuard<'static, u8>);
each!(assert_not, *const u8);

assert_is!(Unpin: Receiver<std::marker::PhantomPinned>, Sender<std::marker::PhantomPinned>);
assert_not!(Unpin: Recv<'static, u8>, SendFuture<'static, u8>, Reserve<'static, u8>);
assert_is!(CancelSafe: Recv<'static, u8>, Reserve<'static, u8>, Closed<'static, u8>);
assert_not!(CancelSafe: SendFuture<'static, u8>);
assert_is!(Error: SendError<Rc<u8>>, TrySendError<Cell<u8>>, RecvError, TryRecvError);

#[test]
fn only_a_place_in_the_queue_is_lost() {
    const {
        assert!(<Recv<'static, u8> as CancelSafe>::KEEPS_PLACE);
        assert!(!<Reserve<'static, u8> as CancelSafe>::KEEPS_PLACE);
    }
}

#[test]
fn errors_say_what_they_are() {
    let texts = [
        SendError::Closed(()).to_string(),
        SendError::NoReceivers(()).to_string(),
        TrySendError::Full(()).to_string(),
        RecvError::Lagged(3).to_string(),
        RecvError::Disconnected.to_string(),
        RecvError::Closed.to_string(),
        TryRecvError::Empty.to_string(),
    ];
    for text in &texts {
        assert!(
            text.chars().next().is_some_and(char::is_lowercase),
            "{text}"
        );
        assert!(!text.ends_with('.'), "{text}");
    }
    assert!(texts[3].contains('3'));
    assert!(RecvError::Lagged(1).is_transient() && !RecvError::Closed.is_transient());
    assert!(TrySendError::Full(()).is_transient() && !TrySendError::Closed(()).is_transient());
    assert_eq!(format!("{:?}", TrySendError::Full(Rc::new(1))), "Full(..)");
    assert_eq!(Slow::COUNT, 4);
}

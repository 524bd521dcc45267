//! Where there is no ring: the same names, and no value of any of them.

use crate::backend::RingRefusal;
use crate::buf::{IoBuf, IoBufMut, PooledBuf};
use mainspring_core::WaitList;
use mainspring_core::driver::Until;
use mainspring_core::wait::WaitKind;
use socket2::Socket;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::task::{Context, Poll};

/// No value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Never {}

/// Who may touch the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Owned,
    Shared,
}

pub(crate) type Completed = Never;

/// How far a call with a buffer of its own has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReadOwnedState {
    #[default]
    Idle,
}

/// As for reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WriteOwnedState {
    #[default]
    Idle,
}

/// Why there would be no ring now.
pub(crate) fn probe() -> Option<RingRefusal> {
    Some(RingRefusal::Platform)
}

#[derive(Debug)]
pub(crate) struct Hub(Never);

#[derive(Debug)]
pub(crate) struct Stream(Never);

#[derive(Debug)]
pub(crate) struct Listener(Never);

#[derive(Debug)]
pub(crate) struct Lent(Never);

impl Lent {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self.0 {}
    }
}

/// Methods that nobody can call.
macro_rules! never {
    ($(fn $name:ident$(<$b:ident: $bound:ident>)?($($arg:ident: $t:ty),*) $(-> $r:ty)?;)*) => {
        $(pub(crate) fn $name$(<$b: $bound>)?(&self, $($arg: $t),*) $(-> $r)? {
            $(let _ = $arg;)*
            match self.0 {}
        })*
    };
}

impl Hub {
    pub(crate) fn new(_profile: Profile) -> Result<Self, RingRefusal> {
        Err(RingRefusal::Platform)
    }

    never! {
        fn len() -> usize;
        fn pins() -> usize;
        fn park(until: Until, into: &mut Vec<Completed>) -> io::Result<()>;
        fn rescue(limit: usize, into: &mut Vec<Completed>) -> bool;
        fn peek() -> bool;
        fn unpark();
        fn dispatch(completed: &[Completed]) -> usize;
        fn close();
    }
}

impl Stream {
    pub(crate) fn new(_socket: Socket, hub: Arc<Hub>) -> io::Result<Self> {
        match hub.0 {}
    }

    never! {
        fn socket() -> &Socket;
        fn poll_read(cx: &mut Context<'_>, buf: &mut [MaybeUninit<u8>]) -> Poll<io::Result<usize>>;
        fn poll_peek(cx: &mut Context<'_>, buf: &mut [MaybeUninit<u8>]) -> Poll<io::Result<usize>>;
        fn poll_lend(cx: &mut Context<'_>) -> Poll<io::Result<PooledBuf>>;
        fn poll_readable(cx: &mut Context<'_>) -> Poll<io::Result<()>>;
        fn poll_writable(cx: &mut Context<'_>) -> Poll<io::Result<()>>;
        fn poll_write(cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>>;
        fn poll_write_vectored(
            cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>>;
        fn poll_flush(cx: &mut Context<'_>) -> Poll<io::Result<()>>;
        fn poll_shutdown(cx: &mut Context<'_>) -> Poll<io::Result<()>>;
        fn poll_settled(cx: &mut Context<'_>) -> Poll<()>;
        fn take_failures() -> (Option<io::Error>, Option<io::Error>);
        fn try_read(buf: &mut [MaybeUninit<u8>]) -> io::Result<usize>;
        fn try_write(buf: &[u8]) -> io::Result<usize>;
        fn shut_down_later();
        fn take_unread() -> Vec<u8>;
        fn poll_read_owned<B: IoBufMut>(
            cx: &mut Context<'_>, state: &mut ReadOwnedState, buf: &mut B)
            -> Poll<io::Result<usize>>;
        fn leave_read<B: IoBufMut>(state: ReadOwnedState, buf: B);
        fn poll_write_owned<B: IoBuf>(
            cx: &mut Context<'_>, state: &mut WriteOwnedState, buf: &B)
            -> Poll<io::Result<usize>>;
        fn leave_write<B: IoBuf>(state: WriteOwnedState, buf: B);
    }

    pub(crate) fn take_socket(&mut self) -> Option<Socket> {
        match self.0 {}
    }

    pub(crate) fn poll_call<R>(
        &self,
        _cx: &mut Context<'_>,
        _kind: WaitKind,
        _attempt: impl FnMut(&Socket) -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        match self.0 {}
    }
}

impl Listener {
    pub(crate) fn new(_socket: Socket, hub: Arc<Hub>) -> io::Result<Self> {
        match hub.0 {}
    }

    never! {
        fn socket() -> &Socket;
        fn queue() -> &WaitList;
        fn is_ready() -> bool;
        fn try_accept() -> io::Result<Socket>;
        fn poll_settled(cx: &mut Context<'_>) -> Poll<()>;
        fn take_unaccepted() -> Option<Socket>;
    }
}

//! The descriptors of sockets, lent: `AsFd` and `AsRawFd`.

use super::half::{ReadHalf, WriteHalf};
use super::owned_half::{OwnedReadHalf, OwnedWriteHalf};
use super::tcp_listener::TcpListener;
use super::tcp_stream::TcpStream;
use socket2::SockRef;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// As long-lived as what the socket is borrowed from, which `SockRef`'s own `AsFd` is not.
fn descriptor<'s>(socket: &SockRef<'s>) -> BorrowedFd<'s> {
    // SAFETY: [net.descriptor] it is open for `'s`, for which its owner is borrowed.
    unsafe { BorrowedFd::borrow_raw(socket.as_raw_fd()) }
}

macro_rules! as_fd {
    ($($t:ty, $this:ident => $socket:expr;)*) => {
        $(
            /// For options that have no method here. Whoever reads or writes through the
            /// descriptor, or changes whether calls on it wait, confuses the reactor: bytes go
            /// astray, and waits do not end.
            impl AsFd for $t {
                fn as_fd(&self) -> BorrowedFd<'_> {
                    let $this = self;
                    descriptor(&$socket)
                }
            }

            /// As its `AsFd`, which borrows.
            impl AsRawFd for $t {
                fn as_raw_fd(&self) -> RawFd {
                    self.as_fd().as_raw_fd()
                }
            }
        )*
    };
}

as_fd! {
    TcpStream, this => this.core().socket();
    ReadHalf<'_>, this => this.core().socket();
    WriteHalf<'_>, this => this.core().socket();
    OwnedReadHalf, this => this.core().socket();
    OwnedWriteHalf, this => this.core().socket();
    TcpListener, this => this.socket();
}

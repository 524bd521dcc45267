//! The sockets of Windows, lent: `AsSocket` and `AsRawSocket`.

use super::half::{ReadHalf, WriteHalf};
use super::owned_half::{OwnedReadHalf, OwnedWriteHalf};
use super::tcp_listener::TcpListener;
use super::tcp_stream::TcpStream;
use socket2::SockRef;
use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket, RawSocket};

/// As long-lived as what the socket is borrowed from, which `SockRef`'s own `AsSocket` is not.
fn handle<'s>(socket: &SockRef<'s>) -> BorrowedSocket<'s> {
    // SAFETY: [net.descriptor] it is open for `'s`, for which its owner is borrowed.
    unsafe { BorrowedSocket::borrow_raw(socket.as_raw_socket()) }
}

macro_rules! as_socket {
    ($($t:ty, $this:ident => $socket:expr;)*) => {
        $(
            /// For options that have no method here. Whoever reads or writes through the
            /// handle, or changes whether calls on it wait, confuses the reactor: bytes go
            /// astray, and waits do not end.
            impl AsSocket for $t {
                fn as_socket(&self) -> BorrowedSocket<'_> {
                    let $this = self;
                    handle(&$socket)
                }
            }

            /// As its `AsSocket`, which borrows.
            impl AsRawSocket for $t {
                fn as_raw_socket(&self) -> RawSocket {
                    self.as_socket().as_raw_socket()
                }
            }
        )*
    };
}

as_socket! {
    TcpStream, this => this.core().socket();
    ReadHalf<'_>, this => this.core().socket();
    WriteHalf<'_>, this => this.core().socket();
    OwnedReadHalf, this => this.core().socket();
    OwnedWriteHalf, this => this.core().socket();
    TcpListener, this => this.socket();
}

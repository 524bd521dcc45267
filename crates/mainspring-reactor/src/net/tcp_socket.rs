//! A TCP socket that is not connected yet.

use super::addr::inet;
use super::stream_core::Mode;
use super::tcp_listener::TcpListener;
use super::tcp_stream::TcpStream;
use crate::error::while_doing;
use mainspring_core::sync::Mutex;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;

/// A TCP socket before it connects or listens: the place for options.
///
/// Where none are needed, [`TcpStream::connect`] and [`TcpListener::bind`] are shorter.
///
/// ```
/// use mainspring_reactor::net::TcpSocket;
///
/// let socket = TcpSocket::new_v4()?;
/// socket.set_reuse_addr(true)?;
/// socket.bind("127.0.0.1:0".parse().unwrap())?;
/// let listener = socket.listen(16)?;
/// # drop(listener);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TcpSocket {
    /// `None` once a stream has it.
    socket: Mutex<Option<Socket>>,
}

/// A pair of methods for one option.
macro_rules! option {
    (
        $(#[$of:meta])* $read:ident,
        $(#[$to:meta])* $set:ident: $t:ty,
        $inner:ident, $inner_set:ident
    ) => {
        $(#[$of])*
        ///
        /// # Errors
        ///
        /// What the system says.
        pub fn $read(&self) -> io::Result<$t> {
            self.with(|socket| socket.$inner())
        }

        $(#[$to])*
        ///
        /// # Errors
        ///
        /// What the system says.
        pub fn $set(&self, value: $t) -> io::Result<()> {
            self.with(|socket| socket.$inner_set(value))
        }
    };
}

impl TcpSocket {
    /// A socket for IPv4.
    ///
    /// # Errors
    ///
    /// What the system says: too many descriptors, above all.
    pub fn new_v4() -> io::Result<Self> {
        Self::new(Domain::IPV4)
    }

    /// A socket for IPv6.
    ///
    /// # Errors
    ///
    /// As [`new_v4`](Self::new_v4).
    pub fn new_v6() -> io::Result<Self> {
        Self::new(Domain::IPV6)
    }

    /// A socket that can connect to `address`.
    pub(super) fn for_address(address: SocketAddr) -> io::Result<Self> {
        Self::new(Domain::for_address(address))
    }

    fn new(domain: Domain) -> io::Result<Self> {
        // Not inherited by children, on every system.
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: Mutex::new(Some(socket)),
        })
    }

    option! {
        /// Whether an address may be bound that an old connection still holds.
        reuse_addr,
        /// Lets an address be bound that an old connection still holds.
        set_reuse_addr: bool, reuse_address, set_reuse_address
    }

    option! {
        /// How much the system receives ahead, as it counts it.
        recv_buffer_size,
        /// Sets how much the system receives ahead. It rounds as it likes.
        set_recv_buffer_size: usize, recv_buffer_size, set_recv_buffer_size
    }

    option! {
        /// How much the system takes to be sent later, as it counts it.
        send_buffer_size,
        /// Sets how much the system takes to be sent later. It rounds as it likes.
        set_send_buffer_size: usize, send_buffer_size, set_send_buffer_size
    }

    option! {
        /// Whether the system asks now and then whether an idle connection is still there.
        keepalive,
        /// Has the system ask now and then whether an idle connection is still there. How often,
        /// the system says: two hours later for the first time, usually.
        set_keepalive: bool, keepalive, set_keepalive
    }

    option! {
        /// Whether a socket for IPv6 keeps to IPv6, instead of serving IPv4, too.
        only_v6,
        /// Has a socket for IPv6 keep to IPv6, or serve IPv4, too, which is what Linux does unless
        /// told otherwise, and others do not. Before [`bind`](Self::bind).
        set_only_v6: bool, only_v6, set_only_v6
    }

    /// The address that was bound.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        inet(self.with(Socket::local_addr))
    }

    /// Binds to `address`.
    ///
    /// # Errors
    ///
    /// What the system says, with the address.
    pub fn bind(&self, address: SocketAddr) -> io::Result<()> {
        self.bind_to(address)
            .map_err(|error| while_doing(format_args!("bind {address}"), error))
    }

    pub(super) fn bind_to(&self, address: SocketAddr) -> io::Result<()> {
        self.with(|socket| socket.bind(&address.into()))
    }

    /// Listens, with room for `backlog` connections that nobody has accepted yet.
    ///
    /// # Errors
    ///
    /// What the system says to that, or the reactor to the registration.
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        let socket = self.take()?;
        socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        TcpListener::new(socket, Mode::NonBlocking)
    }

    /// Connects to `address`. The stream then has the socket: whatever is called here afterwards
    /// says [`NotConnected`](io::ErrorKind::NotConnected).
    ///
    /// While it waits the socket has a second descriptor.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: the attempt is the socket's, and goes on. Calling it again, with the same address,
    /// waits for its end.
    ///
    /// # Errors
    ///
    /// What the system says, with the address. Another attempt needs another socket then.
    pub async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let attempt = async {
            let second = self.with(|socket| {
                begin(socket, address)?;
                socket.try_clone()
            })?;
            let stream = TcpStream::finish_connect(second).await?;
            drop(self.take());
            Ok(stream)
        };
        attempt
            .await
            .map_err(|error| while_doing(format_args!("connect to {address}"), error))
    }

    /// As `connect`; the socket is the attempt's.
    pub(super) async fn connect_and_leave(self, address: SocketAddr) -> io::Result<TcpStream> {
        let attempt = async {
            let socket = self.take()?;
            begin(&socket, address)?;
            TcpStream::finish_connect(socket).await
        };
        attempt
            .await
            .map_err(|error| while_doing(format_args!("connect to {address}"), error))
    }

    fn with<R>(&self, call: impl FnOnce(&Socket) -> io::Result<R>) -> io::Result<R> {
        match &*self.socket.lock() {
            Some(socket) => call(socket),
            None => Err(left()),
        }
    }

    fn take(&self) -> io::Result<Socket> {
        self.socket.lock().take().ok_or_else(left)
    }
}

/// Begins to connect, or finds that an earlier call has.
fn begin(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    match socket.connect(&address.into()) {
        Err(error) if !is_under_way(&error) => Err(error),
        _ => Ok(()),
    }
}

/// What a socket says that a stream has.
fn left() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotConnected,
        "the socket has connected, and its stream has it",
    )
}

#[cfg(all(unix, not(any(target_os = "solaris", target_os = "illumos"))))]
impl TcpSocket {
    option! {
        /// Whether several sockets may listen on one address.
        reuse_port,
        /// Lets several sockets listen on one address, each of which sets this.
        set_reuse_port: bool, reuse_port, set_reuse_port
    }
}

#[cfg(unix)]
fn is_under_way(error: &io::Error) -> bool {
    // The second: by an earlier call. The third: and it has ended.
    matches!(
        error.raw_os_error(),
        Some(libc::EINPROGRESS | libc::EALREADY | libc::EISCONN)
    )
}

#[cfg(not(unix))]
fn is_under_way(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

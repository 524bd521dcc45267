//! Sockets that are given back to the standard library.

use std::io;
use std::net;

/// A connection of the standard library's, and what had arrived before it left the reactor.
#[derive(Debug)]
#[must_use = "bytes that had arrived are in `unread`, and nowhere else"]
pub struct IntoStd {
    /// The connection, in blocking mode.
    pub stream: net::TcpStream,
    /// Bytes that come before whatever is read from the stream.
    pub unread: Vec<u8>,
    /// What a read would have said after them, if the reactor had been told already: a reset that
    /// the system reports once.
    pub error: Option<io::Error>,
}

/// A listener of the standard library's, and the connections that had come before it left the
/// reactor.
#[derive(Debug)]
#[must_use = "connections that had come are in `unaccepted`, and nowhere else"]
pub struct IntoStdListener {
    /// The listener, in blocking mode.
    pub listener: net::TcpListener,
    /// Connections that come before whatever is accepted from the listener.
    pub unaccepted: Vec<net::TcpStream>,
}

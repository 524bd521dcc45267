//! From what the command line says to a listener.

use mainspring::Backend;
use mainspring::net::{TcpListener, lookup_host};
use std::io;

use crate::runtime::AnyRuntime;

/// Listens on the first address of `host`, a name or an IP address with a port, that is to be had.
pub(crate) async fn on(host: &str) -> io::Result<TcpListener> {
    let mut last = None;
    for address in lookup_host(host).await? {
        match TcpListener::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other(format!("{host} has no address"))))
}

/// Says where the server listens and what serves it, and why, if nobody asked for that.
pub(crate) fn announce(
    runtime: &AnyRuntime,
    asked: Backend,
    listener: &TcpListener,
) -> io::Result<()> {
    let (addr, backend) = (listener.local_addr()?, listener.backend());
    println!("listening on {addr} (backend: {backend})");
    if asked == Backend::Auto && backend != Backend::Uring {
        println!("{}", runtime.explanation());
    }
    Ok(())
}

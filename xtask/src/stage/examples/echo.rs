//! The dialogue with the example `echo`.

use super::server;
use crate::context::Context;
use crate::run::Service;
use crate::stage::echo_client;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;

/// Starts it, talks to it, and ends it.
pub(super) fn drive(ctx: &Context, executable: &Path) -> Result<(), String> {
    server::drive(ctx, executable, &[], dialogue)
}

fn dialogue(_ctx: &Context, address: SocketAddr, server: &mut Service) -> Result<(), String> {
    echo_client::talk(address)?;
    end_with_an_idle_connection(address, server)
        .map_err(|error| format!("a connection that is idle when the server ends: {error}"))
}

/// A client that has nothing to say does not keep the server, and hears that it has ended.
fn end_with_an_idle_connection(address: SocketAddr, server: &mut Service) -> io::Result<()> {
    let mut stream = echo_client::connect(address)?;
    echo_client::exchange(&mut stream, b"are you there?")?;
    server.terminate();
    match stream.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(io::Error::other("it says something more")),
    }
}

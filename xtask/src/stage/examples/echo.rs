//! The dialogue with the example `echo`.

use super::server::{self, Form};
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

fn dialogue(
    _ctx: &Context,
    address: SocketAddr,
    server: &mut Service,
    _form: Form,
) -> Result<(), String> {
    echo_client::talk(address)?;
    the_end(address, server)
        .map_err(|error| format!("connections that are open when the server ends: {error}"))
}

/// A client that has nothing to say does not keep the server, and hears that it has ended. One that
/// has sent more than it has read gets what the server has received, and no reset.
fn the_end(address: SocketAddr, server: &mut Service) -> io::Result<()> {
    let message: Vec<u8> = (0..100_003).map(|at| (at / 7) as u8).collect();
    let mut slow = echo_client::connect(address)?;
    echo_client::send_until_nobody_reads(&mut slow, &message)?;
    let mut idle = echo_client::connect(address)?;
    echo_client::exchange(&mut idle, b"are you there?")?;
    server.terminate();
    if idle.read(&mut [0])? > 0 {
        return Err(io::Error::other("it says something more"));
    }
    drop(idle);
    let mut echo = Vec::new();
    slow.read_to_end(&mut echo)?;
    let expected = message.iter().cycle();
    if echo.is_empty() || echo.iter().zip(expected).any(|(heard, said)| heard != said) {
        return Err(io::Error::other("what came back was not said"));
    }
    Ok(())
}

//! The end of a connection, after which nothing that was written is lost.

use mainspring::net::TcpStream;
use mainspring::time::timeout;
use std::io;
use std::time::Duration;

/// How long a client is waited for that says nothing.
const LINGER: Duration = Duration::from_millis(100);

/// How long one is waited for that has just sent something.
const LONGER: Duration = Duration::from_secs(1);

/// Ends our direction, and then reads, to no purpose, until the client has ended its own, or says
/// nothing for a while.
///
/// To close a socket that has unread input resets the connection, and what the client has not
/// received by then is lost.
pub(crate) async fn close(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut limit = LINGER;
    let mut buf = vec![0; 16 * 1024];
    loop {
        match timeout(limit, stream.read(&mut buf)).await {
            Err(_) | Ok(Ok(0)) => return Ok(()),
            Ok(Ok(_)) => limit = LONGER,
            Ok(Err(error)) => return Err(error),
        }
    }
}

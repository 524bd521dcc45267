//! A client of servers that send back what they receive.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

/// After how long without room for another byte a server has stopped reading.
const STOPPED_AFTER: Duration = Duration::from_millis(500);

/// More than both directions of a connection hold: the server has to read and write in turns.
const LONG_BYTES: usize = 8 << 20;

/// Sends little, then much while reading it, then says that there is no more.
pub(super) fn talk(address: SocketAddr) -> Result<(), String> {
    let conversation = || {
        let mut stream = connect(address)?;
        exchange(&mut stream, b"hello")?;
        let message: Vec<u8> = (0..LONG_BYTES).map(|at| (at / 7) as u8).collect();
        let mut sender = stream.try_clone()?;
        let mut echo = Vec::with_capacity(message.len());
        thread::scope(|scope| {
            let sending = scope.spawn(|| {
                sender.write_all(&message)?;
                sender.shutdown(Shutdown::Write)
            });
            stream.read_to_end(&mut echo)?;
            sending
                .join()
                .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
        })?;
        same(&echo, &message)
    };
    conversation().map_err(|error| format!("speaking to {address}: {error}"))
}

/// A connection that does not wait for ever.
pub(super) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, ANSWER_LIMIT)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.set_write_timeout(Some(ANSWER_LIMIT))?;
    Ok(stream)
}

/// Sends a message and reads as much.
pub(super) fn exchange(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    stream.write_all(message)?;
    let mut echo = vec![0; message.len()];
    stream.read_exact(&mut echo)?;
    same(&echo, message)
}

/// Sends `message` again and again, and reads nothing, until the server does not read either, since
/// nobody takes what it writes.
pub(super) fn send_until_nobody_reads(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let limit = stream.write_timeout()?;
    stream.set_write_timeout(Some(STOPPED_AFTER))?;
    let mut start = 0;
    loop {
        match stream.write(&message[start..]) {
            Ok(sent) => start = (start + sent) % message.len(),
            Err(error) if is_timeout(&error) => break,
            Err(error) => return Err(error),
        }
    }
    stream.set_write_timeout(limit)
}

/// What a write is told whose time is over: the one or the other, by system.
fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn same(echo: &[u8], message: &[u8]) -> io::Result<()> {
    if echo == message {
        return Ok(());
    }
    let (heard, said) = (echo.len(), message.len());
    Err(io::Error::other(format!(
        "{heard} bytes came back for {said}, or others"
    )))
}

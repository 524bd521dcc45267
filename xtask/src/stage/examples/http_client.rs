//! As much of an HTTP/1.1 client as the dialogue with a server needs.

use crate::stage::echo_client::{self, connect};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// What came back for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// What the header says about the body's length.
    pub(super) length: usize,
    pub(super) body: String,
}

/// One connection, for requests one after the other.
pub(super) struct Connection {
    stream: TcpStream,
    /// What has come and was not looked at.
    pending: Vec<u8>,
}

impl Connection {
    pub(super) fn open(address: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            stream: connect(address)?,
            pending: Vec::new(),
        })
    }

    /// Sends one request and reads its answer.
    pub(super) fn ask(&mut self, method: &str, path: &str) -> io::Result<Answer> {
        self.send(&request(method, path))?;
        self.answer(method)
    }

    pub(super) fn send(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(text.as_bytes())
    }

    /// Sends `text` again and again, and reads nothing, until the server does not read either.
    pub(super) fn send_until_nobody_reads(&mut self, text: &str) -> io::Result<()> {
        echo_client::send_until_nobody_reads(&mut self.stream, text.repeat(1_000).as_bytes())
    }

    /// The next answer; `None`: the server has ended the connection after the last one.
    pub(super) fn answer_or_end(&mut self, method: &str) -> io::Result<Option<Answer>> {
        if self.pending.is_empty() {
            match self.read_more() {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                read => read?,
            }
        }
        self.answer(method).map(Some)
    }

    /// Reads the answer to a request with this method.
    pub(super) fn answer(&mut self, method: &str) -> io::Result<Answer> {
        let end = loop {
            let end = self.pending.windows(4).position(|four| four == b"\r\n\r\n");
            match end {
                Some(end) => break end + 4,
                None => self.read_more()?,
            }
        };
        let head: Vec<u8> = self.pending.drain(..end).collect();
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let (status, length) =
            read_head(&head).ok_or_else(|| io::Error::other(format!("not an answer: {head:?}")))?;
        let expected = if method == "HEAD" { 0 } else { length };
        while self.pending.len() < expected {
            self.read_more()?;
        }
        let body: Vec<u8> = self.pending.drain(..expected).collect();
        Ok(Answer {
            status,
            length,
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }

    /// Waits for the server to end the connection, without another word.
    pub(super) fn expect_end(&mut self) -> io::Result<()> {
        match self.read_more() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(error),
            Ok(()) => {
                let text = String::from_utf8_lossy(&self.pending);
                Err(io::Error::other(format!(
                    "it says something more: {text:?}"
                )))
            }
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        let mut buf = [0; 4096];
        match self.stream.read(&mut buf)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.pending.extend_from_slice(&buf[..read]);
                Ok(())
            }
        }
    }
}

/// A request without a body.
pub(super) fn request(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

/// The status and the length in the head of an answer, which is in small letters.
fn read_head(head: &str) -> Option<(u16, usize)> {
    let mut lines = head.lines();
    let status = lines.next()?.strip_prefix("http/1.1 ")?.get(..3)?;
    let length = lines.find_map(|line| line.strip_prefix("content-length: "));
    Some((status.parse().ok()?, length?.trim().parse().ok()?))
}

#[cfg(test)]
mod tests;

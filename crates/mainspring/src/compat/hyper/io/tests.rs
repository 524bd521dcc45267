use super::Io;
use hyper::rt::{Read, ReadBuf};
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use tokio::io::AsyncRead;

/// Puts `text` where it is told to.
struct Says {
    text: &'static [u8],
    elsewhere: bool,
}

impl AsyncRead for Says {
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.elsewhere {
            *buf = tokio::io::ReadBuf::new(&mut []);
        }
        buf.put_slice(&self.text[..self.text.len().min(buf.remaining())]);
        Poll::Ready(Ok(()))
    }
}

/// What hyper finds in a buffer with `room`, of which `before` was filled already.
fn read(stream: Says, before: &[u8], room: usize) -> Vec<u8> {
    let mut memory = vec![MaybeUninit::uninit(); room];
    let mut buf = ReadBuf::uninit(&mut memory);
    buf.unfilled().put_slice(before);
    let mut cx = Context::from_waker(Waker::noop());
    let result = Pin::new(&mut Io::new(stream)).poll_read(&mut cx, buf.unfilled());
    assert!(matches!(result, Poll::Ready(Ok(()))));
    buf.filled().to_vec()
}

fn says(text: &'static [u8]) -> Says {
    Says {
        text,
        elsewhere: false,
    }
}

// WITNESS: hyper-io.filled
#[test]
fn bytes_land_in_hypers_buffer_behind_what_was_there() {
    assert_eq!(read(says(b"abc"), b"", 8), b"abc");
    assert_eq!(read(says(b"abc"), b"12", 8), b"12abc");
    assert_eq!(read(says(b"abc"), b"12", 4), b"12ab");
    assert_eq!(read(says(b""), b"12", 4), b"12");
}

// WITNESS: hyper-io.filled
#[test]
#[should_panic(expected = "hyper-io.filled: the stream filled a buffer of its own")]
fn stream_that_fills_another_buffer_is_refused() {
    read(
        Says {
            text: b"abc",
            elsewhere: true,
        },
        b"",
        8,
    );
}

//! The traits of tokio on the streams: feature `tokio-io`.

use super::half::{ReadHalf, WriteHalf};
use super::owned_half::{OwnedReadHalf, OwnedWriteHalf};
use super::tcp_stream::TcpStream;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

macro_rules! async_read {
    ($($t:ty),*) => {
        $(impl AsyncRead for $t {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                // SAFETY: [net.received] nothing but received bytes is written there.
                let room = unsafe { buf.unfilled_mut() };
                let read = ready!(self.get_mut().core_mut().poll_read_uninit(cx, room))?;
                // SAFETY: [net.received] as many bytes have been written.
                unsafe { buf.assume_init(read) };
                buf.advance(read);
                Poll::Ready(Ok(()))
            }
        })*
    };
}

macro_rules! async_write {
    ($($t:ty),*) => {
        $(impl AsyncWrite for $t {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.get_mut().core_mut().poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.get_mut().core_mut().poll_write_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.get_mut().core_mut().poll_flush(cx)
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.get_mut().core_mut().poll_shutdown(cx)
            }
        })*
    };
}

async_read!(TcpStream, ReadHalf<'_>, OwnedReadHalf);
async_write!(TcpStream, WriteHalf<'_>, OwnedWriteHalf);

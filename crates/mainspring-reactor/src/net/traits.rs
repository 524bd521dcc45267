//! The traits of `futures-io` on the streams.
//!
//! `AsyncRead` for `&TcpStream` is not offered: a half has one waiter, and two tasks that read one
//! socket would take it from each other.

use super::half::{ReadHalf, WriteHalf};
use super::owned_half::{OwnedReadHalf, OwnedWriteHalf};
use super::tcp_stream::TcpStream;
use futures_io::{AsyncRead, AsyncWrite};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

macro_rules! async_read {
    ($($t:ty),*) => {
        $(impl AsyncRead for $t {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                self.get_mut().core_mut().poll_read(cx, buf)
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

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.get_mut().core_mut().poll_flush(cx)
            }

            fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.get_mut().core_mut().poll_shutdown(cx)
            }
        })*
    };
}

async_read!(TcpStream, ReadHalf<'_>, OwnedReadHalf);
async_write!(TcpStream, WriteHalf<'_>, OwnedWriteHalf);

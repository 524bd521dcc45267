//! The traits of tokio: feature `tokio-io`.

use crate::rig::{Drive, pair};
use std::future::poll_fn;
use std::io::IoSlice;
use std::pin::Pin;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

on_each! {
    traits_of_tokio_read_and_write,
}

fn traits_of_tokio_read_and_write<D: Drive>() {
    D::run(async {
        let (mut client, mut server) = pair().await;
        assert!(client.is_write_vectored());
        let written = poll_fn(|cx| Pin::new(&mut client).poll_write(cx, b"ab")).await;
        assert_eq!(written.unwrap(), 2);
        let slices = [IoSlice::new(b"c"), IoSlice::new(b"d")];
        let written = poll_fn(|cx| Pin::new(&mut client).poll_write_vectored(cx, &slices)).await;
        assert_eq!(written.unwrap(), 2);
        poll_fn(|cx| Pin::new(&mut client).poll_flush(cx))
            .await
            .unwrap();
        poll_fn(|cx| Pin::new(&mut client).poll_shutdown(cx))
            .await
            .unwrap();
        let mut memory = [0; 8];
        let mut buf = ReadBuf::new(&mut memory);
        loop {
            let before = buf.filled().len();
            poll_fn(|cx| Pin::new(&mut server).poll_read(cx, &mut buf))
                .await
                .unwrap();
            if buf.filled().len() == before {
                break;
            }
        }
        assert_eq!(buf.filled(), b"abcd");
    });
}

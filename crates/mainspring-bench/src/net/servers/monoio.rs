//! monoio on its io_uring driver, owned buffers.

use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::net::{TcpListener, TcpStream};

use crate::net::{HELLO, Job, Kind, announce};

pub fn serve(listener: std::net::TcpListener, job: Job) {
    announce(listener.local_addr().expect("an address"));
    let builder = monoio::RuntimeBuilder::<monoio::IoUringDriver>::new();
    builder
        .with_entries(8_192)
        .build()
        .expect("a runtime")
        .block_on(async {
            let listener = TcpListener::from_std(listener).expect("a listener");
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                monoio::spawn(connection(stream, job));
            }
        });
}

async fn connection(mut stream: TcpStream, job: Job) {
    let mut buffer = Vec::with_capacity(job.buffer_bytes);
    loop {
        let (count, received) = stream.read(buffer).await;
        if !matches!(count, Ok(1..)) {
            return;
        }
        let sent = match job.kind {
            Kind::Echo => {
                let (sent, back) = stream.write_all(received).await;
                buffer = back;
                sent
            }
            Kind::Http | Kind::Hyper => {
                buffer = received;
                assert!(buffer.ends_with(b"\r\n\r\n"), "half a request");
                stream.write_all(HELLO).await.0
            }
        };
        if sent.is_err() {
            return;
        }
        buffer.clear();
    }
}

//! compio, owned buffers.

use compio::BufResult;
use compio::io::{AsyncRead, AsyncWriteExt};
use compio::net::{TcpListener, TcpStream};

use crate::net::{Job, announce};
use crate::peers::compio::Compio;

pub fn serve(listener: std::net::TcpListener, job: Job) {
    announce(listener.local_addr().expect("an address"));
    Compio::runtime().block_on(async {
        let listener = TcpListener::from_std(listener).expect("a listener");
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            compio::runtime::spawn(connection(stream, job)).detach();
        }
    });
}

async fn connection(mut stream: TcpStream, job: Job) {
    let mut buffer = Vec::with_capacity(job.buffer_bytes);
    loop {
        let BufResult(count, received) = stream.read(buffer).await;
        if !matches!(count, Ok(1..)) {
            return;
        }
        let BufResult(sent, back) = stream.write_all(received).await;
        if sent.is_err() {
            return;
        }
        buffer = back;
        buffer.clear();
    }
}

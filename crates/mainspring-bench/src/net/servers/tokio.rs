//! tokio, current-thread, and multi-thread with two workers.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::net::{Job, announce};

pub fn serve(listener: std::net::TcpListener, job: Job) {
    announce(listener.local_addr().expect("an address"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    accept_on(&runtime.expect("a runtime"), listener, job);
}

pub fn serve_two(listener: std::net::TcpListener, job: Job) {
    announce(listener.local_addr().expect("an address"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    accept_on(&runtime.expect("a runtime"), listener, job);
}

fn accept_on(runtime: &tokio::runtime::Runtime, listener: std::net::TcpListener, job: Job) {
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a mode");
        let listener = TcpListener::from_std(listener).expect("a listener");
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            tokio::spawn(connection(stream, job));
        }
    });
}

async fn connection(mut stream: TcpStream, job: Job) {
    let mut buffer = vec![0; job.buffer_bytes];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        if stream
            .write_all(job.kind.answer(&buffer[..count]))
            .await
            .is_err()
        {
            return;
        }
    }
}

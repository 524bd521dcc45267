//! smol's parts: the leaked local executor and async-net.

use async_executor::LocalExecutor;
use async_net::{TcpListener, TcpStream};
use futures_lite::{AsyncReadExt, AsyncWriteExt};

use crate::net::{Job, announce};

pub fn serve(listener: std::net::TcpListener, job: Job) {
    announce(listener.local_addr().expect("an address"));
    let executor = LocalExecutor::new().leak();
    async_io::block_on(executor.run(async {
        let listener = async_io::Async::new(listener).expect("a listener");
        let listener = TcpListener::from(listener);
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            executor.spawn(connection(stream, job)).detach();
        }
    }));
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

//! glommio. It binds its own listener, so the one that is handed over lends only its port.

use futures_lite::{AsyncReadExt, AsyncWriteExt};
use glommio::net::{TcpListener, TcpStream};
use glommio::{LocalExecutorBuilder, Placement};

use crate::net::{Job, announce};

pub fn serve(listener: std::net::TcpListener, job: Job) {
    let builder = LocalExecutorBuilder::new(Placement::Unbound).ring_depth(4_096);
    builder.make().expect("an executor").run(async move {
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let listener = TcpListener::bind(address).expect("a listener");
        announce(address);
        loop {
            let stream = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("an option");
            glommio::spawn_local(connection(stream, job)).detach();
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

//! A server with a handler that blocks its thread for a second, and stays alive for everybody else.
//!
//! ```text
//! cargo run --release -p mainspring --example stall
//! ```
//!
//! One client asks for what blocks, another for what does not, again and again meanwhile. Both are
//! threads of this program, which ends by itself. The runtime has one worker, so without a watchdog
//! the second client would hear nothing for a second.

use mainspring::net::{TcpListener, TcpStream};
use mainspring::task::TaskBuilder;
use mainspring::{Runtime, StallReport};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// What a careless handler does: it should be `spawn_blocking`.
const BLOCKS: Duration = Duration::from_secs(1);

/// A request is one byte, and so is its answer.
const QUICK: u8 = b'q';
const SLOW: u8 = b's';

fn main() -> io::Result<()> {
    let runtime = Runtime::builder()
        .workers(1)
        // Where a service counts and logs; without a hook a line goes to standard error.
        .on_stall(|report: &StallReport| println!("stall: {report}"))
        .build()?;
    let address = runtime.block_on(async {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = listener.local_addr();
        TaskBuilder::new()
            .name("acceptor")
            .spawn(serve(listener))
            .detach();
        address
    })?;
    let is_over = AtomicBool::new(false);
    let (answers, longest) = thread::scope(|scope| {
        let quick = scope.spawn(|| ask_until(address, &is_over));
        let blocked = ask(&mut std::net::TcpStream::connect(address)?, SLOW);
        is_over.store(true, SeqCst);
        println!("slow answer after {:.1?}", blocked?);
        quick.join().expect("the client does not panic")
    })?;
    println!("quick answers meanwhile: {answers}, the slowest after {longest:.1?}");
    println!("stalls: {}", runtime.metrics().stalls);
    Ok(())
}

async fn serve(listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, peer) = listener.accept().await?;
        let handler = TaskBuilder::new().name(format!("client {peer}"));
        handler.spawn(handle(stream)).detach();
    }
}

async fn handle(mut stream: TcpStream) -> io::Result<()> {
    let mut request = [0];
    while stream.read(&mut request).await? > 0 {
        if request[0] == SLOW {
            thread::sleep(BLOCKS);
        }
        stream.write_all(&request).await?;
    }
    Ok(())
}

/// Asks for what is quick until the other client has its answer: how often, and the longest wait.
fn ask_until(address: SocketAddr, is_over: &AtomicBool) -> io::Result<(u32, Duration)> {
    let mut connection = std::net::TcpStream::connect(address)?;
    let (mut answers, mut longest) = (0, Duration::ZERO);
    while !is_over.load(SeqCst) {
        longest = longest.max(ask(&mut connection, QUICK)?);
        answers += 1;
    }
    Ok((answers, longest))
}

/// One request: how long its answer took.
fn ask(connection: &mut std::net::TcpStream, request: u8) -> io::Result<Duration> {
    let began = Instant::now();
    connection.write_all(&[request])?;
    connection.read_exact(&mut [0])?;
    Ok(began.elapsed())
}

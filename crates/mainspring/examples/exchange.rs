//! A self-checking exchange: a server and its clients in one process, every byte checked.
//!
//! ```text
//! cargo run --release -p mainspring --example exchange
//! cargo run --release -p mainspring --example exchange -- --backend poll --connections 64
//! ```
//!
//! It is the program that `cargo xtask faults` runs while system calls fail, and does what a
//! service has to do then: it says what failed, tries again a few times, and ends in any case. The
//! exit code is 0 if every client got its own bytes back in the end, 1 if not, and 3 if a byte was
//! wrong.
//!
//! `--backend background` leaves the thread without a reactor: the sockets are served by the
//! background thread, as under a foreign runtime.

#[path = "support/arguments.rs"]
mod arguments;

use mainspring::net::{TcpListener, TcpSocket, TcpStream};
use mainspring::spawn_local;
use mainspring::time::{sleep, timeout};
use mainspring_core::driver::ThreadDriver;
use mainspring_executor::LocalExecutor;
use mainspring_reactor::Reactor;
use mainspring_timer::TimerDriver;
use std::cell::Cell;
use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

const USAGE: &str = "\
usage: exchange [--backend auto|uring|poll|background] [--connections N] [--bytes N]
                [--limit-ms N]

  --backend      what serves the sockets (auto)
  --connections  how many clients there are (9)
  --bytes        how much each sends and gets back (40000)
  --limit-ms     how long one attempt of a client may take (10000)";

/// How often a client tries.
const ATTEMPTS_MAX: u32 = 4;

/// How much is under way in one direction: less than a connection holds, so that both ends may
/// write before they read.
const PIECE_BYTES: usize = 8 * 1024;

/// What the system shall keep for those who send without waiting for an answer: so little that
/// they have to wait for the system.
const SEND_BUFFER_BYTES: usize = 4 * 1024;

/// What a server does after an error of its listener, before it accepts again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Who serves the sockets.
#[derive(Clone, Copy)]
enum Backend {
    Reactor(mainspring::Backend),
    Background,
}

impl FromStr for Backend {
    type Err = mainspring::UnknownBackend;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "background" => Ok(Self::Background),
            _ => name.parse().map(Self::Reactor),
        }
    }
}

#[derive(Clone, Copy)]
struct Options {
    backend: Backend,
    connections: usize,
    bytes: usize,
    limit: Duration,
}

fn main() -> ExitCode {
    let mut options = Options {
        backend: Backend::Reactor(mainspring::Backend::Auto),
        connections: 9,
        bytes: 40_000,
        limit: Duration::from_secs(10),
    };
    let read = arguments::read(USAGE, |name, value| match name {
        "--backend" => arguments::value(name, value).map(|backend| options.backend = backend),
        "--connections" => arguments::value(name, value).map(|count| options.connections = count),
        "--bytes" => arguments::value(name, value).map(|bytes| options.bytes = bytes),
        "--limit-ms" => {
            arguments::value(name, value).map(|ms| options.limit = Duration::from_millis(ms))
        }
        _ => Err(format!("there is no option `{name}`")),
    });
    if let Err(code) = read {
        return code;
    }
    let code = match executor(options.backend) {
        Ok(executor) => {
            let code = executor.block_on(exchange(options));
            drop(executor);
            code
        }
        Err(error) => {
            println!("exchange: cannot start: {error}");
            ExitCode::FAILURE
        }
    };
    if let Some(ms) = cpu_ms() {
        println!("cpu {ms} ms");
    }
    code
}

/// The executor over what serves the sockets, which is said.
fn executor(backend: Backend) -> io::Result<LocalExecutor> {
    let Backend::Reactor(backend) = backend else {
        println!("the background thread serves the sockets");
        let driver = TimerDriver::new(ThreadDriver::new());
        return Ok(LocalExecutor::with_driver(Box::new(driver)));
    };
    let reactor = Reactor::with_backend(backend)?;
    println!("{}", reactor.explanation());
    Ok(LocalExecutor::with_driver(Box::new(TimerDriver::new(
        reactor,
    ))))
}

/// Errors that the program was told of.
#[derive(Clone, Default)]
struct Told(Rc<Cell<usize>>);

impl Told {
    fn tell(&self, who: impl Display, error: &io::Error) {
        self.0.set(self.0.get() + 1);
        println!("{who}: {error} ({:?})", error.kind());
    }
}

/// The whole exchange.
async fn exchange(options: Options) -> ExitCode {
    let told = Told::default();
    let listening = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
        .and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (address, listener) = match listening {
        Ok(listening) => listening,
        Err(error) => {
            println!("exchange: {error}");
            return ExitCode::FAILURE;
        }
    };
    spawn_local(serve(listener, told.clone())).detach();
    let clients: Vec<_> = (0..options.connections)
        .map(|number| spawn_local(client(number, address, options, told.clone())))
        .collect();
    let (mut whole, mut wrong) = (0, 0);
    for client in clients {
        match client.await {
            Ok(Outcome::Whole) => whole += 1,
            Ok(Outcome::Wrong) => wrong += 1,
            Ok(Outcome::GaveUp) => {}
            Err(error) => println!("a client ended early: {error}"),
        }
    }
    println!(
        "{whole} of {} exchanges are whole, {wrong} are wrong; {} errors were told",
        options.connections,
        told.0.get()
    );
    match wrong {
        0 if whole == options.connections => ExitCode::SUCCESS,
        0 => ExitCode::FAILURE,
        _ => ExitCode::from(3),
    }
}

/// Accepts for ever, whatever the system says.
async fn serve(listener: TcpListener, told: Told) {
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => {
                let told = told.clone();
                spawn_local(async move {
                    if let Err(error) = echo(stream).await {
                        told.tell("a connection of the server's", &error);
                    }
                })
                .detach();
            }
            Err(error) => {
                told.tell("the server's accept", &error);
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    // A piece goes back as it comes, in several writes: none waits for the acknowledgement of the
    // one before.
    stream.set_nodelay(true)?;
    let mut buf = vec![0; PIECE_BYTES];
    loop {
        match stream.read(&mut buf).await? {
            0 => return stream.shutdown().await,
            count => stream.write_all(&buf[..count]).await?,
        }
    }
}

/// What became of a client.
enum Outcome {
    Whole,
    Wrong,
    GaveUp,
}

/// One client: as many attempts as it takes, up to a few.
async fn client(number: usize, address: SocketAddr, options: Options, told: Told) -> Outcome {
    for _ in 0..ATTEMPTS_MAX {
        let attempt = timeout(options.limit, attempt(number, address, options.bytes)).await;
        let result = attempt.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        match result {
            Ok(true) => return Outcome::Whole,
            Ok(false) => return Outcome::Wrong,
            Err(error) => told.tell(format_args!("client {number}"), &error),
        }
    }
    Outcome::GaveUp
}

/// Sends a message, gets it back, and says whether it is the same. Three kinds of clients do it in
/// three ways.
async fn attempt(number: usize, address: SocketAddr, bytes: usize) -> io::Result<bool> {
    let byte = |at: usize| (at.wrapping_mul(31) ^ (at >> 8) ^ number) as u8;
    let message: Vec<u8> = (0..bytes).map(byte).collect();
    let back = match number % 3 {
        0 | 1 => in_turns(number, address, &message).await?,
        _ => at_once(address, &message).await?,
    };
    if back == message {
        return Ok(true);
    }
    if back.len() < bytes && message.starts_with(&back) {
        // The server has given up in the middle.
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let same = back.iter().zip(&message).take_while(|(a, b)| a == b);
    println!(
        "client {number}: {} bytes came back for {bytes}, and the first {} are right",
        back.len(),
        same.count()
    );
    Ok(false)
}

/// Sends a piece and waits for its return before the next one.
async fn in_turns(number: usize, address: SocketAddr, message: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let mut all = Vec::with_capacity(message.len());
    for piece in message.chunks(PIECE_BYTES) {
        let back = match number % 3 {
            0 => plain(&mut stream, piece).await?,
            _ => by_value(&mut stream, piece).await?,
        };
        all.extend(back);
    }
    stream.shutdown().await?;
    let mut more = [0; 1];
    let count = stream.read(&mut more).await?;
    all.extend(&more[..count]);
    Ok(all)
}

/// Sends everything with one half of the stream, and reads with the other meanwhile.
async fn at_once(address: SocketAddr, message: &[u8]) -> io::Result<Vec<u8>> {
    let socket = TcpSocket::new_v4()?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    let (mut read, mut write) = socket.connect(address).await?.into_split();
    let message = message.to_vec();
    let sending = spawn_local(async move {
        write.write_all(&message).await?;
        write.shutdown().await
    });
    let mut all = Vec::new();
    let mut buf = vec![0; PIECE_BYTES];
    loop {
        match read.read(&mut buf).await? {
            0 => break,
            count => all.extend(&buf[..count]),
        }
    }
    sending.await.map_err(io::Error::other)??;
    Ok(all)
}

/// With buffers that are borrowed.
async fn plain(stream: &mut TcpStream, piece: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(piece).await?;
    let mut back = vec![0; piece.len()];
    stream.read_exact(&mut back).await?;
    Ok(back)
}

/// With buffers that go in and come back, and buffers that are lent.
async fn by_value(stream: &mut TcpStream, piece: &[u8]) -> io::Result<Vec<u8>> {
    let mut left = piece;
    while !left.is_empty() {
        let (count, _) = stream.write_owned(left.to_vec()).await;
        left = &left[count?..];
    }
    let mut back = Vec::with_capacity(piece.len());
    while back.len() < piece.len() {
        let lent = stream.recv_pooled().await?;
        if lent.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        back.extend_from_slice(&lent);
    }
    Ok(back)
}

/// The processor time of this process, where the system tells it in Linux's way.
fn cpu_ms() -> Option<u64> {
    /// What one unit of the file is worth.
    const TICK_MS: u64 = 10;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program stands in parentheses, and may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let sum = ticks.map(str::parse::<u64>).sum::<Result<u64, _>>().ok()?;
    Some(sum * TICK_MS)
}

//! The network rows: a server process on core 0, one generator for all on core 1.
//!
//! Judged by the server's CPU time a request; throughput and latency stand beside it.

mod generator;
mod raw_epoll;
mod raw_ring;
mod servers;

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use crate::outcome::Outcome;
use crate::sys;

/// What a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What it received.
    Echo,
    /// [`HELLO`] for every request head.
    Http,
    /// As `Http`, through hyper.
    Hyper,
}

/// The hand-written servers' answer; hyper's differs in its date.
pub const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 13\r\n\
                           date: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\nHello, world!";

impl Kind {
    /// The answer to what was received. A request of the generator always comes whole.
    fn answer(self, received: &[u8]) -> &[u8] {
        match self {
            Kind::Echo => received,
            Kind::Http | Kind::Hyper if received.ends_with(b"\r\n\r\n") => HELLO,
            Kind::Http | Kind::Hyper => &[],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Echo => "echo",
            Kind::Http => "http",
            Kind::Hyper => "hyper",
        }
    }
}

/// What a server is told.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub kind: Kind,
    /// Bytes of a read buffer: a message fits.
    pub buffer_bytes: usize,
}

/// A server: takes the listener, announces it, never returns.
pub type Server = fn(TcpListener, Job);

/// Who serves what. A new server is a function and a line.
const SERVERS: &[(&str, &[Kind], Server)] = &[
    ("ours", &[Kind::Echo, Kind::Http], servers::ours::pooled),
    (
        "ours-plain",
        &[Kind::Echo, Kind::Http],
        servers::ours::plain,
    ),
    ("ours-shared", &[Kind::Echo], servers::ours::shared),
    ("ours-traits", &[Kind::Echo], servers::ours::traits),
    (
        "ours-poll",
        &[Kind::Echo, Kind::Http],
        servers::ours::plain_poll,
    ),
    ("ours-hyper", &[Kind::Hyper], servers::ours::hyper),
    ("ours-hyper-poll", &[Kind::Hyper], servers::ours::hyper_poll),
    ("ours-two", &[Kind::Echo], servers::ours::two_workers),
    (
        "ours-two-poll",
        &[Kind::Echo],
        servers::ours::two_workers_poll,
    ),
    ("tokio-two", &[Kind::Echo], servers::tokio::serve_two),
    ("raw-ring", &[Kind::Echo, Kind::Http], raw_ring::serve),
    ("raw-epoll", &[Kind::Echo, Kind::Http], raw_epoll::serve),
    ("tokio", &[Kind::Echo, Kind::Http], servers::tokio::serve),
    ("hyper-tokio", &[Kind::Hyper], servers::hyper::serve),
    ("smol", &[Kind::Echo], servers::smol::serve),
    ("monoio", &[Kind::Echo, Kind::Http], servers::monoio::serve),
    ("glommio", &[Kind::Echo], servers::glommio::serve),
    ("compio", &[Kind::Echo], servers::compio::serve),
];

/// Row, kind, message bytes, connections.
const ROWS: &[(&str, Kind, usize, usize)] = &[
    ("echo-64-64", Kind::Echo, 64, 64),
    ("echo-64-512", Kind::Echo, 64, 512),
    ("echo-64-4096", Kind::Echo, 64, 4_096),
    ("echo-1024-64", Kind::Echo, 1_024, 64),
    ("echo-1024-512", Kind::Echo, 1_024, 512),
    ("echo-1024-4096", Kind::Echo, 1_024, 4_096),
    ("echo-16384-64", Kind::Echo, 16_384, 64),
    ("echo-16384-512", Kind::Echo, 16_384, 512),
    ("echo-16384-4096", Kind::Echo, 16_384, 4_096),
    ("pool-echo-64-64", Kind::Echo, 64, 64),
    ("pool-echo-64-512", Kind::Echo, 64, 512),
    ("pool-echo-64-4096", Kind::Echo, 64, 4_096),
    ("http-64", Kind::Http, 0, 64),
    ("http-512", Kind::Http, 0, 512),
    ("http-4096", Kind::Http, 0, 4_096),
    ("hyper-64", Kind::Hyper, 0, 64),
    ("hyper-512", Kind::Hyper, 0, 512),
    ("hyper-4096", Kind::Hyper, 0, 4_096),
];

/// Every row with every server that takes part.
pub fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.iter().flat_map(|&(row, kind, ..)| {
        let takes_part = move |(_, kinds, _): &&(_, &[Kind], _)| kinds.contains(&kind);
        SERVERS
            .iter()
            .filter(takes_part)
            .map(|(name, ..)| *name)
            .filter(move |name| {
                row.starts_with("pool-") == name.contains("-two") || is_mark(row, name)
            })
            .map(move |name| (row, name))
    })
}

/// Whether it is the server of one thread that a row of two workers is measured by, too.
fn is_mark(row: &str, name: &str) -> bool {
    row.starts_with("pool-") && name == "ours"
}

/// The server's side: pins itself, binds, serves until it is killed.
pub fn serve(kind: &str, name: &str, size: usize) -> ExitCode {
    let kinds = [Kind::Http, Kind::Hyper];
    let kind = kinds.into_iter().find(|known| known.name() == kind);
    let kind = kind.unwrap_or(Kind::Echo);
    let found = SERVERS
        .iter()
        .find(|(known, kinds, _)| *known == name && kinds.contains(&kind));
    let Some((_, _, server)) = found else {
        eprintln!("no server `{name}` for {}", kind.name());
        return ExitCode::from(2);
    };
    sys::end_with_parent();
    sys::raise_descriptor_limit();
    sys::pin_process(0);
    let listener = listen().expect("a listener");
    server(
        listener,
        Job {
            kind,
            buffer_bytes: size.max(4_096),
        },
    );
    ExitCode::SUCCESS
}

/// Tells the generator where to connect: each server calls it when its listener listens.
fn announce(address: SocketAddr) {
    println!("{}", address.port());
}

/// A listener whose connections inherit that nothing is held back.
fn listen() -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let on: libc::c_int = 1;
    let listener_fd = std::os::fd::AsRawFd::as_raw_fd(&listener);
    // SAFETY: the pointer and the length describe `on`.
    unsafe {
        libc::setsockopt(
            listener_fd,
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    Ok(listener)
}

/// Runs a row: starts the server, loads it, ends it. `None` when the row is not of the network.
pub fn run(row: &str, name: &str) -> Option<Outcome> {
    let &(_, kind, size, connections) = ROWS.iter().find(|(id, ..)| *id == row)?;
    let mut server = Running::start(kind, name, size)?;
    sys::pin_process(1);
    let load = generator::Load {
        kind,
        size,
        connections,
        address: server.address,
    };
    let windows = generator::run(&load, || sys::cpu_time_of(server.process.id()));
    server.stop();
    let each = |f: fn(&generator::Window) -> f64| windows.iter().map(f).collect::<Vec<f64>>();
    Some(
        Outcome::of("cpu-us", each(|w| micros(w.server_cpu) / w.replies as f64))
            .with(
                "krps",
                each(|w| w.replies as f64 / w.length.as_secs_f64() / 1e3),
            )
            .with("p50-us", each(|w| w.p50_us))
            .with("p99-us", each(|w| w.p99_us)),
    )
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

/// A server in a process of its own.
struct Running {
    process: Child,
    address: SocketAddr,
}

impl Running {
    fn start(kind: Kind, name: &str, size: usize) -> Option<Running> {
        let mut process = Command::new(std::env::current_exe().ok()?)
            .args(["serve", kind.name(), name, &size.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take()?)
            .read_line(&mut line)
            .ok()?;
        let port = line.trim().parse().ok()?;
        Some(Running {
            process,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        })
    }

    fn stop(&mut self) {
        // Both fail only when the server has ended already, which the generator noticed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

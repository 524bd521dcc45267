//! The one generator for all servers: a closed loop over epoll, one message under way a
//! connection, every byte of every reply checked.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::Kind;
use crate::outcome::percentile;
use crate::sys::Random;

const WARM_UP: Duration = Duration::from_millis(500);
const WINDOW: Duration = Duration::from_millis(700);
const WINDOWS: usize = 3;
/// A reply that takes longer is lost.
const LOST_MS: i32 = 5_000;
/// Messages are cut out of one random text, each from another place.
const OFFSETS: usize = 4_096;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\n\r\n";

/// What to do to whom.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub kind: Kind,
    pub size: usize,
    pub connections: usize,
    pub address: SocketAddr,
}

/// What one window of time gave.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub replies: u64,
    pub length: Duration,
    pub server_cpu: Duration,
    pub p50_us: f64,
    pub p99_us: f64,
}

struct Connection {
    stream: TcpStream,
    /// Where its message starts in the text.
    offset: usize,
    sent: usize,
    received: usize,
    since: Instant,
}

struct Generator {
    epoll: libc::c_int,
    kind: Kind,
    text: Vec<u8>,
    request_bytes: usize,
    reply_bytes: usize,
    connections: Vec<Connection>,
    scratch: Vec<u8>,
    latencies_ns: Vec<u64>,
}

/// Connects, warms up, and measures; panics when a reply is wrong or missing.
pub fn run(load: &Load, server_cpu: impl Fn() -> Duration) -> Vec<Window> {
    let mut generator = Generator::connect(load);
    for index in 0..generator.connections.len() {
        generator.send(index);
    }
    generator.turn_until(Instant::now() + WARM_UP);
    let mut windows = Vec::with_capacity(WINDOWS);
    for _ in 0..WINDOWS {
        generator.latencies_ns.clear();
        let (start, cpu) = (Instant::now(), server_cpu());
        generator.turn_until(start + WINDOW);
        let (length, cpu) = (start.elapsed(), server_cpu() - cpu);
        let replies = generator.latencies_ns.len() as u64;
        assert!(replies > 0, "the server does not answer");
        windows.push(Window {
            replies,
            length,
            server_cpu: cpu,
            p50_us: percentile(&mut generator.latencies_ns, 0.50) / 1e3,
            p99_us: percentile(&mut generator.latencies_ns, 0.99) / 1e3,
        });
    }
    windows
}

impl Generator {
    fn connect(load: &Load) -> Generator {
        // SAFETY: no pointers.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        assert!(epoll >= 0, "no epoll");
        let mut random = Random(7);
        let text: Vec<u8> = (0..OFFSETS + load.size)
            .map(|_| random.next() as u8)
            .collect();
        let connections: Vec<Connection> = (0..load.connections)
            .map(|index| Connection {
                stream: connected(load.address),
                offset: index % OFFSETS,
                sent: 0,
                received: 0,
                since: Instant::now(),
            })
            .collect();
        let (request_bytes, reply_bytes) = match load.kind {
            Kind::Echo => (load.size, load.size),
            Kind::Http | Kind::Hyper => (REQUEST.len(), reply_bytes_of(&connections[0].stream)),
        };
        for (index, connection) in connections.iter().enumerate() {
            connection.stream.set_nonblocking(true).expect("a mode");
            let mut event = libc::epoll_event {
                events: (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET) as u32,
                u64: index as u64,
            };
            let fd = connection.stream.as_raw_fd();
            // SAFETY: the pointer is valid for the call.
            let failed = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
            assert_eq!(failed, 0, "cannot watch a connection");
        }
        Generator {
            epoll,
            kind: load.kind,
            text,
            request_bytes,
            reply_bytes,
            connections,
            scratch: vec![0; reply_bytes],
            latencies_ns: Vec::with_capacity(1 << 20),
        }
    }

    fn turn_until(&mut self, end: Instant) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 512];
        while Instant::now() < end {
            let room = events.len() as libc::c_int;
            // SAFETY: the pointer and the room describe `events`.
            let count = unsafe { libc::epoll_wait(self.epoll, events.as_mut_ptr(), room, LOST_MS) };
            assert!(count != 0, "no reply in {LOST_MS} ms");
            for event in events.iter().take(count.max(0) as usize) {
                self.turn(event.u64 as usize);
            }
        }
    }

    fn turn(&mut self, index: usize) {
        if self.connections[index].sent < self.request_bytes {
            self.send(index);
        }
        let left = self.reply_bytes - self.connections[index].received;
        let connection = &mut self.connections[index];
        let count = match (&connection.stream).read(&mut self.scratch[..left]) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => panic!("a connection broke: {error}"),
        };
        assert!(count > 0, "the server closed a connection");
        let (from, to) = (connection.received, connection.received + count);
        let offset = connection.offset;
        match self.kind {
            Kind::Echo => {
                let expected = &self.text[offset + from..offset + to];
                assert!(expected == &self.scratch[..count], "a wrong reply");
            }
            Kind::Http | Kind::Hyper => assert!(is_reply(&self.scratch[..count]), "a wrong reply"),
        }
        connection.received = to;
        if to == self.reply_bytes {
            self.latencies_ns
                .push(connection.since.elapsed().as_nanos() as u64);
            connection.offset = (offset + 97) % OFFSETS;
            (connection.sent, connection.received) = (0, 0);
            self.send(index);
        }
    }

    fn send(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let message = match self.kind {
            Kind::Echo => &self.text[connection.offset..connection.offset + self.request_bytes],
            Kind::Http | Kind::Hyper => REQUEST,
        };
        if connection.sent == 0 {
            connection.since = Instant::now();
        }
        match (&connection.stream).write(&message[connection.sent..]) {
            Ok(count) => connection.sent += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("a connection broke: {error}"),
        }
    }
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("an option");
    // Closing must leave nothing behind: thousands of connections come and go.
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: the pointer and the length describe `linger`.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of_val(&linger) as libc::socklen_t,
        )
    };
    stream
}

/// Asks once: replies of one server all have one length.
fn reply_bytes_of(mut stream: &TcpStream) -> usize {
    stream.write_all(REQUEST).expect("a request");
    let mut reply = [0; 1_024];
    let mut count = 0;
    while !is_reply(&reply[..count]) {
        match stream.read(&mut reply[count..]).expect("a reply") {
            0 => panic!("the server closed a connection"),
            more => count += more,
        }
    }
    count
}

/// Status, end of the head, and body are what they must be; the head's fields may vary.
fn is_reply(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HTTP/1.1 200 OK\r\n") && bytes.ends_with(b"\r\n\r\nHello, world!")
}

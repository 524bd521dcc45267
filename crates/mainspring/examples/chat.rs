//! A chat server: what one guest writes, all others read.
//!
//! ```text
//! cargo run --release -p mainspring --example chat
//! nc 127.0.0.1 7001        # in as many terminals as there are guests
//! ```
//!
//! The first line of a guest is a name. After that, lines go to all others, who are also told who
//! comes and who goes. A guest that reads too slowly holds up nobody: it is overtaken, and told how
//! many lines it missed. Ctrl-C and SIGTERM end the server: it accepts nobody any more, and guests
//! get what was said until then, and a last word.

#[path = "support/arguments.rs"]
mod arguments;
#[path = "support/close.rs"]
mod close;
#[path = "support/listen.rs"]
mod listen;
#[path = "support/runtime.rs"]
mod runtime;
#[path = "support/unless.rs"]
mod unless;

use close::close;
use mainspring::net::{ReadHalf, TcpStream, WriteHalf};
use mainspring::shutdown::{self, Controller, Requested};
use mainspring::sync::broadcast::{LossySender, Receiver, RecvError};
use mainspring::time::Deadline;
use mainspring::{Backend, yield_now};
use runtime::{AnyRuntime, SHUTDOWN_LIMIT, accept};
use std::collections::BTreeSet;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use unless::unless;

const USAGE: &str = "\
usage: chat [--workers N] [--backend auto|uring|poll] [--addr HOST:PORT]

  --workers  how many threads share the work (0: this one does it all)
  --backend  what serves the sockets (auto)
  --addr     where to listen (127.0.0.1:7001); port 0 takes a free one";

/// How many lines are kept for guests that are slow.
const LINES_KEPT: usize = 256;

/// How long a line may be, with its end.
const LINE_BYTES: usize = 4_096;

/// How long a name may be.
const NAME_BYTES: usize = 32;

struct Options {
    workers: usize,
    backend: Backend,
    addr: String,
}

fn main() -> ExitCode {
    let mut options = Options {
        workers: 0,
        backend: Backend::Auto,
        addr: "127.0.0.1:7001".to_owned(),
    };
    let read = arguments::read(USAGE, |name, value| match name {
        "--workers" => arguments::value(name, value).map(|workers| options.workers = workers),
        "--backend" => arguments::value(name, value).map(|backend| options.backend = backend),
        "--addr" => arguments::value(name, value).map(|addr| options.addr = addr),
        _ => Err(format!("there is no option `{name}`")),
    });
    if let Err(code) = read {
        return code;
    }
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chat: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let runtime = AnyRuntime::build(options.workers, options.backend)?;
    let stop = Arc::new(Controller::new());
    let stopping = Arc::clone(&stop);
    ctrlc::set_handler(move || stopping.request(Deadline::after(SHUTDOWN_LIMIT)))?;
    let room = Arc::new(Room::new());
    runtime.block_on(async {
        let listener = listen::on(&options.addr).await?;
        listen::announce(&runtime, options.backend, &listener)?;
        let room = Arc::clone(&room);
        // A guest whose connection breaks has left, which the others are told.
        accept(listener, &stop, move |stream| {
            let room = Arc::clone(&room);
            async move { drop(serve(stream, &room).await) }
        })
        .await
    })?;
    room.close();
    let report = runtime.shutdown();
    println!("{}", report.to_string().replace('\n', "; "));
    Ok(())
}

/// Where all guests are.
struct Room {
    /// Under a lock, so that nothing follows the last words.
    lines: Mutex<LossySender<Line>>,
    names: Mutex<BTreeSet<String>>,
    guests: AtomicU64,
}

/// What is said, and by whom: nobody is told his own words.
#[derive(Clone)]
struct Line {
    guest: u64,
    text: Arc<str>,
}

impl Room {
    fn new() -> Self {
        Self {
            lines: Mutex::new(LossySender::new(LINES_KEPT)),
            names: Mutex::default(),
            guests: AtomicU64::new(1),
        }
    }

    /// Says something to all guests but one.
    fn say(&self, guest: u64, text: String) {
        let text = text.into();
        // If nobody listens, nobody misses it.
        drop(lock(&self.lines).send(Line { guest, text }));
    }

    /// Lets somebody in. `None`: the name is taken.
    fn enter(&self, name: &str) -> Option<(Guest<'_>, Receiver<Line>)> {
        if !lock(&self.names).insert(name.to_owned()) {
            return None;
        }
        let number = self.guests.fetch_add(1, Relaxed);
        let guest = Guest {
            room: self,
            number,
            name: name.to_owned(),
        };
        self.say(number, format!("* {name} joined\n"));
        Some((guest, lock(&self.lines).subscribe()))
    }

    /// Who is here, but for one.
    fn others(&self, name: &str) -> String {
        let names = lock(&self.names);
        let others: Vec<_> = names.iter().filter(|other| *other != name).collect();
        match others.as_slice() {
            [] => "nobody".to_owned(),
            [first, rest @ ..] => rest
                .iter()
                .fold((*first).clone(), |text, next| text + ", " + next),
        }
    }

    /// Everybody gets the last words, and nothing after them.
    fn close(&self) {
        let lines = lock(&self.lines);
        let text = "* the server ends\n".into();
        drop(lines.send(Line { guest: 0, text }));
        lines.close();
    }
}

/// What a panic left behind is as good as any: each step here is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A name in the room, given back when its guest leaves in whatever way.
struct Guest<'a> {
    room: &'a Room,
    number: u64,
    name: String,
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        lock(&self.room.names).remove(&self.name);
        self.room
            .say(self.number, format!("* {} left\n", self.name));
    }
}

/// Serves one guest until it leaves, or until it has heard the last word of a server that ends.
async fn serve(mut stream: TcpStream, room: &Room) -> io::Result<()> {
    // Lines are written whole. What is refused is only an optimization.
    let _ = stream.set_nodelay(true);
    let (read, mut write) = stream.split();
    let mut input = Input::new(read);
    let signal = shutdown::signal();
    let mut stop = pin!(signal.requested());
    let welcomed = unless(stop.as_mut(), welcome(&mut input, &mut write, room)).await;
    if let Some(Some((guest, mut lines))) = welcomed.transpose()? {
        let mut speaking = pin!(speak(&mut input, &guest, stop));
        let mut hearing = pin!(hear(&mut lines, guest.number, &mut write));
        let ended = poll_fn(|cx| match speaking.as_mut().poll(cx) {
            Poll::Ready(spoke) => Poll::Ready(Some(spoke)),
            Poll::Pending => hearing.as_mut().poll(cx).map(|heard| heard.err().map(Err)),
        })
        .await;
        // In a shutdown it has said its last word, and hears what was said before the end.
        if ended.transpose()? == Some(Spoke::ToTheEnd) {
            hearing.await?;
        }
    }
    close(&mut stream).await
}

/// Asks for a name until there is one that will do. `None`: it went away.
async fn welcome<'a>(
    input: &mut Input<'_>,
    write: &mut WriteHalf<'_>,
    room: &'a Room,
) -> io::Result<Option<(Guest<'a>, Receiver<Line>)>> {
    write.write_all(b"* what is your name?\n").await?;
    while let Some(name) = input.next().await? {
        let name = name.trim();
        let is_name = !name.is_empty() && !name.starts_with('*') && name.len() <= NAME_BYTES;
        let entered = match is_name {
            true => room.enter(name),
            false => None,
        };
        let Some((guest, lines)) = entered else {
            write.write_all(b"* not that one; another?\n").await?;
            continue;
        };
        let others = room.others(name);
        let greeting = format!("* you are {name}; with you: {others}\n");
        write.write_all(greeting.as_bytes()).await?;
        return Ok(Some((guest, lines)));
    }
    Ok(None)
}

/// How a guest came to say no more.
#[derive(PartialEq, Eq)]
enum Spoke {
    /// It left.
    UntilItLeft,
    /// The server ends.
    ToTheEnd,
}

/// Passes on what a guest says.
async fn speak(
    input: &mut Input<'_>,
    guest: &Guest<'_>,
    mut stop: Pin<&mut Requested>,
) -> io::Result<Spoke> {
    loop {
        // A line that loses the race stays in the input.
        match unless(stop.as_mut(), input.next()).await {
            None => return Ok(Spoke::ToTheEnd),
            Some(line) => match line? {
                None => return Ok(Spoke::UntilItLeft),
                Some(line) if line.trim().is_empty() => {}
                Some(line) => {
                    let text = format!("{}: {}\n", guest.name, line.trim_end());
                    guest.room.say(guest.number, text);
                }
            },
        }
        // Many lines may have come at once: those who are quick hear each before the next.
        yield_now().await;
    }
}

/// Tells a guest what the others say, until nobody says anything any more.
async fn hear(lines: &mut Receiver<Line>, own: u64, write: &mut WriteHalf<'_>) -> io::Result<()> {
    loop {
        let text = match lines.recv().await {
            Ok(line) if line.guest == own => continue,
            Ok(line) => line.text,
            Err(RecvError::Lagged(lost)) => format!("* you missed {lost} lines\n").into(),
            Err(_) => return Ok(()),
        };
        write.write_all(text.as_bytes()).await?;
    }
}

/// Lines from a connection.
struct Input<'a> {
    read: ReadHalf<'a>,
    buffer: Box<[u8; LINE_BYTES]>,
    /// What has come and was not taken: `buffer[start..end]`.
    start: usize,
    end: usize,
}

impl<'a> Input<'a> {
    fn new(read: ReadHalf<'a>) -> Self {
        Self {
            read,
            buffer: Box::new([0; LINE_BYTES]),
            start: 0,
            end: 0,
        }
    }

    /// The next line; `None` at the end, which may cut one short. Dropped before it is ready, it
    /// loses nothing.
    async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            let pending = &self.buffer[self.start..self.end];
            if let Some(length) = pending.iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&pending[..length]).into_owned();
                self.start += length + 1;
                return Ok(Some(line));
            }
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.end == LINE_BYTES {
                return Err(io::Error::other("a line that is too long"));
            }
            match self.read.read(&mut self.buffer[self.end..]).await? {
                0 => return Ok(None),
                read => self.end += read,
            }
        }
    }
}

//! The dialogue with the example `chat`: two guests that talk, and a third that does not read.

use super::server::{self, Form};
use crate::context::Context;
use crate::run::Service;
use crate::stage::echo_client::connect;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;

/// Many lines of this length are more than a connection holds that nobody reads.
const LONG_LINE_BYTES: usize = 4_000;
const LONG_LINES: u64 = 8_000;

/// The last of the lines that are said to somebody slow.
const LAST_LINE: &str = "that was all";

/// Starts it, talks to it, and ends it in the middle of a conversation.
pub(super) fn drive(ctx: &Context, executable: &Path) -> Result<(), String> {
    server::drive(ctx, executable, &[], dialogue)
}

fn dialogue(
    _ctx: &Context,
    address: SocketAddr,
    server: &mut Service,
    _form: Form,
) -> Result<(), String> {
    conversation(address, server).map_err(|error| format!("chatting at {address}: {error}"))
}

fn conversation(address: SocketAddr, server: &mut Service) -> io::Result<()> {
    let mut ann = Guest::enter(address, "ann", "nobody")?;
    let mut bob = Guest::connect(address)?;
    // The name is taken.
    bob.say("ann")?;
    bob.expect("* not that one; another?")?;
    bob.say("bob")?;
    bob.expect("* you are bob; with you: ann")?;
    ann.expect("* bob joined")?;
    // Each hears the other, and not itself.
    ann.say("hello")?;
    bob.expect("ann: hello")?;
    bob.say("hello yourself")?;
    ann.expect("bob: hello yourself")?;
    let mut slow = Guest::enter(address, "cal", "ann, bob")?;
    ann.expect("* cal joined")?;
    bob.expect("* cal joined")?;
    overtake(&mut ann, &mut bob, &mut slow)?;
    drop(bob);
    ann.expect("* bob left")?;
    slow.expect("* bob left")?;
    // One that has not said who it is has nothing to hear.
    let mut nobody = Guest::connect(address)?;
    server.terminate();
    for guest in [&mut ann, &mut slow] {
        guest.expect("* the server ends")?;
        guest.expect_end()?;
    }
    nobody.expect_end()
}

/// Somebody says more than a guest that does not read can be told: it misses lines, and knows how
/// many, while another one hears the end.
fn overtake(quick: &mut Guest, speaker: &mut Guest, slow: &mut Guest) -> io::Result<()> {
    let line = "x".repeat(LONG_LINE_BYTES);
    let mut output = speaker.output.try_clone()?;
    let heard = thread::scope(|scope| {
        let speaking = scope.spawn(move || {
            for _ in 0..LONG_LINES {
                output.write_all(format!("{line}\n").as_bytes())?;
            }
            output.write_all(format!("{LAST_LINE}\n").as_bytes())
        });
        // When this one has heard the last line, the server has seen them all.
        let heard = quick.count_until_the_last();
        let spoken = speaking
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        spoken.and(heard)
    })?;
    complete(heard)?;
    match complete(slow.count_until_the_last()?)? {
        0 => Err(io::Error::other("the slow guest has missed nothing")),
        _ => Ok(()),
    }
}

/// Heard and missed are together what was said. Returns how many were missed.
fn complete((heard, missed): (u64, u64)) -> io::Result<u64> {
    if heard + missed == LONG_LINES {
        return Ok(missed);
    }
    Err(io::Error::other(format!(
        "of {LONG_LINES} lines {heard} were heard and {missed} missed"
    )))
}

/// A client of the server.
struct Guest {
    input: BufReader<TcpStream>,
    output: TcpStream,
}

impl Guest {
    fn connect(address: SocketAddr) -> io::Result<Self> {
        let output = connect(address)?;
        let input = BufReader::new(output.try_clone()?);
        let mut guest = Self { input, output };
        guest.expect("* what is your name?")?;
        Ok(guest)
    }

    fn enter(address: SocketAddr, name: &str, others: &str) -> io::Result<Self> {
        let mut guest = Self::connect(address)?;
        guest.say(name)?;
        guest.expect(&format!("* you are {name}; with you: {others}"))?;
        Ok(guest)
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        self.output.write_all(format!("{line}\n").as_bytes())
    }

    fn hear(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.input.read_line(&mut line)?;
        match line.strip_suffix('\n') {
            Some(line) => Ok(line.to_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn expect(&mut self, expected: &str) -> io::Result<()> {
        let heard = self.hear()?;
        if heard == expected {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "expected {expected:?}, got {heard:?}"
        )))
    }

    fn expect_end(&mut self) -> io::Result<()> {
        match self.hear() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(error) => Err(error),
            Ok(line) => Err(io::Error::other(format!(
                "it says something more: {line:?}"
            ))),
        }
    }

    /// How many long lines it hears, and how many it is told that it missed.
    fn count_until_the_last(&mut self) -> io::Result<(u64, u64)> {
        let (mut heard, mut missed) = (0, 0);
        loop {
            let line = self.hear()?;
            if let Some(rest) = line.strip_prefix("* you missed ") {
                let number = rest.strip_suffix(" lines").unwrap_or(rest);
                missed += number.parse::<u64>().map_err(io::Error::other)?;
            } else if line.ends_with(LAST_LINE) {
                return Ok((heard, missed));
            } else {
                heard += 1;
            }
        }
    }
}

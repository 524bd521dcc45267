//! The dialogue with the example `http`: by curl where it is installed, and by a client of our own
//! for what curl does not do.

use super::descriptors;
use super::http_client::{Answer, Connection, request};
use super::server::{self, Form};
use crate::context::Context;
use crate::run::{Ending, Service};
use std::io;
use std::net::SocketAddr;
use std::path::Path;

/// How many clients send half a header at once.
const HALF_HEADS: usize = 10_000;

const GREETING: &str = "hello from mainspring\n";

/// Starts it, talks to it, and ends it in the middle of a request.
pub(super) fn drive(ctx: &Context, executable: &Path) -> Result<(), String> {
    for (seconds, why) in [
        ("-1", "`--header-timeout -1`: it is negative"),
        ("soon", "`--header-timeout soon`: "),
        ("99999999999", "number too large"),
    ] {
        server::refuses(ctx, executable, &["--header-timeout", seconds], why)?;
    }
    // Before the server is started: it inherits the limit.
    let count = descriptors::affordable(HALF_HEADS);
    if count < HALF_HEADS {
        println!("no more than {count} of {HALF_HEADS} half headers: the descriptors' limit");
    }
    server::drive(ctx, executable, &["--header-timeout=1"], dialogue)
}

fn dialogue(
    ctx: &Context,
    address: SocketAddr,
    server: &mut Service,
    form: Form,
) -> Result<(), String> {
    let half_heads = match form {
        Form::OneThread => descriptors::affordable(HALF_HEADS),
        // Whether workers take as many is not the question: whether they do the same is.
        Form::Workers => descriptors::affordable(HALF_HEADS / 10),
    };
    let told = |what: &str, result: io::Result<()>| {
        result.map_err(|error| format!("{what}, {address}: {error}"))
    };
    told("requests on one connection", requests(address))?;
    told("a handler that panics", panicking(address))?;
    told("half a header", half_headers(address, 1))?;
    told("many halves of headers", half_headers(address, half_heads))?;
    if has_curl(ctx) {
        curl(ctx, address)?;
    }
    told(
        "a request under way at the end",
        last_request(address, server),
    )
}

fn requests(address: SocketAddr) -> io::Result<()> {
    let mut connection = Connection::open(address)?;
    expect(&connection.ask("GET", "/")?, 200, GREETING)?;
    let head = connection.ask("HEAD", "/")?;
    expect(&head, 200, "")?;
    if head.length != GREETING.len() {
        return Err(io::Error::other(format!("HEAD says {} bytes", head.length)));
    }
    expect(
        &connection.ask("GET", "/nowhere")?,
        404,
        "there is nothing here\n",
    )?;
    expect(&connection.ask("GET", "/")?, 200, GREETING)
}

/// Its own connection ends, a neighbour's does not, and new ones are served.
fn panicking(address: SocketAddr) -> io::Result<()> {
    let mut neighbour = Connection::open(address)?;
    expect(&neighbour.ask("GET", "/")?, 200, GREETING)?;
    let mut connection = Connection::open(address)?;
    connection.send(&request("GET", "/panic"))?;
    connection.expect_end()?;
    expect(&neighbour.ask("GET", "/")?, 200, GREETING)?;
    expect(&Connection::open(address)?.ask("GET", "/")?, 200, GREETING)
}

/// Clients that send half a header and stay. The server ends their connections, since nothing else
/// would, and serves another meanwhile.
fn half_headers(address: SocketAddr, count: usize) -> io::Result<()> {
    let mut halves = Vec::with_capacity(count);
    for _ in 0..count {
        let mut connection = Connection::open(address)?;
        connection.send("GET / HTTP/1.1\r\nhost: local")?;
        halves.push(connection);
    }
    expect(&Connection::open(address)?.ask("GET", "/")?, 200, GREETING)?;
    for connection in &mut halves {
        connection.expect_end()?;
    }
    Ok(())
}

/// The server is told to end while it has a request to answer, and answers it. That it has read the
/// second request is certain once the first is answered: both came at once.
///
/// Another client has sent more requests than it has read answers to. It reads them when the first
/// one is served, long after the signal: they are whole, and then the connection ends.
fn last_request(address: SocketAddr, server: &mut Service) -> io::Result<()> {
    let mut slow = Connection::open(address)?;
    slow.send_until_nobody_reads(&request("GET", "/"))?;
    let mut connection = Connection::open(address)?;
    connection.send(&(request("GET", "/") + &request("GET", "/slow")))?;
    expect(&connection.answer("GET")?, 200, GREETING)?;
    server.terminate();
    expect(&connection.answer("GET")?, 200, GREETING)?;
    connection.expect_end()?;
    drop(connection);
    let mut answers = 0;
    while let Some(answer) = slow.answer_or_end("GET")? {
        expect(&answer, 200, GREETING)?;
        answers += 1;
    }
    match answers {
        0 => Err(io::Error::other("the slow reader got no answer at all")),
        _ => Ok(()),
    }
}

fn expect(answer: &Answer, status: u16, body: &str) -> io::Result<()> {
    if answer.status == status && answer.body == body {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "expected {status} {body:?}, got {answer:?}"
    )))
}

fn has_curl(ctx: &Context) -> bool {
    let probe = ctx.command("curl").arg("--version").quiet();
    probe.capture().ending.is_success()
}

/// What somebody would try by hand.
fn curl(ctx: &Context, address: SocketAddr) -> Result<(), String> {
    let curl = |options: &[&str]| {
        (ctx.command("curl"))
            .args(["--silent", "--show-error", "--max-time", "20"])
            .args(options)
    };
    let root = format!("http://{address}/");
    // The second request opens no connection.
    let twice = curl(&[
        "--write-out",
        "%{http_code} %{num_connects}\n",
        &root,
        &root,
    ]);
    let expected = format!("{GREETING}200 1\n{GREETING}200 0\n");
    said(&twice.capture().ok(&twice)?, &expected)?;
    let head = curl(&["--head", "--write-out", "%{http_code}\n", &root]);
    let text = head.capture().ok(&head)?;
    if !text.ends_with("\r\n\r\n200\n") || !text.contains("content-length: 22\r\n") {
        return Err(format!("{}\n{text}", head.line()));
    }
    let nowhere = format!("{root}nowhere");
    let missing = curl(&[
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
        &nowhere,
    ]);
    said(&missing.capture().ok(&missing)?, "404")?;
    let panicking = curl(&[&format!("{root}panic")]);
    // Nothing came, or the connection was reset.
    let ending = panicking.capture().ending;
    if !matches!(ending, Ending::Code(52 | 56)) {
        return Err(format!(
            "{ending}, and not for want of an answer: {}",
            panicking.line()
        ));
    }
    let after = curl(&[&root]);
    said(&after.capture().ok(&after)?, GREETING)
}

fn said(text: &str, expected: &str) -> Result<(), String> {
    if text == expected {
        return Ok(());
    }
    Err(format!("expected {expected:?}, got {text:?}"))
}

//! A server that sends back what it receives.
//!
//! ```text
//! cargo run --release -p mainspring --example echo
//! cargo run --release -p mainspring --example echo -- --backend poll --addr 127.0.0.1:0
//! ```
//!
//! Ctrl-C and SIGTERM end it: it accepts nobody any more, and every connection is closed once what
//! it has received has gone back.

#[path = "support/arguments.rs"]
mod arguments;
#[path = "support/close.rs"]
mod close;
#[path = "support/listen.rs"]
mod listen;
#[path = "support/unless.rs"]
mod unless;

use close::close;
use mainspring::net::{TcpListener, TcpStream};
use mainspring::shutdown::{self, Controller, Signal};
use mainspring::time::Deadline;
use mainspring::{Backend, LocalRuntime, spawn_local};
use std::error::Error;
use std::io;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;
use unless::unless;

const USAGE: &str = "\
usage: echo [--backend auto|uring|poll] [--addr HOST:PORT]

  --backend  what serves the sockets (auto)
  --addr     where to listen (127.0.0.1:7000); port 0 takes a free one";

/// How long a shutdown may take.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

struct Options {
    backend: Backend,
    addr: String,
}

fn main() -> ExitCode {
    let mut options = Options {
        backend: Backend::Auto,
        addr: "127.0.0.1:7000".to_owned(),
    };
    let read = arguments::read(USAGE, |name, value| match name {
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
            eprintln!("echo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let runtime = LocalRuntime::builder().backend(options.backend).build()?;
    let stop = Controller::new();
    let stopped = stop.signal();
    ctrlc::set_handler(move || stop.request(Deadline::after(SHUTDOWN_LIMIT)))?;
    runtime.block_on(async {
        let listener = listen::on(&options.addr).await?;
        listen::announce(&runtime, options.backend, &listener)?;
        accept(&listener, &stopped).await
    })?;
    let report = runtime.shutdown(SHUTDOWN_LIMIT);
    println!("{}", report.to_string().replace('\n', "; "));
    Ok(())
}

/// Serves everybody who connects until it is told to stop.
async fn accept(listener: &TcpListener, stop: &Signal) -> io::Result<()> {
    let mut stop = pin!(stop.requested());
    while let Some(accepted) = unless(stop.as_mut(), listener.accept()).await {
        let (stream, _peer) = accepted?;
        // A client that goes away in the middle is its own affair.
        spawn_local(async { drop(echo(stream).await) }).detach();
    }
    Ok(())
}

async fn echo(mut stream: TcpStream) -> io::Result<()> {
    let signal = shutdown::signal();
    let mut shutdown = pin!(signal.requested());
    let mut buf = vec![0; 16 * 1024];
    // A read that loses the race has read nothing.
    while let Some(read) = unless(shutdown.as_mut(), stream.read(&mut buf)).await {
        match read? {
            0 => break,
            read => stream.write_all(&buf[..read]).await?,
        }
    }
    close(&mut stream).await
}

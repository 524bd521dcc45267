//! A server that sends back what it receives.
//!
//! ```text
//! cargo run --release -p mainspring --example echo
//! cargo run --release -p mainspring --example echo -- --workers 4
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
#[path = "support/runtime.rs"]
mod runtime;
#[path = "support/unless.rs"]
mod unless;

use close::close;
use mainspring::Backend;
use mainspring::net::TcpStream;
use mainspring::shutdown::{self, Controller};
use mainspring::time::Deadline;
use runtime::{AnyRuntime, SHUTDOWN_LIMIT, accept};
use std::error::Error;
use std::io;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use unless::unless;

const USAGE: &str = "\
usage: echo [--workers N] [--backend auto|uring|poll] [--addr HOST:PORT]

  --workers  how many threads share the work (0: this one does it all)
  --backend  what serves the sockets (auto)
  --addr     where to listen (127.0.0.1:7000); port 0 takes a free one";

struct Options {
    workers: usize,
    backend: Backend,
    addr: String,
}

fn main() -> ExitCode {
    let mut options = Options {
        workers: 0,
        backend: Backend::Auto,
        addr: "127.0.0.1:7000".to_owned(),
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
            eprintln!("echo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let runtime = AnyRuntime::build(options.workers, options.backend)?;
    let stop = Arc::new(Controller::new());
    let stopping = Arc::clone(&stop);
    ctrlc::set_handler(move || stopping.request(Deadline::after(SHUTDOWN_LIMIT)))?;
    runtime.block_on(async {
        let listener = listen::on(&options.addr).await?;
        listen::announce(&runtime, options.backend, &listener)?;
        // A client that goes away in the middle is its own affair.
        accept(listener, &stop, async |stream| drop(echo(stream).await)).await
    })?;
    let report = runtime.shutdown();
    println!("{}", report.to_string().replace('\n', "; "));
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

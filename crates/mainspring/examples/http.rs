//! An HTTP server: hyper on this runtime, on one thread or on several.
//!
//! ```text
//! cargo run --release -p mainspring --features hyper --example http
//! cargo run --release -p mainspring --features hyper --example http -- --workers 4
//! curl -i http://127.0.0.1:8080/
//! ```
//!
//! | path | answer |
//! |---|---|
//! | `/` | a greeting |
//! | `/slow` | the same, a second later |
//! | `/panic` | none: the handler panics, its connection ends, and the server serves on |
//! | others | 404 |
//!
//! Connections are kept alive. One that does not send the whole header of a request in time is
//! closed; one that has ended its own direction is answered all the same. Ctrl-C and SIGTERM end
//! the server: it accepts nobody any more, answers the requests that it has begun to, for which
//! clients have until its limit, closes all other connections, and says how that went.

#[path = "support/arguments.rs"]
mod arguments;
#[path = "support/listen.rs"]
mod listen;
#[path = "support/runtime.rs"]
mod runtime;
#[path = "support/unless.rs"]
mod unless;
#[path = "support/watched.rs"]
mod watched;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use mainspring::Backend;
use mainspring::compat::hyper::{Io, Timer};
use mainspring::net::TcpStream;
use mainspring::shutdown::{self, Controller};
use mainspring::time::{Deadline, sleep};
use runtime::{AnyRuntime, SHUTDOWN_LIMIT, accept};
use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use watched::{Progress, Watched};

const USAGE: &str = "\
usage: http [--workers N] [--backend auto|uring|poll] [--addr HOST:PORT]
            [--header-timeout SECONDS]

  --workers         how many threads share the work (0: this one does it all)
  --backend         what serves the sockets (auto)
  --addr            where to listen (127.0.0.1:8080); port 0 takes a free one
  --header-timeout  how long the header of a request may take (10)";

/// How long a client is waited for in a shutdown to whom nothing is owed: one that has sent
/// nothing, or half a header, or was told the end and has said nothing since.
const LINGER: Duration = Duration::from_millis(100);

/// The same of one that was answered in the shutdown, or that still sends.
const LONGER: Duration = Duration::from_secs(1);

struct Options {
    workers: usize,
    backend: Backend,
    addr: String,
    header_timeout: Duration,
}

fn main() -> ExitCode {
    let mut options = Options {
        workers: 0,
        backend: Backend::Auto,
        addr: "127.0.0.1:8080".to_owned(),
        header_timeout: Duration::from_secs(10),
    };
    let read = arguments::read(USAGE, |name, value| match name {
        "--workers" => arguments::value(name, value).map(|workers| options.workers = workers),
        "--backend" => arguments::value(name, value).map(|backend| options.backend = backend),
        "--addr" => arguments::value(name, value).map(|addr| options.addr = addr),
        // Hyper adds it to an instant, which has to have room for it.
        "--header-timeout" => arguments::value::<u32>(name, value)
            .map(|seconds| options.header_timeout = Duration::from_secs(seconds.into())),
        _ => Err(format!("there is no option `{name}`")),
    });
    if let Err(code) = read {
        return code;
    }
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("http: {error}");
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
        let header_timeout = options.header_timeout;
        // A client that goes away, or is too slow, is its own affair.
        accept(listener, &stop, move |stream| async move {
            drop(serve(stream, header_timeout).await);
        })
        .await
    })?;
    let report = runtime.shutdown();
    println!("{}", report.to_string().replace('\n', "; "));
    Ok(())
}

/// Serves one connection until it ends, or until the shutdown and the answer under way.
async fn serve(stream: TcpStream, header_timeout: Duration) -> hyper::Result<()> {
    // Answers are written whole. What is refused is only an optimization.
    let _ = stream.set_nodelay(true);
    let progress = Arc::new(Progress::default());
    let connection = http1::Builder::new()
        .timer(Timer)
        .header_read_timeout(header_timeout)
        .half_close(true)
        .serve_connection(
            Watched::new(Io::new(stream), Arc::clone(&progress)),
            service_fn(|request| progress.answering(respond(request))),
        );
    let mut connection = pin!(connection);
    let signal = shutdown::signal();
    let mut shutdown = pin!(signal.requested());
    let mut is_last = false;
    let mut is_owed = false;
    let mut patience = None;
    poll_fn(|cx| {
        if !is_last && shutdown.as_mut().poll(cx).is_ready() {
            is_last = true;
            is_owed = progress.is_answering() || progress.is_ending();
            patience = None;
            connection.as_mut().graceful_shutdown();
        }
        let served = connection.as_mut().poll(cx);
        if served.is_ready() {
            return served;
        }
        if progress.has_heard() || progress.is_answering() {
            is_owed = true;
            patience = None;
        }
        let limit = match progress.is_ending() {
            // A client that does not read its answer is cut off by the runtime, which says so.
            false if progress.is_answering() || !is_last => return Poll::Pending,
            true if !is_last => header_timeout,
            _ if is_owed => LONGER,
            _ => LINGER,
        };
        let patience = patience.get_or_insert_with(|| Box::pin(sleep(limit)));
        patience.as_mut().poll(cx).map(Ok)
    })
    .await
}

async fn respond(request: Request<Incoming>) -> Result<Response<String>, Infallible> {
    let greeting = || Response::new("hello from mainspring\n".to_owned());
    Ok(match request.uri().path() {
        "/" => greeting(),
        "/slow" => {
            sleep(Duration::from_secs(1)).await;
            greeting()
        }
        "/panic" => panic!("somebody asked for it"),
        _ => {
            let mut response = Response::new("there is nothing here\n".to_owned());
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    })
}

//! The thread that delivers readiness where no reactor is current: under tokio, under smol, under a
//! hand-written loop.
//!
//! It makes no system call on a socket and runs no task: it waits, and wakes. Started on first use,
//! it lives as long as the process. It knows readiness alone: with a ring, every completion would
//! cross a thread, which costs more than the ring saves.

use crate::backend::Backend;
use crate::driver::{self, Hub, Reactor};
use crate::error::ReactorError;
use mainspring_core::driver::{Driver, Until};
use std::io;
// DOOR: one static for the process, which no model explores, and the thread's first words.
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

static BACKGROUND: Mutex<Option<Hub>> = Mutex::new(None);

/// The hub of this thread, or else the background thread's.
pub(crate) fn current() -> io::Result<Hub> {
    match driver::current() {
        Some(hub) => Ok(hub),
        None => background().map_err(|error| ReactorError::Background(error).into_io()),
    }
}

fn background() -> io::Result<Hub> {
    let mut background = BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(hub) = &*background {
        return Ok(hub.clone());
    }
    // A reactor lives where it is made.
    let (say, hear) = mpsc::channel();
    thread::Builder::new().name("ms-reactor".to_owned()).spawn(
        move || match Reactor::with_backend(Backend::Poll) {
            Ok(reactor) => {
                let _ = say.send(Ok(reactor.hub()));
                serve(reactor);
            }
            Err(error) => {
                let _ = say.send(Err(error));
            }
        },
    )?;
    let hub = hear.recv().map_err(io::Error::other)??;
    Ok(background.insert(hub).clone())
}

/// The least time between two reports of errors.
const TELL_EVERY: Duration = Duration::from_secs(1);

fn serve(mut reactor: Reactor) {
    let mut told: Option<Instant> = None;
    loop {
        // Every socket without a reactor depends on this thread. A waker that panics does not end
        // it: a driver contains that.
        if let Err(error) = reactor.park(Until::Forever) {
            if told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
                told = Some(Instant::now());
                eprintln!("mainspring: the background reactor {error} (MS0003)");
            }
            // The poll fails at once and for ever, or it does not fail: no need to be clever.
            thread::sleep(Duration::from_millis(64));
        }
    }
}

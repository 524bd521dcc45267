//! The thread that delivers readiness where no reactor is current: under tokio, under smol, under a
//! hand-written loop.
//!
//! It makes no system call on a socket and runs no task: it waits, and wakes. Started on first use,
//! it lives as long as the process.

use crate::backend::poll::Hub;
use crate::driver::{self, Reactor};
use crate::error::ReactorError;
use mainspring_core::driver::{Driver, Until};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
// DOOR: one static for the process, which no model explores.
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

static BACKGROUND: Mutex<Option<Arc<Hub>>> = Mutex::new(None);

/// The hub of this thread, or else the background thread's.
pub(crate) fn current() -> io::Result<Arc<Hub>> {
    match driver::current() {
        Some(hub) => Ok(hub),
        None => background().map_err(|error| ReactorError::Background(error).into_io()),
    }
}

fn background() -> io::Result<Arc<Hub>> {
    let mut background = BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(hub) = &*background {
        return Ok(Arc::clone(hub));
    }
    let reactor = Reactor::new()?;
    let hub = reactor.hub();
    thread::Builder::new()
        .name("ms-reactor".to_owned())
        .spawn(move || serve(reactor))?;
    Ok(Arc::clone(background.insert(hub)))
}

fn serve(mut reactor: Reactor) {
    loop {
        // A waker is foreign code, and every socket without a reactor depends on this thread. What
        // it panicked with has been reported by the panic hook.
        let turn = panic::catch_unwind(AssertUnwindSafe(|| reactor.park(Until::Forever)));
        if let Ok(Err(error)) = turn {
            eprintln!("mainspring: the background reactor {error} (MS0003)");
            // The poll fails at once and for ever, or it does not fail: no need to be clever.
            thread::sleep(Duration::from_millis(64));
        }
    }
}

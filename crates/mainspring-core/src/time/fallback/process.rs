//! The one instance of the process, and its thread.

use super::Fallback;
use crate::sync::thread;
use crate::time::{Timers, TimersRef, clock};
use crate::wake_batch::WakeBatch;
use std::io;
use std::sync::LazyLock;

static FALLBACK: LazyLock<Fallback> = LazyLock::new(|| Fallback::new(start));

/// The fallback's name. Its thread starts when the first entry is registered.
pub(in crate::time) fn timers() -> TimersRef {
    static NAME: LazyLock<&'static dyn Timers> = LazyLock::new(|| &*FALLBACK);
    TimersRef::new(LazyLock::force(&NAME))
}

fn start() -> io::Result<()> {
    thread::Builder::new()
        .name("ms-timer".to_owned())
        .spawn(run)
        .map(drop)
}

fn run() {
    let mut due = WakeBatch::new();
    loop {
        FALLBACK.turn(clock::anchor, &mut due);
    }
}

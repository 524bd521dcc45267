//! What a reactor shares with its sockets and with other threads.
//!
//! # Invariants
//!
//! - **hub.outside** — wakers are called, and whatever a source holds is dropped, with neither the
//!   poll's nor the registry's lock held.
//! - **hub.recorded** — every event that was taken out of the poll is in its source's word before
//!   `dispatch` returns or unwinds: edges come once.
//! - **hub.kick** — the owner is ASLEEP only while it holds the poll's lock: nobody else can take
//!   the event that calls it back out of the poll.
//! - **hub.short** — a short count clears a half only where every later arrival is reported, and
//!   nothing was reported that a short count does not show.
//! - **hub.closed** — a closed hub takes no source in, and every source that it had is told.
//! - **hub.watched** — a source's word says that somebody reports only after the system has been
//!   told to; and what is there by then, the system reports at once, as an edge of its own.

use super::alarm::Alarm;
use super::readiness::{Half, Readiness, Report, Snapshot};
use super::registry::{ALARM, Full, Registry, WAKER};
use super::waiters::Waiters;
use crate::backend::notify::{Notify, OnNotify, OnSleep};
use crate::error::{ReactorError, while_doing};
use mainspring_core::WakeBatch;
use mainspring_core::driver::Until;
use mainspring_core::payload::absorb;
use mainspring_core::sync::Mutex;
use mainspring_core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use mainspring_core::time;
use mio::event::Source;
use mio::{Events, Interest, Poll, Token};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// What a source is to the poll that has it: its word and its waiters.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) word: Readiness,
    pub(crate) waiters: Waiters,
    /// Something is there that a short count does not show: an end, an error, an urgent byte.
    is_special: AtomicBool,
}

impl Shared {
    pub(crate) fn new(waiters: Waiters) -> Self {
        Self {
            word: Readiness::new(),
            waiters,
            is_special: AtomicBool::new(false),
        }
    }

    /// A call that `seen` came before has moved less than it could have: on systems where whatever
    /// comes later is reported, the half has run dry.
    pub(crate) fn ran_short(&self, seen: Snapshot, half: Half) {
        // CLAIM: [hub.short] what was reported after `seen` is not cleared, and what was reported
        // before is in the flag, which was set before the word.
        if SHORT_IS_DRY && !self.is_special.load(Relaxed) {
            // Whatever it says: the call was made, and the next one finds out.
            let _ = self.word.clear(seen, half);
        }
    }
}

/// The registered sources, and whether more may come. One lock for both.
struct Sources {
    registry: Registry<Arc<Shared>>,
    is_closed: bool,
}

/// The poll, and what is set in it. Whoever waits or looks holds the lock meanwhile.
pub(crate) struct Polling {
    poll: Poll,
    alarm: Alarm,
}

/// What a reactor shares.
pub(crate) struct Hub {
    notify: Notify,
    sources: Mutex<Sources>,
    /// `None` once the reactor has been dropped.
    polling: Mutex<Option<Polling>>,
    registrar: mio::Registry,
    waker: mio::Waker,
    /// How many sockets were made where this is current, and live.
    made: AtomicUsize,
}

impl Hub {
    pub(crate) fn new() -> io::Result<Self> {
        let what = "open the system's poll (epoll, kqueue or their like)";
        Self::open().map_err(|error| while_doing(what, error))
    }

    fn open() -> io::Result<Self> {
        let poll = Poll::new()?;
        let registrar = poll.registry().try_clone()?;
        let waker = mio::Waker::new(poll.registry(), WAKER)?;
        let alarm = Alarm::new(poll.registry())
            .map_err(|error| while_doing("create a timer (timerfd)", error))?;
        Ok(Self {
            notify: Notify::new(),
            sources: Mutex::new(Sources {
                registry: Registry::new(),
                is_closed: false,
            }),
            polling: Mutex::new(Some(Polling { poll, alarm })),
            registrar,
            waker,
            made: AtomicUsize::new(0),
        })
    }

    /// A socket is made where this is current.
    pub(crate) fn enrol(&self) -> io::Result<()> {
        if self.sources.lock().is_closed {
            return Err(ReactorError::Gone.into_io());
        }
        self.made.fetch_add(1, Relaxed);
        Ok(())
    }

    /// A socket that was made where this is current is dropped.
    pub(crate) fn leave(&self) {
        self.made.fetch_sub(1, Relaxed);
    }

    /// Takes a source in that no poll has, and reports on it from here on. `None`: closed.
    pub(crate) fn register(
        &self,
        source: &mut impl Source,
        interest: Interest,
        shared: &Arc<Shared>,
    ) -> io::Result<Option<Token>> {
        let Some(token) = self.admit(shared)? else {
            return Ok(None);
        };
        if let Err(error) = self.registrar.register(source, token, interest) {
            // CLAIM: [registry.no-leak]
            self.forget(token);
            return Err(error);
        }
        let sources = self.sources.lock();
        // CLAIM: [hub.closed] under the lock under which `close` drains: either that comes later,
        // and says that nobody reports any more, or it has been.
        let token = (!sources.is_closed).then_some(token);
        if token.is_some() {
            // CLAIM: [hub.watched]
            shared.word.fasten();
        }
        drop(sources);
        Ok(token)
    }

    fn admit(&self, shared: &Arc<Shared>) -> io::Result<Option<Token>> {
        let mut sources = self.sources.lock();
        // CLAIM: [hub.closed] under the lock under which `close` drains.
        if sources.is_closed {
            return Ok(None);
        }
        let admitted = sources.registry.insert(Arc::clone(shared));
        drop(sources);
        let token = admitted.map_err(|Full(_)| ReactorError::Full.into_io())?;
        Ok(Some(token))
    }

    /// Lets a source go. An event that the kernel already holds for it finds nothing.
    pub(crate) fn deregister(&self, source: &mut impl Source, token: Token) {
        // Explicitly: a duplicate of the descriptor, in a child say, would keep the kernel's
        // interest alive. It fails only if somebody has closed the descriptor behind our back.
        let _ = self.registrar.deregister(source);
        self.forget(token);
    }

    fn forget(&self, token: Token) {
        let removed = self.sources.lock().registry.remove(token);
        // CLAIM: [hub.outside] the lock was released at the end of the statement above.
        drop(removed);
    }

    /// By the owner: waits in the poll, or looks, and leaves what happened in `events`.
    pub(crate) fn wait(&self, events: &mut Events, until: Until) -> io::Result<()> {
        let mut guard = self.polling.lock();
        let Some(polling) = &mut *guard else {
            return Ok(());
        };
        if until == Until::Now {
            self.notify.wake_up();
            return polling.wait(events, Until::Now);
        }
        // CLAIM: [hub.kick] the lock is held from before ASLEEP until after it.
        match self.notify.fall_asleep() {
            OnSleep::Look => polling.wait(events, Until::Now),
            OnSleep::Wait => {
                let result = polling.wait(events, until);
                self.notify.wake_up();
                result
            }
        }
    }

    /// By anybody: looks, unless somebody is at the poll already. `false` if nothing was done.
    pub(crate) fn look(&self, events: &mut Events) -> bool {
        let Some(mut guard) = self.polling.try_lock() else {
            return false;
        };
        match &mut *guard {
            Some(polling) => polling.wait(events, Until::Now).is_ok(),
            None => false,
        }
    }

    /// Tells the sources what happened, and wakes who waited for it. Returns how many were woken.
    pub(crate) fn dispatch(&self, events: &Events) -> usize {
        let mut woken = 0;
        let mut rest = events.iter().peekable();
        while rest.peek().is_some() {
            // Before the lock, so that it outlives the lock when something unwinds.
            let mut batch = WakeBatch::new();
            let mut queued = Vec::new();
            let sources = self.sources.lock();
            // Each event wakes two at most.
            while batch.len() + 2 <= WakeBatch::CAPACITY {
                let Some(event) = rest.next() else { break };
                let Some(shared) = sources.registry.find(event.token()) else {
                    continue;
                };
                let report = report_of(event);
                if is_special(event) {
                    // Before the report, whose edge carries it.
                    shared.is_special.store(true, Relaxed);
                }
                shared.word.report(report);
                take_woken(shared, report, &mut batch);
                if report.read && shared.waiters.queue().is_some() {
                    queued.push(Arc::clone(shared));
                }
            }
            drop(sources);
            woken += batch.len();
            // CLAIM: [hub.recorded] a waker that panics does not end the loop.
            absorb(|| batch.wake_all());
            for shared in queued {
                absorb(|| woken += shared.waiters.tell_next());
            }
        }
        woken
    }

    /// Calls the owner back if it sleeps, and keeps it from sleeping if it does not.
    pub(crate) fn unpark(&self) {
        if self.notify.notify() == OnNotify::Kick {
            // An eventfd's or a pipe's write that can fail for no reason but being full, which mio
            // handles; after a close nobody sleeps.
            let _ = self.waker.wake();
        }
    }

    /// How many sockets were made where this is current, and live.
    pub(crate) fn len(&self) -> usize {
        self.made.load(Relaxed)
    }

    /// How many sources are registered.
    pub(crate) fn registered(&self) -> usize {
        self.sources.lock().registry.len()
    }

    /// The reactor goes: nobody reports any more, and everybody who waits is told.
    pub(crate) fn close(&self) {
        let polling = self.polling.lock().take();
        drop(polling);
        let mut sources = self.sources.lock();
        sources.is_closed = true;
        let left = sources.registry.drain();
        drop(sources);
        for shared in left {
            shared.word.leave();
            let mut batch = WakeBatch::new();
            take_woken(&shared, Report::BOTH, &mut batch);
            absorb(|| batch.wake_all());
            absorb(|| shared.waiters.tell_all());
        }
    }
}

impl Polling {
    fn wait(&mut self, events: &mut Events, until: Until) -> io::Result<()> {
        loop {
            let timeout = self.timeout(until);
            match self.poll.poll(events, timeout) {
                // A signal: the wait goes on, as long as is left of it.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => {
                    if events.iter().any(|event| event.token() == ALARM) {
                        self.alarm.rang();
                    }
                    return result;
                }
            }
        }
    }

    /// What the poll is told. It rounds up to milliseconds by itself.
    fn timeout(&mut self, until: Until) -> Option<Duration> {
        match (until, until.limit(time::now)) {
            (Until::At(deadline), Some(left)) => {
                // A timer that refuses costs up to a millisecond; a poll that is not asked for
                // want of it would cost the sockets.
                self.alarm.wait(deadline, left).unwrap_or(Some(left))
            }
            (_, limit) => limit,
        }
    }
}

/// What of a stream is worth knowing.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) const STREAM: Interest = Interest::READABLE
    .add(Interest::WRITABLE)
    .add(Interest::PRIORITY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) const STREAM: Interest = Interest::READABLE.add(Interest::WRITABLE);

/// Whether a short count means that there is no more for now, and more would be reported: epoll has
/// an edge for each arrival.
#[cfg(any(target_os = "linux", target_os = "android"))]
const SHORT_IS_DRY: bool = true;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const SHORT_IS_DRY: bool = false;

/// Whether a short count may hide something: the end that came with the last bytes, an error, an
/// urgent byte, at which a read stops although more is there.
fn is_special(event: &mio::event::Event) -> bool {
    event.is_read_closed() || event.is_write_closed() || event.is_error() || event.is_priority()
}

/// Which halves an event concerns. An error alone concerns both: a filter by interest would leave a
/// writer to a closed pipe waiting.
fn report_of(event: &mio::event::Event) -> Report {
    let is_error = event.is_error();
    Report {
        read: event.is_readable() || event.is_read_closed() || is_error,
        write: event.is_writable() || event.is_write_closed() || is_error,
    }
}

/// Takes the waiters that a report concerns. There is room for two.
fn take_woken(shared: &Shared, report: Report, batch: &mut WakeBatch) {
    let halves = [(report.read, Half::Read), (report.write, Half::Write)];
    for (_, half) in halves.into_iter().filter(|(concerned, _)| *concerned) {
        if let Some(waker) = shared.waiters.take(half) {
            let pushed = batch.push(waker);
            debug_assert!(
                pushed.is_ok(),
                "hub.outside: a waker was dropped under the lock"
            );
        }
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("registered", &self.registered())
            .finish_non_exhaustive()
    }
}

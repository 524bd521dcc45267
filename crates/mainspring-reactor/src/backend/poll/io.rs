//! A source and its registration: try, wait, try again.
//!
//! # Invariants
//!
//! - **poll-io.window** — between a call that ran dry and the wait there is a registration and
//!   another look, so that no event falls between them.
//! - **poll-io.watched** — nobody waits for a source that no poll has: who would, finds one first,
//!   this thread's or else that of the thread that made it. What came between the call that ran dry
//!   and the registration, the registration reports.
//! - **poll-io.end** — when no reactor is left that would take the source, a call that runs dry
//!   returns its one error: nobody waits, nobody spins.
//! - **poll-io.explicit** — a source is deregistered before it is closed or handed out.

use super::Hub;
use super::attach::Attach;
use super::hub::Shared;
use super::readiness::{Half, OnClear};
use super::waiters::Waiters;
use crate::driver;
use crate::error::ReactorError;
use mainspring_core::budget;
use mainspring_core::sync::Mutex;
use mainspring_core::wait::{self, WaitKind};
use mio::{Interest, Token};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What Linux moves in one call at most.
const CALL_BYTES_MAX: usize = 0x7fff_f000;

/// A source of the operating system, and the poll that reports on it.
pub(crate) struct Io<S: Attach> {
    /// `None` only after `into_source`.
    source: Option<S>,
    interest: Interest,
    shared: Arc<Shared>,
    /// That of the thread that made the source.
    maker: Arc<Hub>,
    /// Who reports, or did until it closed.
    watch: Mutex<Option<Watch>>,
}

/// A registration.
struct Watch {
    hub: Arc<Hub>,
    token: Token,
}

impl<S: Attach> Io<S> {
    /// Where `maker` is current.
    pub(crate) fn new(
        mut source: S,
        interest: Interest,
        waiters: Waiters,
        maker: Arc<Hub>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(waiters));
        maker.enrol()?;
        let attached = source.attach_at_once(&maker, interest, &shared);
        let token = attached.as_ref().ok().copied().flatten();
        let watch = token.map(|token| Watch {
            hub: Arc::clone(&maker),
            token,
        });
        let io = Self {
            source: Some(source),
            interest,
            shared,
            maker,
            watch: Mutex::new(watch),
        };
        attached.map(|_| io)
    }

    /// Has a poll report, if none does. Whoever goes on to wait looks at the word again.
    pub(crate) fn watch(&self) -> io::Result<()> {
        if self.shared.word.snapshot().is_loose() {
            return self.find_watch();
        }
        Ok(())
    }

    #[cold]
    fn find_watch(&self) -> io::Result<()> {
        let mut watch = self.watch.lock();
        if !self.shared.word.snapshot().is_loose() {
            // Somebody else has found one.
            return Ok(());
        }
        // The poll that it names has closed.
        let closed = watch.take();
        // CLAIM: [poll-io.watched]
        let here = match driver::current() {
            Some(driver::Hub::Poll(here)) => Some(here),
            _ => None,
        };
        for hub in here.into_iter().chain([Arc::clone(&self.maker)]) {
            let attached = self.source().attach(&hub, self.interest, &self.shared)?;
            if let Some(token) = attached {
                *watch = Some(Watch { hub, token });
                return Ok(());
            }
        }
        // CLAIM: [poll-io.end]
        *watch = closed;
        Err(ReactorError::Gone.into_io())
    }

    /// The source.
    pub(crate) fn source(&self) -> &S {
        self.source
            .as_ref()
            .expect("the source leaves with the registration")
    }

    /// The word and the waiters.
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Deregisters, and hands the source out.
    pub(crate) fn into_source(mut self) -> S {
        let mut source = self
            .source
            .take()
            .expect("the source leaves with the registration");
        self.detach(&mut source);
        source
    }

    fn detach(&self, source: &mut S) {
        let watch = self.watch.lock().take();
        if let Some(Watch { hub, token }) = watch {
            source.detach(&hub, token);
        }
        self.maker.leave();
    }

    /// Makes `call`, without waiting; what is known about the half is kept up to date.
    pub(crate) fn try_io<R>(
        &self,
        half: Half,
        call: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        self.try_until_dry(half, call, |_| false)
    }

    /// As `try_io`, for a call that moves up to `room` bytes: fewer, and there is no more for now.
    pub(crate) fn try_bytes(
        &self,
        half: Half,
        room: usize,
        call: impl FnMut(&S) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let room = room.min(CALL_BYTES_MAX);
        self.try_until_dry(half, call, |count| (1..room).contains(count))
    }

    fn try_until_dry<R>(
        &self,
        half: Half,
        mut call: impl FnMut(&S) -> io::Result<R>,
        is_dry: impl Fn(&R) -> bool,
    ) -> io::Result<R> {
        loop {
            let seen = self.shared.word.snapshot();
            if !seen.is_ready(half) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match call(self.source()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match self.shared.word.clear(seen, half) {
                        OnClear::Retry => {}
                        OnClear::Wait | OnClear::Loose => return Err(error),
                    }
                }
                Ok(result) => {
                    if is_dry(&result) {
                        self.shared.ran_short(seen, half);
                    }
                    return Ok(result);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes `call` as soon as it does not run dry. For sources with one waiter a half.
    pub(crate) fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        half: Half,
        kind: WaitKind,
        mut call: impl FnMut(&S) -> io::Result<R>,
    ) -> Poll<io::Result<R>>
    where
        S: Named,
    {
        self.poll_until(cx, half, kind, || self.try_io(half, &mut call))
    }

    /// As `poll_io`, for a call that moves up to `room` bytes.
    pub(crate) fn poll_bytes(
        &self,
        cx: &mut Context<'_>,
        half: Half,
        room: usize,
        mut call: impl FnMut(&S) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>>
    where
        S: Named,
    {
        let kind = match half {
            Half::Read => WaitKind::Read,
            Half::Write => WaitKind::Write,
        };
        self.poll_until(cx, half, kind, || self.try_bytes(half, room, &mut call))
    }

    fn poll_until<R>(
        &self,
        cx: &mut Context<'_>,
        half: Half,
        kind: WaitKind,
        mut attempt: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>>
    where
        S: Named,
    {
        let unit = ready!(budget::poll_proceed(cx));
        loop {
            match attempt() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    unit.spend();
                    return Poll::Ready(result);
                }
            }
            if self.shared.word.snapshot().is_loose() {
                match self.find_watch() {
                    Ok(()) => continue,
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            self.shared.waiters.register(half, cx.waker());
            // CLAIM: [poll-io.window] the second look.
            if !self.shared.word.snapshot().is_ready(half) {
                wait::note(kind, self.source().number());
                return Poll::Pending;
            }
        }
    }

    /// Waits until a call on `half` may get somewhere.
    pub(crate) fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        half: Half,
        kind: WaitKind,
    ) -> Poll<io::Result<()>>
    where
        S: Named,
    {
        self.poll_io(cx, half, kind, |_| {
            let known = self.shared.word.snapshot();
            // CLAIM: [poll-io.watched] or a loop of `readable` and `try_read` would spin.
            (known.is_ready(half) && !known.is_loose())
                .then_some(())
                .ok_or_else(|| io::ErrorKind::WouldBlock.into())
        })
    }
}

/// A source with a number that a person can find in the system's own lists.
pub(crate) trait Named {
    /// The descriptor or socket.
    fn number(&self) -> u64;
}

#[cfg(unix)]
impl<S: std::os::fd::AsRawFd> Named for S {
    fn number(&self) -> u64 {
        u64::try_from(self.as_raw_fd()).unwrap_or(0)
    }
}

#[cfg(windows)]
impl<S: std::os::windows::io::AsRawSocket> Named for S {
    fn number(&self) -> u64 {
        self.as_raw_socket() as u64
    }
}

impl<S: Attach> Drop for Io<S> {
    fn drop(&mut self) {
        if let Some(mut source) = self.source.take() {
            // CLAIM: [poll-io.explicit] then `source` is dropped, which closes it.
            self.detach(&mut source);
        }
    }
}

impl<S: Attach + fmt::Debug> fmt::Debug for Io<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io")
            .field("source", &self.source)
            .field("known", &self.shared.word)
            .finish_non_exhaustive()
    }
}

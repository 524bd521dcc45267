//! A TCP socket that accepts connections.
//!
//! # Invariants
//!
//! - **accept.pinned** — the waiter inside [`Accept`] is pinned structurally.
//! - **accept.chain** — while the listener is known to be ready and somebody waits, one waiter has
//!   been told, or is trying: who accepts one connection, or gives up for a while, tells the next.
//!
//! # Rejected
//!
//! Waking every waiter for each event: of a hundred accepting tasks, ninety-nine would run for
//! nothing. Returning EMFILE at once: a loop around `accept` would spin, and starve the tasks that
//! are about to close something.

use super::accept_error::OnAcceptError;
use super::addr::inet;
use super::into_std::IntoStdListener;
use super::stream_core::Mode;
use super::tcp_socket::TcpSocket;
use super::tcp_stream::TcpStream;
use crate::backend::poll::io::Named;
use crate::backend::poll::waiters::Waiters;
use crate::backend::poll::{Half, Io};
use crate::backend::{Backend, uring};
use crate::background;
use crate::driver::Hub;
use crate::error::while_doing;
use mainspring_core::payload::absorb;
use mainspring_core::time::{self, Sleep};
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::{From, Waiter, Why};
use mainspring_core::{CancelSafe, WaitList, budget};
use mio::Interest;
use socket2::{SockRef, Socket};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::iter;
use std::net::{self, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// How long an accept waits for descriptors to come free: at first, and at most.
const BACK_OFF_MIN: Duration = Duration::from_millis(1);
const BACK_OFF_MAX: Duration = Duration::from_secs(1);

/// How many connections may wait for an accept: a burst above it costs each client a second.
const BACKLOG: u32 = 1024;

#[cfg(unix)]
const REUSES_ADDRESS: bool = true;
/// Here the option means that an address may be taken from somebody.
#[cfg(not(unix))]
const REUSES_ADDRESS: bool = false;

/// A TCP socket that accepts connections.
///
/// Any number of tasks may call [`accept`](Self::accept) at once; each connection goes to one of
/// them, and one event wakes one task.
///
/// ```
/// use mainspring_reactor::net::TcpListener;
///
/// async fn serve() -> std::io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap())?;
///     loop {
///         let (mut stream, peer) = listener.accept().await?;
///         stream.write_all(format!("hello, {peer}\n").as_bytes()).await?;
///     }
/// }
/// ```
#[derive(Debug)]
pub struct TcpListener {
    source: Source,
}

/// Who serves the listener.
#[derive(Debug)]
enum Source {
    Poll(Io<mio::net::TcpListener>),
    Ring(uring::Listener),
}

/// What was accepted.
type Accepted = (Socket, SocketAddr, Mode);

impl TcpListener {
    /// Listens on `address`, as servers do: on Unix, an address that an old connection still holds
    /// may be bound. There is room for 1,024 connections that nobody has accepted yet, or as many
    /// as the system allows. [`TcpSocket`] is for other options.
    ///
    /// # Errors
    ///
    /// What the system says, with the address.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::listen_on(address)
            .map_err(|error| while_doing(format_args!("listen on {address}"), error))
    }

    fn listen_on(address: SocketAddr) -> io::Result<Self> {
        let socket = TcpSocket::for_address(address)?;
        socket.set_reuse_addr(REUSES_ADDRESS)?;
        socket.bind_to(address)?;
        socket.listen(BACKLOG)
    }

    /// Takes over a listener of the standard library's, in whichever mode it is.
    ///
    /// # Errors
    ///
    /// What the system says to changing its mode, or the reactor to the registration.
    pub fn from_std(listener: net::TcpListener) -> io::Result<Self> {
        Self::new(listener.into(), Mode::Unknown)
    }

    /// Gives the listener back to the standard library, in blocking mode, with the connections that
    /// had come. Waits until nothing of it is under way in the system, which is a moment.
    ///
    /// # Cancel safety
    ///
    /// *Not restartable*: the listener is closed, and connections that had come are too.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub async fn into_std(self) -> io::Result<IntoStdListener> {
        let (listener, unaccepted) = match self.source {
            Source::Poll(io) => {
                let listener = net::TcpListener::from(io.into_source());
                listener.set_nonblocking(false)?;
                (listener, Vec::new())
            }
            Source::Ring(listener) => {
                poll_fn(|cx| listener.poll_settled(cx)).await;
                let came = iter::from_fn(|| listener.take_unaccepted());
                let unaccepted = came.map(net::TcpStream::from).collect();
                // The kernel may hold a reference for a moment longer: a second descriptor.
                (listener.socket().try_clone()?.into(), unaccepted)
            }
        };
        Ok(IntoStdListener {
            listener,
            unaccepted,
        })
    }

    pub(super) fn new(socket: Socket, mode: Mode) -> io::Result<Self> {
        let source = match background::current()? {
            Hub::Poll(hub) => {
                if mode != Mode::NonBlocking {
                    socket.set_nonblocking(true)?;
                }
                let listener = mio::net::TcpListener::from_std(socket.into());
                Source::Poll(Io::new(listener, Interest::READABLE, Waiters::many(), hub)?)
            }
            Hub::Ring(hub) => {
                if mode != Mode::Blocking {
                    socket.set_nonblocking(false)?;
                }
                Source::Ring(uring::Listener::new(socket, hub)?)
            }
        };
        Ok(Self { source })
    }

    pub(super) fn socket(&self) -> SockRef<'_> {
        match &self.source {
            Source::Poll(io) => SockRef::from(io.source()),
            Source::Ring(listener) => SockRef::from(listener.socket()),
        }
    }

    /// Who waits for a connection.
    fn queue(&self) -> &WaitList {
        match &self.source {
            Source::Poll(io) => {
                let queue = io.shared().waiters.queue();
                queue.expect("a listener has a queue")
            }
            Source::Ring(listener) => listener.queue(),
        }
    }

    /// Waits for a connection.
    ///
    /// Connections that are over before they were accepted are passed over. When the process or the
    /// system has no descriptor or no memory left, the call waits, up to a second at a time, and
    /// goes on when there is some.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped before it is ready it has accepted nothing. It loses its place among the
    /// tasks that wait. Forgotten instead of dropped (`mem::forget`), it keeps its place for ever,
    /// and a wake that it is given goes to nobody.
    ///
    /// # Errors
    ///
    /// What the system says to the call, or to the registration of the listener.
    /// [`ReactorError::Gone`](crate::ReactorError::Gone) instead of waiting, if no reactor is left
    /// that would wait for it.
    pub fn accept(&self) -> Accept<'_> {
        Accept {
            listener: self,
            waiter: Waiter::new(self.queue(), ()),
            waits: false,
            pause: None,
            pause_next: BACK_OFF_MIN,
            lost: 0,
        }
    }

    /// The address that it listens on.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        inet(self.socket().local_addr())
    }

    /// How many hops a packet may take.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn ttl(&self) -> io::Result<u32> {
        self.socket().ttl_v4()
    }

    /// Sets how many hops a packet may take.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.socket().set_ttl_v4(ttl)
    }

    /// Takes the error that the system holds for the socket, if there is one.
    ///
    /// # Errors
    ///
    /// What the system says to the question.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket().take_error()
    }

    /// Which backend serves it.
    #[doc(hidden)]
    pub fn backend(&self) -> Backend {
        match self.source {
            Source::Poll(_) => Backend::Poll,
            Source::Ring(_) => Backend::Uring,
        }
    }

    fn try_accept(&self) -> io::Result<Accepted> {
        match &self.source {
            Source::Poll(io) => {
                let (stream, peer) = io.try_io(Half::Read, |listener| listener.accept())?;
                let socket = Socket::from(net::TcpStream::from(stream));
                Ok((socket, peer, Mode::NonBlocking))
            }
            Source::Ring(listener) => loop {
                let socket = listener.try_accept()?;
                // The kernel keeps one address for all that one accept brings. A connection that
                // has none any more is over.
                if let Ok(peer) = inet(socket.peer_addr()) {
                    return Ok((socket, peer, Mode::Blocking));
                }
            },
        }
    }

    /// Whether an accept may get somewhere, or has to report that the reactor has gone.
    fn is_ready(&self) -> bool {
        match &self.source {
            Source::Poll(io) => io.shared().word.snapshot().is_ready(Half::Read),
            Source::Ring(listener) => listener.is_ready(),
        }
    }

    /// Somebody is about to wait.
    fn watch(&self) -> io::Result<()> {
        match &self.source {
            Source::Poll(io) => io.watch(),
            // The attempt has begun an operation, or failed.
            Source::Ring(_) => Ok(()),
        }
    }

    /// Tells the next waiter that there may be more.
    fn tell_next(&self) {
        // Its waker is somebody else's: what that panics with is no affair of whoever tells it, who
        // may hold a connection.
        absorb(|| {
            self.queue().wake_one(From::Oldest);
        });
    }

    fn number(&self) -> u64 {
        match &self.source {
            Source::Poll(io) => io.source().number(),
            Source::Ring(listener) => listener.socket().number(),
        }
    }
}

/// The future of [`TcpListener::accept`].
///
/// # Cancel safety
///
/// *Safe*: dropped before it is ready it has accepted nothing. It loses its place among the tasks
/// that wait.
#[must_use = "futures do nothing unless polled"]
pub struct Accept<'a> {
    listener: &'a TcpListener,
    waiter: Waiter<&'a WaitList>,
    /// The waiter is in the queue, or has been told since it was last polled.
    waits: bool,
    /// Until when descriptors are short.
    pause: Option<Pin<Box<Sleep>>>,
    pause_next: Duration,
    /// Connections that were over before they were accepted, one after the other.
    lost: u32,
}

impl CancelSafe for Accept<'_> {
    const KEEPS_PLACE: bool = false;
}

/// The parts of a pinned [`Accept`].
struct Fields<'p, 'a> {
    listener: &'a TcpListener,
    waiter: Pin<&'p mut Waiter<&'a WaitList>>,
    waits: &'p mut bool,
    pause: &'p mut Option<Pin<Box<Sleep>>>,
    pause_next: &'p mut Duration,
    lost: &'p mut u32,
}

impl<'a> Accept<'a> {
    fn fields(self: Pin<&mut Self>) -> Fields<'_, 'a> {
        // SAFETY: [accept.pinned] nothing is moved out of the reference; the waiter is only lent
        // pinned, and the others are `Unpin`.
        let this = unsafe { self.get_unchecked_mut() };
        Fields {
            listener: this.listener,
            // SAFETY: [accept.pinned] the waiter is a field of a pinned value, of which nothing but
            // this makes a reference, and there is no `Drop` that could move it.
            waiter: unsafe { Pin::new_unchecked(&mut this.waiter) },
            waits: &mut this.waits,
            pause: &mut this.pause,
            pause_next: &mut this.pause_next,
            lost: &mut this.lost,
        }
    }
}

impl Fields<'_, '_> {
    /// Accepts, or finds out what to wait for. `Pending` has a waiter or a pause behind it.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        loop {
            if *self.waits {
                // First of all: what it was told is its own from here on, and told on once.
                ready!(self.poll_told(cx));
                *self.waits = false;
            }
            if let Some(pause) = self.pause {
                ready!(pause.as_mut().poll(cx));
                *self.pause = None;
            }
            match self.listener.try_accept() {
                Ok((socket, peer, mode)) => {
                    self.pass_on();
                    let stream = TcpStream::new(socket, mode)
                        .map_err(|error| while_doing("register a connection", error));
                    return Poll::Ready(stream.map(|stream| (stream, peer)));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.listener.watch()?;
                    *self.waits = true;
                }
                Err(error) => match OnAcceptError::after(&error, self.lost) {
                    // The queue is shorter by one.
                    OnAcceptError::NextOne => {}
                    OnAcceptError::BackOff => {
                        self.pass_on();
                        *self.pause = Some(Box::pin(time::sleep(*self.pause_next)));
                        *self.pause_next = (*self.pause_next * 2).min(BACK_OFF_MAX);
                    }
                    OnAcceptError::Report => {
                        self.pass_on();
                        return Poll::Ready(Err(error));
                    }
                },
            }
        }
    }

    /// Waits in the queue until told to look.
    fn poll_told(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let listener = self.listener;
        self.waiter.as_mut().poll_wait(cx, |_, (), why| match why {
            Why::Offered(_) => Some(()),
            Why::First | Why::Again | Why::Released => listener.is_ready().then_some(()),
        })
    }

    /// Tells whoever is first in the queue, in which this one is not.
    fn pass_on(&mut self) {
        // CLAIM: [accept.chain] unless the listener is known to be dry, there may be more.
        if self.listener.is_ready() {
            self.listener.tell_next();
        }
    }
}

impl Future for Accept<'_> {
    type Output = io::Result<(TcpStream, SocketAddr)>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let unit = ready!(budget::poll_proceed(cx));
        let mut this = self.fields();
        let result = this.poll(cx);
        match &result {
            Poll::Ready(_) => unit.spend(),
            Poll::Pending => wait::note(WaitKind::Accept, this.listener.number()),
        }
        result
    }
}

impl fmt::Debug for Accept<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Accept")
            .field("listener", self.listener)
            .field("backs_off", &self.pause.is_some())
            .finish_non_exhaustive()
    }
}

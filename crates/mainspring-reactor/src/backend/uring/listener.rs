//! A listener on the ring: one multishot accept, and the connections that it has brought.
//!
//! # Invariants
//!
//! - **ring-listener.owns** — a connection that nobody has taken is the listener's: the next accept
//!   gets it, in the order of arrival; dropping the listener closes it.
//! - **ring-listener.bounded** — while nobody accepts, the operation is stopped: how many wait here
//!   is bounded by what was under way by then.
//! - **ring-listener.begun** — as `ring-stream.begun`, under the lock of the listener's state: the
//!   accept goes on in the ring in which it was begun, until it is stopped or its ring closes, and
//!   the next begins in the ring of whoever accepts then.

use super::Profile;
use super::carrier::Carrier;
use super::cell::{self, Kind};
use super::hub::{Gone, Hub};
use super::ring::Completed;
use super::stream;
use crate::error::ReactorError;
use io_uring::{cqueue, opcode, types::Fd};
use mainspring_core::payload::absorb;
use mainspring_core::sync::Mutex;
use mainspring_core::wait::{self, WaitKind};
use mainspring_core::wait_list::From;
use mainspring_core::{AtomicWaker, WaitList};
use socket2::Socket;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll};

/// How many connections may wait for a task that accepts, before the operation is stopped.
const CONNECTIONS_MAX: usize = 64;

/// What has come.
struct State {
    connections: VecDeque<OwnedFd>,
    /// Told once, after the connections that came before it.
    failed: Option<i32>,
    is_in_flight: bool,
    is_stopping: bool,
    carrier: Carrier<Hub>,
}

/// What the accepts refer to.
pub(crate) struct Shared {
    socket: Socket,
    /// The ring of the thread that made the listener.
    maker: Arc<Hub>,
    state: Mutex<State>,
    queue: WaitList,
    /// Who waits for the accept's end.
    settler: AtomicWaker,
}

/// A socket that listens.
pub(crate) struct Listener {
    shared: Arc<Shared>,
}

impl Listener {
    /// Takes a socket over, which has to be in blocking mode.
    pub(crate) fn new(socket: Socket, hub: Arc<Hub>) -> io::Result<Self> {
        if hub.is_closed() {
            return Err(ReactorError::Gone.into_io());
        }
        hub.enrol();
        Ok(Self {
            shared: Arc::new(Shared {
                socket,
                maker: hub,
                state: Mutex::new(State {
                    connections: VecDeque::new(),
                    failed: None,
                    is_in_flight: false,
                    is_stopping: false,
                    carrier: Carrier::new(),
                }),
                queue: WaitList::revocable(()),
                settler: AtomicWaker::new(),
            }),
        })
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.shared.socket
    }

    /// Who waits for a connection.
    pub(crate) fn queue(&self) -> &WaitList {
        &self.shared.queue
    }

    /// A connection that has come. `WouldBlock`: none has, and the kernel is asked for one.
    pub(crate) fn try_accept(&self) -> io::Result<Socket> {
        let mut state = self.shared.state.lock();
        if let Some(connection) = state.connections.pop_front() {
            return Ok(connection.into());
        }
        if let Some(code) = state.failed.take() {
            return Err(io::Error::from_raw_os_error(code));
        }
        if !state.is_in_flight {
            self.begin(&mut state)?;
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    fn begin(&self, state: &mut State) -> io::Result<()> {
        let shared = &self.shared;
        let fd = Fd(shared.socket.as_raw_fd());
        let entry = |_: &_| {
            opcode::AcceptMulti::new(fd)
                .flags(libc::SOCK_CLOEXEC)
                .build()
        };
        let carrier = &mut state.carrier;
        // SAFETY: [uring.memory] it points to nothing.
        let begun = unsafe { carrier.begin(&shared.maker, shared, Kind::Accept, entry) };
        begun.map_err(|Gone| ReactorError::Gone.into_io())?;
        // CLAIM: [ring-listener.begun]
        state.is_in_flight = true;
        Ok(())
    }

    /// Whether an accept would find something.
    pub(crate) fn is_ready(&self) -> bool {
        let state = self.shared.state.lock();
        !state.connections.is_empty() || state.failed.is_some() || !state.is_in_flight
    }

    /// Stops the accept, and waits until it has ended. What it has brought is there to be taken.
    pub(crate) fn poll_settled(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.shared.settler.register(cx.waker());
        self.stop();
        if self.shared.state.lock().is_in_flight {
            wait::note(WaitKind::Accept, 0);
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// A connection that has come, taken out.
    pub(crate) fn take_unaccepted(&self) -> Option<Socket> {
        let mut state = self.shared.state.lock();
        state.connections.pop_front().map(Socket::from)
    }

    fn stop(&self) {
        let mut state = self.shared.state.lock();
        if state.is_in_flight && !state.is_stopping {
            state.is_stopping = true;
            let shared = &self.shared;
            state.carrier.cancel(&shared.maker, shared, Kind::Accept);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
        self.shared.maker.leave();
    }
}

/// Of a ring that several threads serve: keeps the listener for a completion that is not the last
/// of its accept, from when it is copied out until it has been [delivered](complete).
pub(super) fn keep(completed: &Completed) {
    if is_kept(completed) {
        // SAFETY: [cell.lent, cell.kind] the last completion has not been copied out, and so its
        // reference has not been taken back.
        unsafe { cell::keep::<Shared>(completed.data) };
    }
}

fn is_kept(completed: &Completed) -> bool {
    cell::kind(completed.data) == Kind::Accept && cqueue::more(completed.flags)
}

/// Takes back what [`keep`] has kept.
///
/// # Safety
///
/// The completion went through `keep`, and this is done once.
unsafe fn let_go(completed: &Completed) -> Option<Arc<Shared>> {
    // SAFETY: [cell.batch] the caller's.
    is_kept(completed).then(|| unsafe { cell::take_back(completed.data) })
}

/// An accept has something from the kernel. Returns how many were woken for it.
///
/// # Safety
///
/// The number is a listener's, and its reference is still lent ([cell.lent]); of a ring that
/// several threads serve, the completion went through [`keep`].
pub(super) unsafe fn complete(hub: &Hub, completed: Completed) -> usize {
    let kept = match hub.profile() {
        Profile::Owned => None,
        // SAFETY: [cell.batch] the caller's.
        Profile::Shared => unsafe { let_go(&completed) },
    };
    // SAFETY: [cell.lent, cell.batch] the caller's.
    let shared = unsafe { cell::owner::<Shared>(completed.data) };
    let is_last = !cqueue::more(completed.flags);
    let mut state = shared.state.lock();
    match completed.result {
        fd if fd >= 0 => {
            // SAFETY: [ring-listener.owns] the kernel gives us this descriptor, once.
            state
                .connections
                .push_back(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        code if -code == libc::EAGAIN => stream::wait_again(&shared.socket),
        code if matches!(-code, libc::ECANCELED | libc::EINTR) => {}
        code => state.failed = Some(-code),
    }
    let stops = !is_last && !state.is_stopping && state.connections.len() >= CONNECTIONS_MAX;
    // CLAIM: [ring-listener.bounded]
    state.is_stopping |= stops;
    if is_last {
        state.is_in_flight = false;
        state.is_stopping = false;
    }
    drop(state);
    if stops {
        hub.cancel(completed.data);
    }
    let mut woken = 0;
    if hub.is_closed() {
        absorb(|| shared.queue.wake_all());
    } else {
        absorb(|| woken = usize::from(shared.queue.wake_one(From::Oldest)));
    }
    if is_last {
        if let Some(waker) = shared.settler.take() {
            absorb(|| waker.wake());
        }
        hub.ended();
        // SAFETY: [cell.lent] the last completion, by which the listener has left the state in
        // flight.
        let shared = unsafe { cell::take_back::<Shared>(completed.data) };
        absorb(|| drop(shared));
    }
    absorb(|| drop(kept));
    woken
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("socket", &self.shared.socket)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

//! A stream on the ring: the socket, its two directions, and the operations that they have in
//! flight.
//!
//! # Invariants
//!
//! - **ring-stream.owns** — an operation belongs to the socket: dropping a future leaves it in
//!   flight, and what it brings is the next call's.
//! - **ring-stream.waiter** — a waiter is registered before its direction is looked at for the last
//!   time, or before the operation begins that will wake it: no completion falls between.
//! - **ring-stream.begun** — a direction says that an operation is in flight exactly from the
//!   moment a hub has taken it until its last completion, both under the direction's lock. Which
//!   hub, its `carrier` says.
//! - **ring-stream.closing** — a stream that is dropped has its operations stopped; the descriptor
//!   closes with the last of them.
//! - **ring-stream.cut** — bytes that were handed over and are thrown away with the stream are no
//!   clean end: the other side gets a reset.
//! - **ring-stream.gone** — a stream outlives the rings that carried its operations: what they had
//!   not ended is begun again in the ring of whoever comes next. Where no ring takes it, a stream
//!   reads what has arrived, and what the system has; then it says so.
//!
//! # Rejected
//!
//! - *Core's `Relay` for what arrives*: it is bounded, and the kernel goes on for a while after it
//!   was asked to stop.
//! - *Having a receive wait first* where the last one left nothing: measured the same, better and
//!   worse by row. Under load the answer has come by the time the receive begins.
//! - *Receiving into the caller's slice*: the kernel would write into it after the future is gone,
//!   and the next call may bring another one. A request's copy costs less than the system call
//!   that it saves.

use super::Profile;
use super::carrier::Carrier;
use super::cell::{self, Kind};
use super::hub::{Gone, Hub};
use super::provided::{self, BUFFER_BYTES, Lent, Pool};
use super::read_half::{Body, OnRead, Piece, ReadHalf, Source};
use super::ring::Completed;
use super::side::{Carried, Side};
use super::write_half::{OnWrite, Span, WriteHalf};
use crate::backend::poll::Half;
use crate::buf::Storage;
use crate::error::ReactorError;
use io_uring::opcode;
use io_uring::squeue::Entry;
use io_uring::types::Fd;
use mainspring_core::payload::absorb;
use mainspring_core::sync::BriefGuard;
use socket2::Socket;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

mod owned;
mod read;
mod write;

pub(crate) use self::owned::{ReadOwnedState, WriteOwnedState};

/// What the operations of a stream refer to.
pub(crate) struct Shared {
    /// `None` only after it was taken out.
    socket: Option<Socket>,
    /// The ring of the thread that made the stream.
    maker: Arc<Hub>,
    read: Side<ReadHalf, Hub>,
    write: Side<WriteHalf, Hub>,
}

/// A direction, locked.
type Locked<'h, H> = BriefGuard<'h, Carried<H, Hub>>;

impl Shared {
    fn socket(&self) -> &Socket {
        // PANIC: it is taken by who alone refers to the stream, and drops it.
        self.socket
            .as_ref()
            .expect("the socket leaves with the stream")
    }

    fn fd(&self) -> RawFd {
        self.socket().as_raw_fd()
    }
}

/// A connected socket, or one that is about to be.
pub(crate) struct Stream {
    shared: Arc<Shared>,
}

impl Stream {
    /// Takes a socket over, which has to be in blocking mode: the kernel would not wait for
    /// another.
    pub(crate) fn new(socket: Socket, hub: Arc<Hub>) -> io::Result<Self> {
        if hub.is_closed() {
            return Err(ReactorError::Gone.into_io());
        }
        hub.enrol();
        Ok(Self {
            shared: Arc::new(Shared {
                socket: Some(socket),
                maker: hub,
                read: Side::new(ReadHalf::new()),
                write: Side::new(WriteHalf::new()),
            }),
        })
    }

    pub(crate) fn socket(&self) -> &Socket {
        self.shared.socket()
    }

    /// Takes the socket out, if the kernel and whoever serves the ring have let go of it.
    pub(crate) fn take_socket(&mut self) -> Option<Socket> {
        Arc::get_mut(&mut self.shared)?.socket.take()
    }

    fn fd(&self) -> Fd {
        Fd(self.shared.fd())
    }

    fn read(&self) -> Locked<'_, ReadHalf> {
        self.shared.read.lock()
    }

    /// The direction of writing. A send that its ring has left goes on first.
    fn write(&self) -> Locked<'_, WriteHalf> {
        let half = self.shared.write.lock();
        if half.is_left() {
            return self.take_up(half);
        }
        half
    }

    /// Begins an operation, in the ring that the carrier finds, with a reference to the stream.
    ///
    /// # Safety
    ///
    /// What the entry points to stays valid until its last completion ([uring.memory]).
    unsafe fn begin(
        &self,
        carrier: &mut Carrier<Hub>,
        kind: Kind,
        entry: impl Fn(&Hub) -> Entry,
    ) -> Result<(), Gone> {
        let shared = &self.shared;
        // SAFETY: [uring.memory] the caller's.
        unsafe { carrier.begin(&shared.maker, shared, kind, entry) }
    }

    /// Has the operations of a direction stopped.
    fn stop(&self, half: Half) {
        match half {
            Half::Read => {
                let mut half = self.read();
                if half.stop() {
                    self.cancel(&half.carrier, Kind::Read);
                }
            }
            Half::Write => {
                let mut half = self.write();
                if half.stop() {
                    self.cancel(&half.carrier, Kind::Write);
                }
            }
        }
    }

    /// Under the lock under which the operation was begun: its ring gets this later.
    fn cancel(&self, carrier: &Carrier<Hub>, kind: Kind) {
        carrier.cancel(&self.shared.maker, &self.shared, kind);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // CLAIM: [ring-stream.closing]
        self.stop(Half::Read);
        let mut half = self.shared.write.lock();
        let is_cut_off = half.is_sending();
        let (asks, unsent) = half.close();
        if asks {
            self.cancel(&half.carrier, Kind::Write);
        }
        drop(half);
        if is_cut_off {
            // CLAIM: [ring-stream.cut] if the system refuses, there is nothing better to do.
            let _ = self.socket().set_linger(Some(Duration::ZERO));
        }
        drop(unsent);
        self.shared.maker.leave();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // What nobody has read: its buffers are the pool's again.
        loop {
            let mut half = self.read.lock();
            let Some(piece) = half.pop() else { return };
            let owned = piece.let_go(half.carrier.ring(&self.maker).pool());
            drop(half);
            drop(owned);
        }
    }
}

impl Piece {
    /// Lets go of what has been read, or will never be, under the lock under which it was there:
    /// until then the carrier's pool is its buffer's ([carrier.one]). A user's value is left, to be
    /// dropped outside of it.
    #[must_use = "a user's value is dropped under no lock"]
    fn let_go(self, pool: &Pool) -> Option<Box<dyn Storage>> {
        match self.body {
            Body::Provided(buffer) => {
                pool.give_back(buffer);
                None
            }
            Body::Owned(storage) => Some(storage),
        }
    }
}

/// A direction of reading has something from the kernel. Returns who waits for it.
///
/// # Safety
///
/// The number is a stream's, and its reference is still lent ([cell.lent]).
pub(super) unsafe fn complete_read(hub: &Hub, completed: Completed) -> Option<Waker> {
    // SAFETY: [cell.lent] the caller's.
    let shared = unsafe { cell::owner::<Shared>(completed.data) };
    let mut half = shared.read.lock();
    debug_assert!(
        ptr::eq(Arc::as_ptr(half.carrier.ring(&shared.maker)), hub),
        "carrier.one: completed in another ring than it began in"
    );
    let owes = half.completed(completed);
    drop(half);
    let waker = owes.wakes.then(|| shared.read.take_waiter()).flatten();
    if let Some(buffer) = owes.unused {
        hub.pool().give_back(buffer);
    }
    if owes.starves {
        hub.pool().grow();
    }
    if owes.is_refused {
        wait_again(shared.socket());
    }
    if owes.stops {
        hub.cancel(completed.data);
    }
    if owes.is_last {
        hub.ended();
        // SAFETY: [cell.lent] the last completion, by which the half has left the state in flight.
        let shared = unsafe { cell::take_back::<Shared>(completed.data) };
        absorb(|| drop(shared));
    }
    waker
}

/// A direction of writing has something from the kernel. Returns who waits for it.
///
/// # Safety
///
/// As for `complete_read`.
pub(super) unsafe fn complete_write(hub: &Hub, completed: Completed) -> Option<Waker> {
    // SAFETY: [cell.lent] the caller's.
    let shared = unsafe { cell::owner::<Shared>(completed.data) };
    let mut done = completed;
    let mut garbage = Vec::new();
    let (mut wakes, mut shuts_down) = (false, false);
    let mut half = shared.write.lock();
    let is_last = loop {
        let owes = half.completed(done);
        garbage.extend(owes.garbage);
        wakes |= owes.wakes;
        shuts_down |= owes.shuts_down;
        if owes.is_refused {
            wait_again(shared.socket());
        }
        let Some(rest) = owes.rest else { break true };
        let entry = send(Fd(shared.fd()), rest).user_data(completed.data);
        // SAFETY: [uring.memory, write-half.kept] the memory is kept until the send has ended; the
        // number's reference has not been taken back and goes on with the rest.
        let begin = |ring: &Hub| unsafe { ring.begin(entry.clone()) };
        let begun = if half.is_awaited() {
            // In this ring, or where it is polled.
            begin(hub)
        } else {
            half.carrier.begin_in(&shared.maker, None, begin)
        };
        if begun.is_ok() {
            break false;
        }
        // CLAIM: [write-half.left] the ring has closed.
        if half.leave() {
            wakes = true;
            break true;
        }
        // Neither this nor what waits behind it will be sent.
        half.stop();
        done.result = -libc::ECANCELED;
    };
    drop(half);
    if shuts_down {
        // Nobody is there to be told; the reader will see how the connection is.
        let _ = shared.socket().shutdown(std::net::Shutdown::Write);
    }
    let waker = wakes.then(|| shared.write.take_waiter()).flatten();
    for buf in garbage {
        absorb(|| drop(buf));
    }
    // If another was begun, it has been counted once more by that.
    hub.ended();
    if is_last {
        // SAFETY: [cell.lent] the last completion, by which the half has left the state in flight.
        let shared = unsafe { cell::take_back::<Shared>(completed.data) };
        absorb(|| drop(shared));
    }
    waker
}

/// Puts a socket back into the mode in which the kernel waits for it. Whoever shares its
/// description has changed it, and operations would end at once, again and again.
pub(super) fn wait_again(socket: &Socket) {
    // If the system refuses, the next operation brings its own error.
    let _ = socket.set_nonblocking(false);
}

/// What the system moves in one operation at most.
const OPERATION_BYTES_MAX: usize = 0x7fff_f000;

/// A send of it, or of as much as one operation moves: the rest follows.
fn send(fd: Fd, span: Span) -> Entry {
    let bytes = span.bytes.min(OPERATION_BYTES_MAX) as u32;
    opcode::Send::new(fd, span.start, bytes)
        .flags(libc::MSG_WAITALL | libc::MSG_NOSIGNAL)
        .build()
}

/// What a call says whose reactor has gone.
fn gone() -> io::Error {
    ReactorError::Gone.into_io()
}

fn would_block(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// Makes a system call that does not wait, until no signal cuts it short.
fn call<R>(mut call: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("socket", &self.shared.socket)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

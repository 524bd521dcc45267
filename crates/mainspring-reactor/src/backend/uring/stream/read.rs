//! The calls in the direction of reading.

use super::{
    BUFFER_BYTES, Body, Kind, Lent, OnRead, Piece, Profile, ReadHalf, Shared, Source, Stream, call,
    discard, gone, opcode, provided, would_block,
};
use crate::backend::poll::Half;
use crate::buf::PooledBuf;
use mainspring_core::budget;
use mainspring_core::sync::MutexGuard;
use mainspring_core::wait::{self, WaitKind};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::task::{Context, Poll, ready};

/// What a read does with what it finds.
pub(super) trait Taker {
    type Output;
    /// Something has arrived: the first piece of the half has it, and is not empty. Returns a piece
    /// that has been read to its end.
    fn take(&mut self, shared: &Shared, half: &mut ReadHalf) -> (Self::Output, Option<Piece>);
    /// The other side writes no more.
    fn end(&mut self) -> Self::Output;
    /// Receives by a system call that does not wait: nothing is in flight, nothing has arrived.
    fn receive(&mut self, stream: &Stream) -> io::Result<Self::Output>;
}

/// Copies into a slice.
pub(super) struct Copy<'b>(pub(super) &'b mut [MaybeUninit<u8>]);

/// Copies, and leaves it there.
struct Peek<'b>(&'b mut [MaybeUninit<u8>]);

/// Takes the buffer itself.
struct Lend;

impl Piece {
    fn bytes<'p>(&'p self, shared: &'p Shared) -> &'p [u8] {
        let bytes = match &self.body {
            // SAFETY: [provided.once] the piece is the place where the number is, and the kernel
            // has written as many bytes.
            Body::Provided(buffer) => unsafe { shared.hub.pool().bytes(*buffer, self.end) },
            Body::Owned(storage) => storage.received(),
        };
        &bytes[self.start..self.end]
    }
}

/// Copies as much as there is room for, and says how much that was.
fn copy(from: &[u8], to: &mut [MaybeUninit<u8>]) -> usize {
    let count = from.len().min(to.len());
    for (to, from) in to.iter_mut().zip(&from[..count]) {
        to.write(*from);
    }
    count
}

impl Taker for Copy<'_> {
    type Output = usize;

    fn take(&mut self, shared: &Shared, half: &mut ReadHalf) -> (usize, Option<Piece>) {
        let Some(piece) = half.first_mut() else {
            return (0, None);
        };
        let count = copy(piece.bytes(shared), self.0);
        piece.start += count;
        let is_read = piece.start == piece.end;
        (count, is_read.then(|| half.pop()).flatten())
    }

    fn end(&mut self) -> usize {
        0
    }

    fn receive(&mut self, stream: &Stream) -> io::Result<usize> {
        call(|| stream.socket().recv_with_flags(self.0, libc::MSG_DONTWAIT))
    }
}

impl Taker for Peek<'_> {
    type Output = usize;

    fn take(&mut self, shared: &Shared, half: &mut ReadHalf) -> (usize, Option<Piece>) {
        let count = half
            .first_mut()
            .map_or(0, |piece| copy(piece.bytes(shared), self.0));
        (count, None)
    }

    fn end(&mut self) -> usize {
        0
    }

    fn receive(&mut self, stream: &Stream) -> io::Result<usize> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_PEEK;
        call(|| stream.socket().recv_with_flags(self.0, flags))
    }
}

impl Taker for Lend {
    type Output = PooledBuf;

    fn take(&mut self, shared: &Shared, half: &mut ReadHalf) -> (PooledBuf, Option<Piece>) {
        let Some(piece) = half.pop() else {
            return (self.end(), None);
        };
        let Body::Provided(buffer) = piece.body else {
            let bytes = piece.bytes(shared).to_vec();
            return (PooledBuf::heap(bytes, 0), Some(piece));
        };
        let pool = shared.hub.pool().clone();
        // A buffer's length fits.
        let (start, end) = (piece.start as u16, piece.end as u16);
        // SAFETY: [provided.once] the piece was the place, and is taken apart here.
        let lent = unsafe { Lent::new(pool, buffer, start, end) };
        (PooledBuf::lent(lent), None)
    }

    fn end(&mut self) -> PooledBuf {
        PooledBuf::heap(Vec::new(), 0)
    }

    fn receive(&mut self, stream: &Stream) -> io::Result<PooledBuf> {
        let mut bytes = Vec::with_capacity(BUFFER_BYTES);
        let room = bytes.spare_capacity_mut();
        let count = call(|| stream.socket().recv_with_flags(room, libc::MSG_DONTWAIT))?;
        // SAFETY: [ring-stream.owns] the system has written as many bytes.
        unsafe { bytes.set_len(count) };
        Ok(PooledBuf::heap(bytes, 0))
    }
}

impl Stream {
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll_take(cx, &mut Copy(buf))
    }

    pub(crate) fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.poll_take(cx, &mut Peek(buf))
    }

    /// Lends what has arrived. Nothing: the other side writes no more.
    pub(crate) fn poll_lend(&self, cx: &mut Context<'_>) -> Poll<io::Result<PooledBuf>> {
        self.poll_take(cx, &mut Lend)
    }

    pub(crate) fn try_read(&self, buf: &mut [MaybeUninit<u8>]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let mut taker = Copy(buf);
        match self.look_for(&mut taker) {
            Look::Found(result) => result,
            Look::Wait => Err(io::ErrorKind::WouldBlock.into()),
            // CLAIM: [read-half.no-overtaking]
            Look::Idle(half) => {
                drop(half);
                taker.receive(self)
            }
        }
    }

    /// Waits until a read would not.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let unit = ready!(budget::poll_proceed(cx));
        self.shared.read.register(cx.waker());
        let half = self.read();
        let result = if half.is_ready() {
            Ok(())
        } else if half.is_in_flight() {
            return self.pending_reader(half);
        } else if self.is_there(Half::Read)? {
            Ok(())
        } else {
            // Without a buffer a receive ends at once, although nothing is there.
            let begun = if self.needs_call(&half) {
                self.begin_polling(half)
            } else {
                self.begin_reading(half)
            };
            match begun {
                Ok(half) => return self.pending_reader(half),
                Err(_) => Err(gone()),
            }
        };
        unit.spend();
        Poll::Ready(result)
    }

    pub(super) fn poll_take<T: Taker>(
        &self,
        cx: &mut Context<'_>,
        taker: &mut T,
    ) -> Poll<io::Result<T::Output>> {
        let unit = ready!(budget::poll_proceed(cx));
        let mut is_registered = false;
        loop {
            let idle = match self.look_for(taker) {
                Look::Found(result) => {
                    unit.spend();
                    return Poll::Ready(result);
                }
                Look::Wait => None,
                Look::Idle(half) => Some(half),
            };
            if !is_registered {
                // CLAIM: [ring-stream.waiter] then a last look, or the operation.
                drop(idle);
                self.shared.read.register(cx.waker());
                is_registered = true;
                continue;
            }
            let Some(half) = idle else {
                wait::note(WaitKind::Read, self.number());
                return Poll::Pending;
            };
            match ready!(self.poll_idle(half, taker)) {
                Ok(Some(output)) => {
                    unit.spend();
                    return Poll::Ready(Ok(output));
                }
                Ok(None) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Has an idle half bring something: by an operation (`Pending`), or by a call if the reactor
    /// or its buffers are not there.
    fn poll_idle<T: Taker>(
        &self,
        half: MutexGuard<'_, ReadHalf>,
        taker: &mut T,
    ) -> Poll<io::Result<Option<T::Output>>> {
        if !self.needs_call(&half) && !self.shared.hub.is_closed() {
            return match self.begin_reading(half) {
                Ok(half) => self.pending_reader(half),
                // It has gone just now: once more, and differently.
                Err(_) => Poll::Ready(Ok(None)),
            };
        }
        // CLAIM: [read-half.no-overtaking] nobody but this reader begins one.
        // CLAIM: [ring-stream.gone] by a call, and then by saying so.
        drop(half);
        match taker.receive(self) {
            Err(error) if would_block(&error) => {}
            result => return Poll::Ready(result.map(Some)),
        }
        let half = self.read();
        if half.is_in_flight() || half.is_ready() {
            return Poll::Ready(Ok(None));
        }
        match self.begin_polling(half) {
            Ok(half) => self.pending_reader(half),
            Err(_) => Poll::Ready(Err(gone())),
        }
    }

    /// Whether the kernel would find no buffer, as it did the last time.
    fn needs_call(&self, half: &ReadHalf) -> bool {
        half.is_starved() && !self.shared.hub.pool().has_room()
    }

    fn pending_reader<R>(&self, half: MutexGuard<'_, ReadHalf>) -> Poll<R> {
        drop(half);
        wait::note(WaitKind::Read, self.number());
        Poll::Pending
    }

    /// What a read finds without waiting.
    pub(super) fn look_for<T: Taker>(&self, taker: &mut T) -> Look<'_, T::Output> {
        loop {
            let mut half = self.read();
            let found = match half.look() {
                OnRead::Wait => return Look::Wait,
                OnRead::Idle => return Look::Idle(half),
                OnRead::Failed(code) => Err(io::Error::from_raw_os_error(code)),
                OnRead::End => Ok(taker.end()),
                OnRead::Bytes
                    if half
                        .first_mut()
                        .is_none_or(|first| first.start == first.end) =>
                {
                    let empty = half.pop();
                    drop(half);
                    self.discard(empty);
                    continue;
                }
                OnRead::Bytes => {
                    let (output, read) = taker.take(&self.shared, &mut half);
                    drop(half);
                    self.discard(read);
                    Ok(output)
                }
            };
            return Look::Found(found);
        }
    }

    fn discard(&self, piece: Option<Piece>) {
        if let Some(piece) = piece {
            discard(&self.shared.hub, piece);
        }
    }

    /// Begins to receive into provided buffers: again and again where one thread owns the ring.
    fn begin_reading<'h>(
        &self,
        mut half: MutexGuard<'h, ReadHalf>,
    ) -> Result<MutexGuard<'h, ReadHalf>, super::Gone> {
        let entry = match self.shared.hub.profile() {
            Profile::Owned => opcode::RecvMulti::new(self.fd(), provided::GROUP).build(),
            Profile::Shared => {
                let room = BUFFER_BYTES as u32;
                opcode::Recv::new(self.fd(), std::ptr::null_mut(), room)
                    .buf_group(provided::GROUP)
                    .build()
                    .flags(io_uring::squeue::Flags::BUFFER_SELECT)
            }
        };
        // SAFETY: [uring.memory] it points to nothing: the kernel takes a buffer of the pool's.
        unsafe { self.begin(entry, Kind::Read) }?;
        // CLAIM: [ring-stream.begun] under the lock that the completion takes.
        half.begin(Source::Receive);
        Ok(half)
    }

    /// Begins to wait until there is something, which the caller receives by itself.
    fn begin_polling<'h>(
        &self,
        mut half: MutexGuard<'h, ReadHalf>,
    ) -> Result<MutexGuard<'h, ReadHalf>, super::Gone> {
        let entry = opcode::PollAdd::new(self.fd(), libc::POLLIN as u32).build();
        // SAFETY: [uring.memory] it points to nothing.
        unsafe { self.begin(entry, Kind::Read) }?;
        half.begin(Source::Poll);
        Ok(half)
    }

    /// Whether a call in that direction would not wait, as the system has it.
    pub(super) fn is_there(&self, half: Half) -> io::Result<bool> {
        let mut asked = libc::pollfd {
            fd: self.shared.socket.as_raw_fd(),
            events: match half {
                Half::Read => libc::POLLIN,
                Half::Write => libc::POLLOUT,
            },
            revents: 0,
        };
        call(|| {
            // SAFETY: [ring-stream.owns] one entry, valid during the call.
            match unsafe { libc::poll(&mut asked, 1, 0) } {
                count if count < 0 => Err(io::Error::last_os_error()),
                count => Ok(count > 0),
            }
        })
    }

    pub(super) fn number(&self) -> u64 {
        u64::try_from(self.shared.socket.as_raw_fd()).unwrap_or(0)
    }

    /// Waits until nothing is in flight any more, after what is has been stopped. Bytes that are on
    /// their way out are waited for.
    pub(crate) fn poll_settled(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.shared.read.register(cx.waker());
        self.shared.write.register(cx.waker());
        self.stop(Half::Read);
        let is_sending = self.write().is_sending();
        if !is_sending {
            self.stop(Half::Write);
        }
        if self.read().is_in_flight() || self.write().is_in_flight() {
            wait::note(WaitKind::Read, self.number());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// What has arrived, taken out; or the error that came behind it, which nobody would tell
    /// again.
    pub(crate) fn take_unread(&self) -> io::Result<Vec<u8>> {
        let mut unread = Vec::new();
        loop {
            let piece = self.read().pop();
            let Some(piece) = piece else { break };
            unread.extend_from_slice(piece.bytes(&self.shared));
            discard(&self.shared.hub, piece);
        }
        match self.read().look() {
            OnRead::Failed(code) => Err(io::Error::from_raw_os_error(code)),
            _ => Ok(unread),
        }
    }
}

/// What a read finds without waiting.
pub(super) enum Look<'h, T> {
    /// This.
    Found(io::Result<T>),
    /// Nothing, and something in flight.
    Wait,
    /// Nothing, and nothing in flight.
    Idle(MutexGuard<'h, ReadHalf>),
}

//! The calls in the direction of reading.

use super::{
    Arc, BUFFER_BYTES, Body, Carried, Gone, Hub, Kind, Lent, Locked, OnRead, OnWrite, Piece, Pool,
    Profile, ReadHalf, Source, Stream, call, gone, opcode, provided, would_block,
};
use crate::backend::poll::Half;
use crate::buf::{PooledBuf, Storage};
use mainspring_core::budget;
use mainspring_core::wait::{self, WaitKind};
use std::io;
use std::mem::MaybeUninit;
use std::slice;
use std::task::{Context, Poll, ready};

/// How a peek asks the system.
const PEEK: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_PEEK;

/// What a read does with what it finds.
pub(super) trait Taker {
    type Output;
    /// Something has arrived: the first piece of the half has it, and is not empty; its buffer is
    /// of this pool. Returns a user's value that has been read to its end.
    fn take(&mut self, stream: &Stream, half: &mut ReadHalf, pool: &Arc<Pool>) -> Taken<Self>;
    /// The other side writes no more.
    fn end(&mut self) -> Self::Output;
    /// Receives by a system call that does not wait: nothing is in flight, nothing has arrived.
    fn receive(&mut self, stream: &Stream) -> io::Result<Self::Output>;
}

/// What was found, and what is dropped under no lock.
type Taken<T> = (<T as Taker>::Output, Option<Box<dyn Storage>>);

/// Copies into a slice.
pub(super) struct Copy<'b>(pub(super) &'b mut [MaybeUninit<u8>]);

/// Copies, and leaves it there.
struct Peek<'b>(&'b mut [MaybeUninit<u8>]);

/// Takes the buffer itself.
struct Lend;

impl Piece {
    fn bytes<'p>(&'p self, pool: &'p Pool) -> &'p [u8] {
        let bytes = match &self.body {
            // SAFETY: [provided.once] the piece is the place where the number is, and the kernel
            // has written as many bytes.
            Body::Provided(buffer) => unsafe { pool.bytes(*buffer, self.end) },
            // SAFETY: [read-half.order] the kernel has written as many bytes.
            Body::Owned(storage) => unsafe { storage.received(self.end) },
        };
        &bytes[self.start..]
    }
}

/// Copies as much as there is room for, and says how much that was.
fn copy(from: &[u8], to: &mut [MaybeUninit<u8>]) -> usize {
    let count = from.len().min(to.len());
    let start = from.as_ptr().cast::<MaybeUninit<u8>>();
    // SAFETY: [ring-stream.owns] initialised bytes are bytes that may not be, and are only read.
    let from = unsafe { slice::from_raw_parts(start, count) };
    to[..count].copy_from_slice(from);
    count
}

impl Taker for Copy<'_> {
    type Output = usize;

    fn take(&mut self, _: &Stream, half: &mut ReadHalf, pool: &Arc<Pool>) -> Taken<Self> {
        let mut filled = 0;
        // As much as there is: what a call of the system's would bring at once comes in pieces.
        while let Some(piece) = half.first_mut().filter(|_| filled < self.0.len()) {
            let count = copy(piece.bytes(pool), &mut self.0[filled..]);
            filled += count;
            piece.start += count;
            if piece.start < piece.end {
                break;
            }
            let owned = half.pop().and_then(|piece| piece.let_go(pool));
            if owned.is_some() {
                return (filled, owned);
            }
        }
        (filled, None)
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

    fn take(&mut self, stream: &Stream, half: &mut ReadHalf, pool: &Arc<Pool>) -> Taken<Self> {
        let mut filled = 0;
        for piece in half.pieces() {
            filled += copy(piece.bytes(pool), &mut self.0[filled..]);
        }
        let room = &mut self.0[filled..];
        // CLAIM: [read-half.no-overtaking] with nothing in flight the rest is the system's.
        if !room.is_empty() && !half.is_in_flight() {
            // If that fails, the next read tells.
            filled += call(|| stream.socket().recv_with_flags(room, PEEK)).unwrap_or(0);
        }
        (filled, None)
    }

    fn end(&mut self) -> usize {
        0
    }

    fn receive(&mut self, stream: &Stream) -> io::Result<usize> {
        call(|| stream.socket().recv_with_flags(self.0, PEEK))
    }
}

impl Taker for Lend {
    type Output = PooledBuf;

    fn take(&mut self, _: &Stream, half: &mut ReadHalf, pool: &Arc<Pool>) -> Taken<Self> {
        let Some(piece) = half.pop() else {
            return (self.end(), None);
        };
        let Body::Provided(buffer) = piece.body else {
            let bytes = piece.bytes(pool).to_vec();
            return (PooledBuf::heap(bytes, 0), piece.let_go(pool));
        };
        let pool = Arc::clone(pool);
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
            Look::Wait(_) => Err(io::ErrorKind::WouldBlock.into()),
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
        let mut half = self.read();
        let result = if half.is_ready() {
            Ok(())
        } else if half.is_in_flight() {
            self.call_after(&mut half);
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
                Look::Wait(mut half) if is_registered => {
                    self.call_after(&mut half);
                    return self.pending_reader(half);
                }
                Look::Idle(half) if is_registered => half,
                Look::Wait(half) | Look::Idle(half) => {
                    // CLAIM: [ring-stream.waiter] then a last look, or the operation.
                    drop(half);
                    self.shared.read.register(cx.waker());
                    is_registered = true;
                    continue;
                }
            };
            match ready!(self.poll_idle(idle, taker)) {
                Ok(Some(output)) => {
                    unit.spend();
                    return Poll::Ready(Ok(output));
                }
                Ok(None) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// What receives on and on in the ring of a thread that the reader has left, is stopped: the
    /// next one begins here.
    #[inline]
    pub(super) fn call_after(&self, half: &mut Carried<ReadHalf, Hub>) {
        let maker = &self.shared.maker;
        let goes_on = half.carrier.ring(maker).profile() == Profile::Owned && half.goes_on();
        // CLAIM: [carrier.one]
        if goes_on && half.carrier.is_elsewhere(maker) && half.stop() {
            self.cancel(&half.carrier, Kind::Read);
        }
    }

    /// Has an idle half bring something: by an operation (`Pending`), or by a call if a reactor or
    /// its buffers are not there.
    fn poll_idle<T: Taker>(
        &self,
        half: Locked<'_, ReadHalf>,
        taker: &mut T,
    ) -> Poll<io::Result<Option<T::Output>>> {
        if self.needs_call(&half) {
            drop(half);
        } else if let Ok(half) = self.begin_reading(half) {
            return self.pending_reader(half);
        }
        // CLAIM: [read-half.no-overtaking] nobody but this reader begins one.
        // CLAIM: [ring-stream.gone] by a call, and then by saying so.
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

    /// Whether the kernel would find no buffer, as it did the last time, in the same ring.
    fn needs_call(&self, half: &Carried<ReadHalf, Hub>) -> bool {
        let maker = &self.shared.maker;
        half.is_starved()
            && !half.carrier.is_elsewhere(maker)
            && !half.carrier.ring(maker).pool().has_room()
    }

    fn pending_reader<R>(&self, half: Locked<'_, ReadHalf>) -> Poll<R> {
        drop(half);
        wait::note(WaitKind::Read, self.number());
        Poll::Pending
    }

    /// What a read finds without waiting.
    pub(super) fn look_for<T: Taker>(&self, taker: &mut T) -> Look<'_, T::Output> {
        loop {
            let mut half = self.read();
            let found = match half.look() {
                OnRead::Wait => return Look::Wait(half),
                OnRead::Idle => return Look::Idle(half),
                OnRead::Failed(code) => Err(io::Error::from_raw_os_error(code)),
                OnRead::End => Ok(taker.end()),
                OnRead::Bytes
                    if half
                        .first_mut()
                        .is_none_or(|first| first.start == first.end) =>
                {
                    let Carried { half: own, carrier } = &mut *half;
                    let pool = carrier.ring(&self.shared.maker).pool();
                    let empty = own.pop().and_then(|piece| piece.let_go(pool));
                    drop(half);
                    drop(empty);
                    continue;
                }
                OnRead::Bytes => {
                    let Carried { half: own, carrier } = &mut *half;
                    // CLAIM: [carrier.one]
                    let pool = carrier.ring(&self.shared.maker).pool();
                    let (output, read) = taker.take(self, own, pool);
                    drop(half);
                    drop(read);
                    Ok(output)
                }
            };
            return Look::Found(found);
        }
    }

    /// Begins to receive into provided buffers: again and again where one thread owns the ring.
    fn begin_reading<'h>(
        &self,
        mut half: Locked<'h, ReadHalf>,
    ) -> Result<Locked<'h, ReadHalf>, Gone> {
        let fd = self.fd();
        let entry = |ring: &Hub| match ring.profile() {
            Profile::Owned => opcode::RecvMulti::new(fd, provided::GROUP).build(),
            Profile::Shared => {
                let room = BUFFER_BYTES as u32;
                opcode::Recv::new(fd, std::ptr::null_mut(), room)
                    .buf_group(provided::GROUP)
                    .build()
                    .flags(io_uring::squeue::Flags::BUFFER_SELECT)
            }
        };
        // SAFETY: [uring.memory] it points to nothing: the kernel takes a buffer of the pool's.
        unsafe { self.begin(&mut half.carrier, Kind::Read, entry) }?;
        // CLAIM: [ring-stream.begun] under the lock that the completion takes.
        half.begin(Source::Receive);
        Ok(half)
    }

    /// Begins to wait until there is something, which the caller receives by itself.
    fn begin_polling<'h>(
        &self,
        mut half: Locked<'h, ReadHalf>,
    ) -> Result<Locked<'h, ReadHalf>, Gone> {
        let fd = self.fd();
        let entry = |_: &_| opcode::PollAdd::new(fd, libc::POLLIN as u32).build();
        // SAFETY: [uring.memory] it points to nothing.
        unsafe { self.begin(&mut half.carrier, Kind::Read, entry) }?;
        half.begin(Source::Poll);
        Ok(half)
    }

    /// Whether a call in that direction would not wait, as the system has it.
    pub(super) fn is_there(&self, half: Half) -> io::Result<bool> {
        let mut asked = libc::pollfd {
            fd: self.shared.fd(),
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
        u64::try_from(self.shared.fd()).unwrap_or(0)
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
        if Arc::strong_count(&self.shared) > 1 {
            // Whoever serves the ring, on another thread, is about to let go.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// The error that nobody has been told: a read's, and that of a send nobody waited for.
    pub(crate) fn take_failures(&self) -> (Option<io::Error>, Option<io::Error>) {
        let read = match self.read().look() {
            OnRead::Failed(code) => Some(io::Error::from_raw_os_error(code)),
            _ => None,
        };
        let write = match self.write().look() {
            OnWrite::Failed(code) => Some(self.sent_error(code)),
            _ => None,
        };
        (read, write)
    }

    /// What has arrived, taken out.
    pub(crate) fn take_unread(&self) -> Vec<u8> {
        let mut unread = Vec::new();
        loop {
            let mut half = self.read();
            let Some(piece) = half.pop() else {
                return unread;
            };
            let pool = half.carrier.ring(&self.shared.maker).pool();
            unread.extend_from_slice(piece.bytes(pool));
            let owned = piece.let_go(pool);
            drop(half);
            drop(owned);
        }
    }
}

/// What a read finds without waiting.
pub(super) enum Look<'h, T> {
    /// This.
    Found(io::Result<T>),
    /// Nothing, and something in flight.
    Wait(Locked<'h, ReadHalf>),
    /// Nothing, and nothing in flight.
    Idle(Locked<'h, ReadHalf>),
}

//! The buffers that the kernel receives into: a ring of them, which it takes from and which is
//! filled up again.
//!
//! An idle connection holds none. The address space for all of them is reserved once; pages are
//! used from the day their buffer is provided, so that the pool starts small and grows when the
//! kernel finds it empty, up to a ceiling.
//!
//! # Invariants
//!
//! - **provided.once** — a buffer's number is in exactly one place: with the kernel, in a socket's
//!   carry-over, in a [`Lent`] that somebody holds, or among those that have come back. Only a
//!   completion that says F_BUFFER moves one out of the kernel's hands.
//! - **provided.memory** — the buffers' memory is not unmapped while the kernel, a `Lent` or a
//!   carry-over refers to it: each holds the pool.
//! - **provided.tail** — entries of the ring are written, and its tail moved, under the baton. The
//!   kernel's acquire load of the tail is the other side of the store that moves it.
//!
//! # Rejected
//!
//! *A free list in the buffers themselves*: it touches a cold line of each. *Buffers of 16 KiB*: a
//! request is shorter, and a set of few that go round stays in the cache.

use io_uring::IoUring;
use io_uring::types::BufRingEntry;
use mainspring_core::sync::Brief;
use mainspring_core::sync::atomic::{
    AtomicU32,
    Ordering::{Relaxed, Release},
};
use std::io;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;
// DOOR: a word in memory that the kernel shares; nothing of ours reads it.
use std::sync::atomic::AtomicU16;

/// Bytes that one receive brings at most.
pub(crate) const BUFFER_BYTES: usize = 4096;
/// Between the starts of neighbours, so that short messages do not all fall into one cache set.
const STRIDE_BYTES: usize = BUFFER_BYTES + 192;
/// Places in the ring, a power of two, and so the ceiling of the pool.
const BUFFERS_MAX: u16 = 4096;
/// How many the pool begins with.
const BUFFERS_MIN: u16 = 128;
/// The one group of buffers of a ring.
pub(crate) const GROUP: u16 = 0;

/// Memory of the system's, zeroed when first touched.
#[derive(Debug)]
struct Mapped {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: [provided.memory] it is memory, and says nothing about who uses which part of it.
unsafe impl Send for Mapped {}
// SAFETY: [provided.memory] as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn new(bytes: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: [provided.memory] no address is asked for, so nothing that exists is touched.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: [provided.memory] the mapping was made just now. A child that was forked must not
        // get a copy of pages into which the kernel writes; failing that, nothing breaks here.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTFORK) };
        Ok(Self { start, bytes })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: [provided.memory] the mapping is ours, and whoever could refer to it is gone.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The pool: the memory, and the buffers that have come back.
#[derive(Debug)]
pub(crate) struct Pool {
    memory: Mapped,
    ring: Mapped,
    returned: Brief<Vec<u16>>,
    /// How many have ever been provided; a `Lent` may name one below.
    count: AtomicU32,
    /// How many the pool shall have.
    wanted: AtomicU32,
    /// How many are in somebody's hands.
    pins: AtomicU32,
}

impl Pool {
    /// A pool, and the side of it that provides.
    pub(crate) fn register(ring: &IoUring) -> io::Result<(Arc<Self>, Provider)> {
        let places = usize::from(BUFFERS_MAX);
        let pool = Arc::new(Self {
            memory: Mapped::new(places * STRIDE_BYTES)?,
            ring: Mapped::new(places * size_of::<BufRingEntry>())?,
            returned: Brief::new(Vec::new()),
            count: AtomicU32::new(0),
            wanted: AtomicU32::new(u32::from(BUFFERS_MIN)),
            pins: AtomicU32::new(0),
        });
        let start = pool.ring.start.as_ptr() as u64;
        let submitter = ring.submitter();
        // SAFETY: [provided.memory] the ring's memory begins at a page, is large enough, and
        // outlives the registration: the hub keeps the pool until its ring is closed.
        unsafe { submitter.register_buf_ring_with_flags(start, BUFFERS_MAX, GROUP, 0) }?;
        let mut provider = Provider {
            pool: Arc::clone(&pool),
            spare: Vec::new(),
            tail: 0,
        };
        provider.provide();
        Ok((pool, provider))
    }

    fn start_of(&self, buffer: u16) -> NonNull<u8> {
        debug_assert!(buffer < BUFFERS_MAX, "provided.once: no such buffer");
        // SAFETY: [provided.memory] the mapping has BUFFERS_MAX strides.
        unsafe { self.memory.start.add(usize::from(buffer) * STRIDE_BYTES) }
    }

    /// The bytes of a buffer that the kernel has filled.
    ///
    /// # Safety
    ///
    /// The caller is the place where the buffer's number is ([provided.once]), and `count` bytes of
    /// it are initialised.
    pub(crate) unsafe fn bytes(&self, buffer: u16, count: usize) -> &[u8] {
        debug_assert!(count <= BUFFER_BYTES, "provided.once: longer than a buffer");
        // SAFETY: [provided.once, provided.memory] nobody writes to it until it is given back, and
        // fresh pages are zero.
        unsafe { slice::from_raw_parts(self.start_of(buffer).as_ptr(), count) }
    }

    /// A buffer is free again. By the place where its number was.
    pub(crate) fn give_back(&self, buffer: u16) {
        self.returned.lock().push(buffer);
    }

    /// The kernel found no buffer. Returns whether there will be more.
    pub(crate) fn grow(&self) -> bool {
        let count = self.count.load(Relaxed);
        let wanted = (count * 2).min(u32::from(BUFFERS_MAX));
        self.wanted.fetch_max(wanted, Relaxed);
        wanted > count
    }

    /// Whether the kernel is likely to find a buffer, once those that came back are provided.
    pub(crate) fn has_room(&self) -> bool {
        self.wanted.load(Relaxed) > self.count.load(Relaxed) || !self.returned.lock().is_empty()
    }

    /// How many have come back and are not with the kernel yet.
    #[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
    pub(crate) fn returned(&self) -> usize {
        self.returned.lock().len()
    }

    /// How many buffers are in the hands of tasks.
    pub(crate) fn pins(&self) -> u32 {
        self.pins.load(Relaxed)
    }
}

/// The side of the pool that provides: behind the baton.
#[derive(Debug)]
pub(crate) struct Provider {
    pool: Arc<Pool>,
    /// Swapped with the pool's, so that its lock is short.
    spare: Vec<u16>,
    tail: u16,
}

impl Provider {
    /// Gives the kernel what has come back, and what the pool grows by.
    pub(crate) fn provide(&mut self) {
        let tail = self.tail;
        std::mem::swap(&mut *self.pool.returned.lock(), &mut self.spare);
        while let Some(buffer) = self.spare.pop() {
            self.write(buffer);
        }
        let count = self.pool.count.load(Relaxed);
        let wanted = self.pool.wanted.load(Relaxed);
        for buffer in count..wanted {
            self.write(buffer as u16);
        }
        if wanted > count {
            self.pool.count.fetch_max(wanted, Relaxed);
        }
        if self.tail != tail {
            self.publish();
        }
    }

    fn write(&mut self, buffer: u16) {
        let place = usize::from(self.tail & (BUFFERS_MAX - 1));
        let entries = self.pool.ring.start.cast::<BufRingEntry>();
        // SAFETY: [provided.memory] the place is inside the ring.
        let entry = unsafe { entries.add(place) };
        // SAFETY: [provided.tail] no more buffers exist than the ring has places, so the kernel is
        // past this one, and reads it again only when the tail has passed it. The tail itself lies
        // in a field that the setters leave alone.
        let entry = unsafe { &mut *entry.as_ptr() };
        entry.set_addr(self.pool.start_of(buffer).as_ptr() as u64);
        entry.set_len(BUFFER_BYTES as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&self) {
        let entries = self.pool.ring.start.cast::<BufRingEntry>().as_ptr();
        // SAFETY: [provided.memory] `entries` is the start of the registered ring.
        let tail = unsafe { BufRingEntry::tail(entries) }.cast::<AtomicU16>();
        // SAFETY: [provided.tail] the kernel and this side share the word as an atomic.
        let tail = unsafe { &*tail };
        // ORDERING: [provided.tail] Release, pairs with the kernel's acquire load of the tail:
        // it sees whole entries, and writes to a buffer after its reader has read. Relaxed would
        // let it take an entry that is half written.
        tail.store(self.tail, Release);
    }
}

/// A buffer in somebody's hands; given back when it is dropped, by any thread.
#[derive(Debug)]
pub(crate) struct Lent {
    pool: Arc<Pool>,
    buffer: u16,
    start: u16,
    end: u16,
}

impl Lent {
    /// # Safety
    ///
    /// The buffer's number comes from a place that gives it up ([provided.once]), and its bytes up
    /// to `end` are initialised.
    pub(crate) unsafe fn new(pool: Arc<Pool>, buffer: u16, start: u16, end: u16) -> Self {
        pool.pins.fetch_add(1, Relaxed);
        Self {
            pool,
            buffer,
            start,
            end,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: [provided.once] this is the place where the number is.
        let bytes = unsafe { self.pool.bytes(self.buffer, usize::from(self.end)) };
        &bytes[usize::from(self.start)..]
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool.pins.fetch_sub(1, Relaxed);
        self.pool.give_back(self.buffer);
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

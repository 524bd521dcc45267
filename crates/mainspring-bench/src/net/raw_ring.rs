//! The floor on io_uring: multishot accept into direct descriptors, multishot receive into a
//! ring of provided buffers (single receives for long messages), one send a request straight from
//! the buffer.

use std::alloc::{Layout, alloc_zeroed};
use std::collections::VecDeque;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::{BufRingEntry, Fd, Fixed};
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::{HELLO, Job, Kind};

/// All buffers together stay within the second-level cache and a bit: the ring goes round, so a
/// larger one would touch cold memory with every message.
const BUFFERS_BYTES: usize = 2 << 20;
/// Longer messages than this do without the shared ring.
const SHARED_BYTES_MAX: usize = 4_096;
/// Between the starts of neighbours, so that short messages do not all fall into one cache set.
const STAGGER_BYTES: usize = 192;
const CONNECTIONS: u32 = 8_192;
const GROUP: u16 = 0;

/// What a completion belongs to, in the low bits of its user data; the connection above.
const ACCEPT: u64 = 0;
const RECEIVE: u64 = 1;
const SEND: u64 = 2;

#[derive(Default)]
struct Connection {
    /// A send is under way from this buffer.
    sending: Option<u16>,
    /// Received meanwhile: sends of one connection keep their order.
    waiting: VecDeque<(u16, u32)>,
}

struct Server {
    ring: IoUring,
    buffers: Buffers,
    connections: Vec<Connection>,
    /// Found no buffer; received for again once this turn's have come back.
    starved: Vec<u32>,
    job: Job,
}

pub fn serve(listener: TcpListener, job: Job) {
    super::announce(listener.local_addr().expect("an address"));
    let ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_cqsize(32_768)
        .build(8_192)
        .expect("a ring");
    ring.submitter()
        .register_files_sparse(CONNECTIONS)
        .expect("a table of descriptors");
    let buffers = Buffers::register(&ring, job.buffer_bytes);
    let connections = (0..CONNECTIONS).map(|_| Connection::default()).collect();
    let mut server = Server {
        ring,
        buffers,
        connections,
        starved: Vec::new(),
        job,
    };
    let accept = opcode::AcceptMulti::new(Fd(listener.as_raw_fd()))
        .allocate_file_index(true)
        .build();
    server.push(accept.user_data(ACCEPT));
    let mut completions: Vec<(u64, i32, u32)> = Vec::with_capacity(32_768);
    loop {
        server.ring.submit_and_wait(1).expect("a turn");
        let queue = server.ring.completion();
        completions.extend(queue.map(|one| (one.user_data(), one.result(), one.flags())));
        for (data, result, flags) in completions.drain(..) {
            server.complete(data, result, flags);
        }
        server.buffers.publish();
        for index in std::mem::take(&mut server.starved) {
            server.receive(index);
        }
    }
}

impl Server {
    fn complete(&mut self, data: u64, result: i32, flags: u32) {
        let index = (data >> 2) as u32;
        match data & 3 {
            ACCEPT => {
                assert!(result >= 0 && cqueue::more(flags), "accept ended: {result}");
                self.connections[result as usize] = Connection::default();
                self.receive(result as u32);
            }
            RECEIVE => self.received(index, result, flags),
            _ => self.sent(index),
        }
    }

    fn receive(&mut self, index: u32) {
        let entry = if self.buffers.is_shared {
            opcode::RecvMulti::new(Fixed(index), GROUP).build()
        } else {
            let start = self.buffers.start_of(index as u16).cast_mut();
            let room = self.buffers.buffer_bytes as u32;
            opcode::Recv::new(Fixed(index), start, room).build()
        };
        self.push(entry.user_data(u64::from(index) << 2 | RECEIVE));
    }

    fn received(&mut self, index: u32, result: i32, flags: u32) {
        if result == -libc::ENOBUFS {
            self.starved.push(index);
            return;
        }
        if result <= 0 {
            let close = opcode::Close::new(Fixed(index)).build();
            // Nobody waits for the end of a close: its completion reads as an empty send.
            self.push(close.user_data(u64::from(CONNECTIONS) << 2 | SEND));
            return;
        }
        if !self.buffers.is_shared {
            self.send(index, index as u16, result as u32);
            return;
        }
        let buffer = cqueue::buffer_select(flags).expect("a provided buffer");
        let connection = &mut self.connections[index as usize];
        if connection.sending.is_some() {
            connection.waiting.push_back((buffer, result as u32));
        } else {
            self.send(index, buffer, result as u32);
        }
        if !cqueue::more(flags) {
            self.receive(index);
        }
    }

    fn send(&mut self, index: u32, buffer: u16, count: u32) {
        let (start, bytes) = match self.job.kind {
            Kind::Echo => (self.buffers.start_of(buffer), count),
            Kind::Http | Kind::Hyper => (HELLO.as_ptr(), HELLO.len() as u32),
        };
        self.connections[index as usize].sending = Some(buffer);
        let flags = libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
        let entry = opcode::Send::new(Fixed(index), start, bytes)
            .flags(flags)
            .build();
        self.push(entry.user_data(u64::from(index) << 2 | SEND));
    }

    fn sent(&mut self, index: u32) {
        // A send that failed is followed by a receive that fails, which closes.
        let Some(connection) = self.connections.get_mut(index as usize) else {
            return;
        };
        let Some(buffer) = connection.sending.take() else {
            return;
        };
        if !self.buffers.is_shared {
            self.receive(index);
            return;
        }
        self.buffers.give_back(buffer);
        if let Some((buffer, count)) = connection.waiting.pop_front() {
            self.send(index, buffer, count);
        }
    }

    fn push(&mut self, entry: squeue::Entry) {
        loop {
            // SAFETY: what entries point to (the buffers, the constant answer) lives for ever.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return;
            }
            self.ring.submit().expect("room in the queue");
        }
    }
}

/// The ring of provided buffers. Leaked: the server ends with the process.
struct Buffers {
    entries: *mut BufRingEntry,
    memory: *mut u8,
    /// They are provided to the kernel, which chooses.
    is_shared: bool,
    count: u16,
    buffer_bytes: usize,
    tail: u16,
}

impl Buffers {
    /// Short messages share a small ring; long ones, which come in pieces, are received into a
    /// buffer of the connection's own, and the next piece waits until this one is sent.
    fn register(ring: &IoUring, buffer_bytes: usize) -> Buffers {
        let is_shared = buffer_bytes <= SHARED_BYTES_MAX;
        let count = if is_shared {
            BUFFERS_BYTES / buffer_bytes
        } else {
            CONNECTIONS as usize
        };
        let mut buffers = Buffers {
            entries: zeroed(count * size_of::<BufRingEntry>()).cast(),
            memory: zeroed(count * (buffer_bytes + STAGGER_BYTES)),
            is_shared,
            count: count as u16,
            buffer_bytes,
            tail: 0,
        };
        if is_shared {
            let (start, submitter) = (buffers.entries as u64, ring.submitter());
            // SAFETY: the memory is page-aligned, large enough, and never freed.
            unsafe { submitter.register_buf_ring_with_flags(start, buffers.count, GROUP, 0) }
                .expect("a ring of buffers");
            (0..buffers.count).for_each(|buffer| buffers.give_back(buffer));
            buffers.publish();
        }
        buffers
    }

    fn start_of(&self, buffer: u16) -> *const u8 {
        let offset = usize::from(buffer) * (self.buffer_bytes + STAGGER_BYTES);
        // SAFETY: there are `count` buffers at this distance.
        unsafe { self.memory.add(offset) }
    }

    fn give_back(&mut self, buffer: u16) {
        let place = usize::from(self.tail & (self.count - 1));
        let start = self.start_of(buffer) as u64;
        // SAFETY: the place is inside the ring, and the kernel reads it only once the tail has
        // passed it.
        let entry = unsafe { &mut *self.entries.add(place) };
        entry.set_addr(start);
        entry.set_len(self.buffer_bytes as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&self) {
        // SAFETY: the tail lies in the first entry of the registered ring.
        let tail = unsafe { BufRingEntry::tail(self.entries) }.cast::<AtomicU16>();
        // SAFETY: the kernel and this thread share the word as an atomic.
        unsafe { &*tail }.store(self.tail, Ordering::Release);
    }
}

fn zeroed(bytes: usize) -> *mut u8 {
    let layout = Layout::from_size_align(bytes, 4_096).expect("a layout");
    // SAFETY: the layout is not empty.
    let memory = unsafe { alloc_zeroed(layout) };
    assert!(!memory.is_null(), "out of memory");
    memory
}

//! A stream on the ring.

use super::super::tests::{Count, Owner, is_closed, pair, send};
use super::super::{Profile, ReadOwnedState};
use super::Stream;
use crate::backend::poll::Half;
use io_uring::{IoUring, opcode, types::Fd};
use mainspring_core::driver::Until;
use std::io;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;

const PROFILES: [Profile; 2] = [Profile::Owned, Profile::Shared];

fn connected(owner: &Owner) -> (Arc<Stream>, TcpStream) {
    let (socket, other) = pair();
    (Arc::new(Stream::new(socket, owner.hub()).unwrap()), other)
}

/// Reads at most so many bytes, and says how many.
fn read(stream: &Stream, waker: &Waker, most: usize) -> Poll<io::Result<Vec<u8>>> {
    let mut room = vec![MaybeUninit::new(0); most];
    let mut cx = Context::from_waker(waker);
    stream.poll_read(&mut cx, &mut room).map_ok(|count| {
        let bytes = room.iter().take(count);
        // SAFETY: [net.received] initialised above.
        bytes.map(|byte| unsafe { byte.assume_init() }).collect()
    })
}

fn read_all(owner: &Owner, stream: &Stream, count: usize, most: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < count {
        match read(stream, Waker::noop(), most) {
            Poll::Ready(bytes) => {
                let bytes = bytes.unwrap();
                assert!(!bytes.is_empty(), "the end after {} bytes", all.len());
                all.extend(bytes);
            }
            Poll::Pending => _ = owner.turn(Until::Forever),
        }
    }
    all
}

/// The receive may end at any point, for reasons of the kernel's.
// WITNESS: ring-stream.begun, ring-stream.owns, read-half.order
#[test]
fn receive_that_is_stopped_at_any_point_goes_on_without_a_seam() {
    for profile in PROFILES {
        let Some(owner) = Owner::new(profile) else {
            return;
        };
        for points in 0..64_u8 {
            let (stream, other) = connected(&owner);
            let stop = |point: u8| {
                if points & (1 << point) != 0 {
                    stream.stop(Half::Read);
                }
            };
            let mut expected = Vec::new();
            let mut found = Vec::new();
            for round in 0..3_u8 {
                stop(0);
                if let Poll::Ready(bytes) = read(&stream, Waker::noop(), 2) {
                    found.extend(bytes.unwrap());
                }
                // Begun, and not submitted.
                stop(1);
                send(&other, &[round, 1, 2, 3, 4]);
                expected.extend([round, 1, 2, 3, 4]);
                stop(2);
                owner.turn(Until::Now);
                stop(3);
                owner.turn(Until::Now);
                send(&other, &[5]);
                expected.push(5);
                stop(4);
                if let Poll::Ready(bytes) = read(&stream, Waker::noop(), 2) {
                    found.extend(bytes.unwrap());
                }
                stop(5);
            }
            found.extend(read_all(&owner, &stream, expected.len() - found.len(), 4));
            assert_eq!(found, expected, "{points:#b}");
            drop(stream);
            owner.until(|| format!("{:?}", owner.hub()).contains("in_flight: 0"));
            assert!(is_closed(&other));
        }
    }
}

// WITNESS: read-half.bounded, read-half.order
#[test]
fn slow_reader_hoards_little_and_loses_nothing() {
    const BYTES: usize = 4 << 20;
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    let (stream, other) = connected(&owner);
    let byte = |place: usize| (place % 251) as u8;
    let writer = thread::spawn(move || {
        let message: Vec<u8> = (0..BYTES).map(byte).collect();
        send(&other, &message);
        other
    });
    let mut found = Vec::new();
    while found.len() < BYTES {
        if let Poll::Ready(bytes) = read(&stream, Waker::noop(), 60_000) {
            found.extend(bytes.unwrap());
        }
        // Many turns for each read.
        for _ in 0..4 {
            owner.turn(Until::Now);
        }
        // The kernel goes round 32 times before it looks at what we ask.
        let waiting = stream.read().waiting();
        assert!(waiting < 128, "{waiting} pieces");
    }
    assert!(found.iter().enumerate().all(|(place, b)| *b == byte(place)));
    drop(writer.join().unwrap());
}

// WITNESS: ring-stream.closing, cell.lent
#[test]
fn dropped_stream_closes_when_the_kernel_has_let_go() {
    for profile in PROFILES {
        let Some(owner) = Owner::new(profile) else {
            return;
        };
        let (stream, other) = connected(&owner);
        let shared = Arc::downgrade(&stream.shared);
        assert!(read(&stream, Waker::noop(), 1).is_pending());
        assert_eq!(shared.strong_count(), 2, "one of them the kernel's");
        owner.turn(Until::Now);
        drop(stream);
        assert_eq!(shared.strong_count(), 1, "closed under the kernel");
        owner.until(|| shared.strong_count() == 0);
        assert!(is_closed(&other));
        assert_eq!(owner.len(), 0);
    }
}

/// A waker whose copying is the moment between the look and the wait.
fn at_registration(what: &AtRegistration) -> Waker {
    fn clone(data: *const ()) -> RawWaker {
        // SAFETY: [ring-stream.waiter] `data` is the test's, which outlives its wakers.
        let at = unsafe { &*data.cast::<AtRegistration>() };
        (at.call)(at.times.fetch_add(1, SeqCst));
        RawWaker::new(Waker::noop().data(), Waker::noop().vtable())
    }
    fn nothing(_: *const ()) {}
    static TABLE: RawWakerVTable = RawWakerVTable::new(clone, nothing, nothing, nothing);
    let data = std::ptr::from_ref(what).cast();
    // SAFETY: [ring-stream.waiter] the table does nothing but to look at `data`.
    unsafe { Waker::from_raw(RawWaker::new(data, &TABLE)) }
}

struct AtRegistration {
    call: Box<dyn Fn(usize)>,
    times: AtomicUsize,
}

/// The completion comes after the look and before the waiter is registered.
// WITNESS: ring-stream.waiter, read-half.no-overtaking
#[test]
fn completion_between_the_look_and_the_registration_is_found() {
    let Some(owner) = Owner::new(Profile::Shared) else {
        return;
    };
    let (stream, other) = connected(&owner);
    // Something is in flight, and its waiter has gone.
    assert!(read(&stream, Waker::noop(), 4).is_pending());
    owner.turn(Until::Now);
    let hub = owner.hub();
    let at = AtRegistration {
        call: Box::new(move |time| {
            if time == 0 {
                send(&other, b"abc");
                let mut completed = Vec::new();
                while !hub.rescue(8, &mut completed) {}
                hub.dispatch(&completed);
            }
        }),
        times: AtomicUsize::new(0),
    };
    let waker = at_registration(&at);
    let found = read(&stream, &waker, 4);
    assert!(at.times.load(SeqCst) > 0, "the moment never came");
    assert!(matches!(found, Poll::Ready(Ok(bytes)) if bytes == b"abc"));
}

/// As above, and what comes is the end of an owned receive that brought nothing.
// WITNESS: ring-stream.waiter, ring-owned.home
#[test]
fn owned_receive_that_ends_before_the_registration_is_begun_again() {
    let Some(owner) = Owner::new(Profile::Shared) else {
        return;
    };
    let (stream, other) = connected(&owner);
    let (mut state, mut buf) = (ReadOwnedState::default(), Vec::with_capacity(8));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(
        stream
            .poll_read_owned(&mut cx, &mut state, &mut buf)
            .is_pending()
    );
    owner.turn(Until::Now);
    let (hub, stopped) = (owner.hub(), Arc::clone(&stream));
    let at = AtRegistration {
        call: Box::new(move |time| {
            if time == 0 {
                // As the end of its thread would.
                let number = super::cell::name(&stopped.shared, super::Kind::Read);
                hub.cancel(number);
                let mut completed = Vec::new();
                while !hub.rescue(8, &mut completed) {}
                hub.dispatch(&completed);
            }
        }),
        times: AtomicUsize::new(0),
    };
    let waker = at_registration(&at);
    let mut registering = Context::from_waker(&waker);
    let polled = stream.poll_read_owned(&mut registering, &mut state, &mut buf);
    assert!(polled.is_pending());
    assert!(at.times.load(SeqCst) > 0, "the moment never came");
    assert!(stream.read().is_in_flight(), "nobody would ever wake it");
    send(&other, b"abc");
    let (count, waker) = Count::waker();
    let mut cx = Context::from_waker(&waker);
    while stream
        .poll_read_owned(&mut cx, &mut state, &mut buf)
        .is_pending()
    {
        owner.until(|| count.woken() > 0);
    }
    assert_eq!(buf, b"abc");
}

/// The printed form of row 28: the future owns the operation, and its drop forgets it.
mod printed {
    use super::{Fd, IoUring, opcode};

    pub(super) struct Read<'r> {
        ring: &'r mut IoUring,
        pub(super) buf: [u8; 16],
    }

    impl<'r> Read<'r> {
        pub(super) fn begin(ring: &'r mut IoUring, fd: Fd) -> Box<Self> {
            let mut read = Box::new(Self { ring, buf: [0; 16] });
            let entry = opcode::Recv::new(fd, read.buf.as_mut_ptr(), 16).build();
            // SAFETY: [uring.memory] the buffer lies in the box, which the test drops after the
            // completion.
            unsafe { read.ring.submission().push(&entry) }.unwrap();
            read.ring.submit().unwrap();
            read
        }

        pub(super) fn wait(&mut self) {
            self.ring.submit_and_wait(1).unwrap();
        }
    }
}

// CORRECTION: 28
// WITNESS: ring-stream.owns
#[test]
fn bytes_that_came_for_a_dropped_read_are_the_next_ones() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    let (socket, other) = pair();
    let mut ring = IoUring::new(4).unwrap();
    let mut read_once = printed::Read::begin(&mut ring, Fd(socket.as_raw_fd()));
    send(&other, b"abc");
    read_once.wait();
    drop(read_once);
    socket.set_nonblocking(true).unwrap();
    let next = socket.recv(&mut [MaybeUninit::new(0); 16]);
    assert_eq!(
        next.unwrap_err().kind(),
        io::ErrorKind::WouldBlock,
        "the printed form loses them"
    );

    let (stream, other) = connected(&owner);
    assert!(read(&stream, Waker::noop(), 16).is_pending());
    send(&other, b"abc");
    owner.turn(Until::Forever);
    owner.look();
    let found = read(&stream, Waker::noop(), 16);
    assert!(matches!(found, Poll::Ready(Ok(bytes)) if bytes == b"abc"));
}

/// What `write` took is with the system; only what was handed over by value may not be.
// WITNESS: write-half.one
#[test]
fn flush_and_end_do_not_wait_for_room_that_nobody_needs() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    let (stream, other) = connected(&owner);
    let mut cx = Context::from_waker(Waker::noop());
    let chunk = vec![7; 1 << 16];
    // A write that found no room was dropped: its poll is in flight.
    while stream.poll_write(&mut cx, &chunk).is_ready() {}
    assert!(stream.write().is_in_flight());
    assert!(matches!(stream.poll_flush(&mut cx), Poll::Ready(Ok(()))));
    assert!(matches!(stream.poll_shutdown(&mut cx), Poll::Ready(Ok(()))));
    drop(other);
}

/// A future that is forgotten leaves nothing that a later one could take for its own.
// WITNESS: ring-owned.home, write-half.kept
#[test]
fn forgotten_futures_end_is_not_taken_for_the_next_ones() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    let (stream, other) = connected(&owner);
    let mut cx = Context::from_waker(Waker::noop());
    let (mut state, mut buf) = (ReadOwnedState::default(), Vec::with_capacity(8));
    assert!(
        stream
            .poll_read_owned(&mut cx, &mut state, &mut buf)
            .is_pending()
    );
    // Kept apart, as a leak would be, for those who look for leaks.
    let forgotten = buf;
    send(&other, b"abcde");
    owner.until(|| !stream.read().is_in_flight());
    let (mut state, mut buf) = (ReadOwnedState::default(), Vec::with_capacity(8));
    for _ in 0..3 {
        // Again and again, as a task does that is woken for something else.
        let polled = stream.poll_read_owned(&mut cx, &mut state, &mut buf);
        assert!(polled.is_pending() && buf.is_empty(), "{polled:?}");
    }
    send(&other, b"xy");
    while stream
        .poll_read_owned(&mut cx, &mut state, &mut buf)
        .is_pending()
    {
        owner.turn(Until::Forever);
    }
    assert_eq!(buf, b"xy");
    drop(forgotten);
}

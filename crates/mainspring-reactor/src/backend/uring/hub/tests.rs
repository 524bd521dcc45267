//! A turn, requests from elsewhere, and the end, on the kernel.

use super::super::tests::{Count, Owner, affordable, is_closed, pair, send};
use super::super::{Profile, Stream};
use super::{Completed, Hub, Kind, OnSleep};
use io_uring::opcode;
use mainspring_core::driver::Until;
use mainspring_core::time;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

const PROFILES: [Profile; 2] = [Profile::Owned, Profile::Shared];

fn in_flight(hub: &Hub) -> usize {
    hub.in_flight()
}

/// Polls a read of some bytes.
fn read(stream: &Stream, waker: &Waker) -> Poll<std::io::Result<Vec<u8>>> {
    let mut room = [MaybeUninit::new(0); 16];
    stream
        .poll_read(&mut Context::from_waker(waker), &mut room)
        .map_ok(|count| {
            let bytes = room.iter().take(count);
            // SAFETY: [net.received] initialised above.
            bytes.map(|byte| unsafe { byte.assume_init() }).collect()
        })
}

// WITNESS: uring-hub.order, uring.owner
#[test]
fn stream_of_another_thread_reads_and_its_cancel_follows_its_begin() {
    for profile in PROFILES {
        let Some(owner) = Owner::new(profile) else {
            return;
        };
        for round in 0..50 {
            let (socket, other) = pair();
            let stream = Stream::new(socket, owner.hub()).unwrap();
            let (count, waker) = Count::waker();
            // Begun there, answered here, read there.
            let stream = thread::spawn(move || {
                assert!(read(&stream, &waker).is_pending());
                stream
            });
            let stream = stream.join().unwrap();
            if round % 2 == 0 {
                send(&other, b"abc");
                owner.until(|| count.woken() > 0);
                let there = thread::spawn(move || match read(&stream, Waker::noop()) {
                    Poll::Ready(Ok(bytes)) => (bytes, stream),
                    other => panic!("{other:?}"),
                });
                let (bytes, stream) = there.join().unwrap();
                assert_eq!(bytes, b"abc");
                thread::spawn(move || drop(stream)).join().unwrap();
            } else {
                // Both are still on their way to the owner.
                thread::spawn(move || drop(stream)).join().unwrap();
            }
            owner.until(|| in_flight(&owner) == 0);
            assert!(is_closed(&other));
        }
    }
}

/// Begun by the owner and cancelled elsewhere, begun elsewhere and cancelled by the owner.
// WITNESS: uring-hub.order
#[test]
fn cancel_reaches_what_was_begun_on_the_other_side() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    for is_begun_here in [true, false] {
        let (socket, other) = pair();
        let stream = Stream::new(socket, owner.hub()).unwrap();
        let begin = |stream: &Stream| assert!(read(stream, Waker::noop()).is_pending());
        if is_begun_here {
            begin(&stream);
            thread::spawn(move || drop(stream)).join().unwrap();
        } else {
            thread::scope(|scope| {
                scope.spawn(|| begin(&stream));
            });
            drop(stream);
        }
        owner.until(|| in_flight(&owner) == 0);
        assert!(is_closed(&other));
    }
}

// WITNESS: uring-hub.kick, notify.token
#[test]
fn unpark_is_remembered_and_calls_back_also_after_an_overflow() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    owner.unpark();
    owner.turn(Until::Forever);
    let kicked = || {
        for _ in 0..20 {
            let hub = owner.hub();
            let other = thread::spawn(move || hub.unpark());
            owner.turn(Until::Forever);
            other.join().unwrap();
            // A kick that came late is a completion of its own.
            owner.turn(Until::Now);
        }
    };
    kicked();
    // More completions than there are places: the kernel ends what would post many.
    for _ in 0..9_000 {
        let entry = opcode::Nop::new().build().user_data(Kind::Nothing as u64);
        // SAFETY: [uring.memory] it points to nothing.
        unsafe { owner.ring.push(entry) };
    }
    assert_eq!(owner.notify.fall_asleep(), OnSleep::Wait);
    owner.unpark();
    owner.notify.wake_up();
    owner.ring.look().unwrap();
    owner.look();
    kicked();
}

// WITNESS: uring-hub.kick
#[test]
fn wait_ends_at_its_moment_and_not_before() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    for nanos in [1, 70_001, 1_000_001] {
        let deadline = time::now().saturating_add(Duration::from_nanos(nanos));
        while time::now() < deadline {
            owner.turn(Until::At(deadline));
        }
        owner.turn(Until::At(deadline));
    }
}

// WITNESS: uring-hub.answered, uring-hub.closed, ring-stream.gone
#[test]
fn close_answers_what_the_kernel_never_saw_and_begins_nothing_after() {
    for profile in PROFILES {
        let Some(owner) = Owner::new(profile) else {
            return;
        };
        let hub = owner.hub();
        let all = affordable(700);
        let mut streams: Vec<_> = (0..all)
            .map(|_| {
                let (socket, other) = pair();
                (Stream::new(socket, owner.hub()).unwrap(), other)
            })
            .collect();
        let (count, waker) = Count::waker();
        // In the kernel, in the queue, and still with the other thread.
        for (stream, _) in &streams[..10] {
            assert!(read(stream, &waker).is_pending());
        }
        owner.turn(Until::Now);
        for (stream, _) in &streams[10..all - 50] {
            assert!(read(stream, &waker).is_pending());
        }
        thread::scope(|scope| {
            let (streams, waker) = (&streams[all - 50..], &waker);
            scope.spawn(move || {
                for (stream, _) in streams {
                    assert!(read(stream, waker).is_pending());
                }
            });
        });
        assert_eq!(in_flight(&hub), streams.len());
        drop(owner);
        assert_eq!(in_flight(&hub), 0);
        assert_eq!(count.woken(), streams.len(), "each is told once");
        for (stream, other) in &mut streams {
            // What the system has can be read; then it says so, and nothing begins.
            send(other, b"x");
            assert!(matches!(read(stream, &waker), Poll::Ready(Ok(bytes)) if bytes == b"x"));
            assert!(matches!(read(stream, &waker), Poll::Ready(Err(_))));
        }
        assert_eq!(in_flight(&hub), 0);
        assert!(Stream::new(pair().0, hub.clone()).is_err());
        // From another thread, too.
        thread::scope(|scope| {
            let stream = &streams[0].0;
            let refused = scope.spawn(|| read(stream, Waker::noop()).is_ready());
            assert!(refused.join().unwrap());
        });
        // No waker, no socket and no hub is kept by anybody.
        let other = streams.pop().unwrap().1;
        assert!(is_closed(&other));
        drop((streams, waker));
        assert_eq!(Arc::strong_count(&count), 1);
        assert_eq!(Arc::strong_count(&hub), 1);
    }
}

// WITNESS: uring-hub.outside
#[test]
fn wakers_are_called_with_no_lock_held_and_a_panic_keeps_no_other_from_it() {
    /// Uses its stream from inside, and panics.
    struct Uses(std::sync::Weak<Stream>, std::sync::atomic::AtomicUsize);
    impl Wake for Uses {
        fn wake(self: Arc<Self>) {
            let stream = self.0.upgrade().unwrap();
            assert!(stream.try_read(&mut [MaybeUninit::new(0); 1]).is_ok());
            assert!(stream.try_write(b"y").is_ok());
            self.1.fetch_add(1, Relaxed);
            panic!("a waker");
        }
    }
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    let mut all = Vec::new();
    for _ in 0..40 {
        let (socket, other) = pair();
        let stream = Arc::new(Stream::new(socket, owner.hub()).unwrap());
        let uses = Arc::new(Uses(Arc::downgrade(&stream), 0.into()));
        assert!(read(&stream, &uses.clone().into()).is_pending());
        send(&other, b"x");
        all.push((stream, uses, other));
    }
    let woken = || {
        all.iter()
            .map(|(_, uses, _)| uses.1.load(Relaxed))
            .sum::<usize>()
    };
    while woken() < all.len() {
        owner.turn(Until::Forever);
    }
    assert!(all.iter().all(|(_, uses, _)| uses.1.load(Relaxed) == 1));
}

/// When the thread that submitted an operation has ended, the kernel cancels it.
// WITNESS: uring-hub.answered, read-half.order
#[test]
fn operation_that_ends_with_its_submitter_is_begun_again() {
    let Some(owner) = Owner::new(Profile::Shared) else {
        return;
    };
    let (socket, other) = pair();
    let stream = Stream::new(socket, owner.hub()).unwrap();
    let (count, waker) = Count::waker();
    assert!(read(&stream, &waker).is_pending());
    let hub = owner.hub();
    // It submits what the owner has pushed, and is no more.
    let rescuer = thread::spawn(move || {
        let mut completed: Vec<Completed> = Vec::new();
        hub.rescue(8, &mut completed);
        assert!(completed.is_empty());
    });
    rescuer.join().unwrap();
    send(&other, b"abc");
    for woken in 1.. {
        owner.until(|| count.woken() >= woken);
        match read(&stream, &waker) {
            Poll::Ready(result) => {
                assert_eq!(result.unwrap(), b"abc");
                break;
            }
            Poll::Pending => assert!(woken < 4, "it is begun again and again"),
        }
    }
}

/// The owner comes back, and is on its way to sleep while a rescuer has the ring.
// WITNESS: uring-hub.kick
#[test]
fn owner_is_called_back_though_a_rescuer_has_taken_the_call() {
    let Some(owner) = Owner::new(Profile::Shared) else {
        return;
    };
    // The kernel is told to listen.
    owner.turn(Until::Now);
    let hub = owner.hub();
    assert_eq!(hub.notify.fall_asleep(), OnSleep::Wait);
    let rescuer = thread::spawn(move || {
        hub.unpark();
        let mut completed: Vec<Completed> = Vec::new();
        while !hub.rescue(8, &mut completed) {
            thread::yield_now();
        }
    });
    rescuer.join().unwrap();
    let hub = owner.hub();
    hub.ring.wait(None).unwrap();
    hub.notify.wake_up();
}

/// Whose waker drops the stream that it is woken for, from inside the turn.
// WITNESS: uring-hub.outside, cell.lent, ring-stream.closing
#[test]
fn stream_may_be_dropped_by_the_waker_that_it_calls() {
    struct Drops(Mutex<Option<Stream>>);
    impl Wake for Drops {
        fn wake(self: Arc<Self>) {
            let stream = self.0.lock().unwrap().take();
            drop(stream);
        }
    }
    for profile in PROFILES {
        let Some(owner) = Owner::new(profile) else {
            return;
        };
        for ends in [false, true] {
            let (socket, other) = pair();
            let drops = Arc::new(Drops(Mutex::new(None)));
            let stream = Stream::new(socket, owner.hub()).unwrap();
            assert!(read(&stream, &drops.clone().into()).is_pending());
            *drops.0.lock().unwrap() = Some(stream);
            // One completion of several, or the last one.
            if ends {
                other.shutdown(std::net::Shutdown::Write).unwrap();
            } else {
                send(&other, b"x");
            }
            owner.until(|| in_flight(&owner) == 0);
            assert!(drops.0.lock().unwrap().is_none());
            assert!(is_closed(&other));
            assert_eq!(owner.len(), 0);
        }
    }
}

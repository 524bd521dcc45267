use super::{Hub, Reactor};
use crate::backend::Backend;
use crate::backend::poll::Io;
use crate::backend::poll::hub::Shared;
use crate::backend::poll::waiters::Waiters;
use crate::error::ReactorError;
use crate::net::{TcpListener, TcpStream};
use mainspring_core::driver::{Driver, Until};
use mainspring_core::time;
use mio::Interest;
use std::future::Future;
use std::io::{self, Write};
use std::net;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A stream of this thread's reactor, and the blocking other side.
fn pair() -> (TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let other = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (stream, _) = listener.accept().unwrap();
    (TcpStream::from_std(stream).unwrap(), other)
}

fn into_std(stream: TcpStream) -> net::TcpStream {
    let mut leaving = pin!(stream.into_std());
    match leaving
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(Ok(left)) => left.stream,
        other => panic!("{other:?}"),
    }
}

/// The hub of this thread.
fn hub() -> Arc<crate::backend::poll::Hub> {
    match crate::driver::current() {
        Some(Hub::Poll(hub)) => hub,
        other => panic!("{other:?}"),
    }
}

/// Polls once; it has to wait.
fn waits<F: Future>(future: Pin<&mut F>) {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(future.poll(&mut cx).is_pending());
}

fn is_gone(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    matches!(inner, Some(ReactorError::Gone))
}

// WITNESS: hub.kick, notify.token
#[test]
fn unpark_is_remembered_once() {
    let mut reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let handle = reactor.handle();
    handle.unpark();
    handle.unpark();
    let turn = reactor.park(Until::Forever).unwrap();
    assert_eq!(turn.woken, 0);
    let other = std::thread::spawn(move || handle.unpark());
    let _turn = reactor.park(Until::Forever).unwrap();
    other.join().unwrap();
    // The token of one of them may be left, of both not.
    let soon = time::now().saturating_add(Duration::from_millis(1));
    let _turn = reactor.park(Until::At(soon)).unwrap();
    let _turn = reactor.park(Until::At(soon)).unwrap();
    assert!(time::now() >= soon);
}

// WITNESS: alarm.set, alarm.fd
#[test]
fn wait_of_a_fraction_of_a_millisecond_is_never_early_nor_endless() {
    let mut reactor = Reactor::with_backend(Backend::Poll).unwrap();
    for fraction in [1, 7_001, 333_333, 1_000_001] {
        let deadline = time::now().saturating_add(Duration::from_nanos(fraction));
        // The same deadline again and again, as a worker does that was woken for something else.
        while time::now() < deadline {
            let _turn = reactor.park(Until::At(deadline)).unwrap();
        }
        let _turn = reactor.park(Until::At(deadline)).unwrap();
    }
}

// WITNESS: alarm.set
#[test]
fn ringing_that_a_rescuer_took_out_does_not_lose_the_deadline() {
    let mut reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let handle = reactor.handle();
    let deadline = time::now().saturating_add(Duration::from_nanos(900_001));
    // The owner sets the alarm, is called back, and is late; the rescuer takes the ringing.
    let other = std::thread::spawn({
        let handle = Arc::clone(&handle);
        move || handle.unpark()
    });
    let _turn = reactor.park(Until::At(deadline)).unwrap();
    other.join().unwrap();
    while time::now() < deadline.saturating_add(Duration::from_millis(1)) {
        handle.rescue(time::now(), 8);
    }
    // A clock that is behind asks for the same deadline.
    let clock = time::ManualClock::new(deadline.saturating_sub(Duration::from_nanos(700_001)));
    let entered = time::enter_clock(Arc::new(clock));
    let _turn = reactor.park(Until::At(deadline)).unwrap();
    drop(entered);
}

// WITNESS: registry.no-leak
#[cfg(target_os = "linux")]
#[test]
fn failed_registrations_keep_no_slot() {
    use std::os::fd::AsRawFd;
    let reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let _entered = reactor.handle().enter();
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let shared = Arc::new(Shared::new(Waiters::one()));
    for _ in 0..1_000 {
        // epoll does not take regular files.
        let fd = file.as_raw_fd();
        let mut source = mio::unix::SourceFd(&fd);
        let refused = hub().register(&mut source, Interest::READABLE, &shared);
        assert!(refused.is_err());
        assert!(shared.word.snapshot().is_loose());
    }
    assert_eq!((hub().registered(), Arc::strong_count(&shared)), (0, 1));
}

// WITNESS: poll-io.explicit
#[test]
fn socket_leaves_with_its_stream_and_may_come_back() {
    let reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let _entered = reactor.handle().enter();
    let (mut stream, _other) = pair();
    for _ in 0..2 {
        assert_eq!((reactor.sockets(), hub().registered()), (1, 0));
        // The kernel would refuse a descriptor that is still registered.
        waits(pin!(stream.read(&mut [0; 1])));
        waits(pin!(stream.read(&mut [0; 1])));
        assert_eq!((reactor.sockets(), hub().registered()), (1, 1));
        let left = into_std(stream);
        assert_eq!((reactor.sockets(), hub().registered()), (0, 0));
        stream = TcpStream::from_std(left).unwrap();
    }
    waits(pin!(stream.read(&mut [0; 1])));
    drop(stream);
    assert_eq!((reactor.sockets(), hub().registered()), (0, 0));
}

// WITNESS: poll-io.explicit, registry.generation
#[test]
fn duplicate_of_a_closed_socket_wakes_nobody() {
    let mut reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let _entered = reactor.handle().enter();
    let (stream, mut other) = pair();
    let std_stream = into_std(stream);
    let duplicate = std_stream.try_clone().unwrap();
    let mut old = TcpStream::from_std(std_stream).unwrap();
    waits(pin!(old.read(&mut [0; 1])));
    drop(old);
    // The number and the slot are used again.
    let (mut new, _their) = pair();
    let woken = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut buf = [0; 1];
    let mut read = pin!(new.read(&mut buf));
    assert!(
        read.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    let _turn = reactor.park(Until::Now).unwrap();
    let before = woken.0.load(SeqCst);
    other.write_all(b"x").unwrap();
    let _turn = reactor.park(Until::Now).unwrap();
    assert_eq!(woken.0.load(SeqCst), before);
    drop(duplicate);
}

// WITNESS: hub.recorded, hub.outside
#[test]
fn panicking_waker_keeps_no_other_from_being_woken() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker");
        }
    }
    let mut reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let _entered = reactor.handle().enter();
    let mut pairs: Vec<_> = (0..40).map(|_| pair()).collect();
    let woken = Arc::new(Count::default());
    for (number, (stream, _)) in pairs.iter_mut().enumerate() {
        let waker = match number {
            0 | 39 => Waker::from(Arc::new(Panics)),
            _ => Waker::from(Arc::clone(&woken)),
        };
        let mut buf = [0; 1];
        let mut read = pin!(stream.read(&mut buf));
        assert!(
            read.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
    }
    for (_, other) in &mut pairs {
        other.write_all(b"x").unwrap();
    }
    let turn = reactor
        .park(Until::Now)
        .expect("a waker's panic is not the driver's");
    assert_eq!(turn.woken, 40);
    assert_eq!(woken.0.load(SeqCst), 38);
    for (stream, _) in &mut pairs {
        assert_eq!(stream.try_read(&mut [0; 4]).unwrap(), 1);
    }
}

#[test]
fn rescue_wakes_within_its_limit_for_an_owner_that_does_not_come() {
    let reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let handle = reactor.handle();
    let _entered = handle.enter();
    let (mut stream, mut other) = pair();
    let woken = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut buf = [0; 1];
    let mut read = pin!(stream.read(&mut buf));
    assert!(
        read.as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
    );
    other.write_all(b"x").unwrap();
    assert_eq!(handle.rescue(time::now(), 0), 0);
    assert_eq!(handle.rescue(time::now(), 8), 1);
    assert_eq!(woken.0.load(SeqCst), 1);
    assert!(matches!(
        read.as_mut().poll(&mut Context::from_waker(&waker)),
        Poll::Ready(Ok(1))
    ));
}

// WITNESS: hub.closed, poll-io.end, readiness.loose
#[test]
fn dropped_reactor_wakes_who_waits_and_each_gets_one_error() {
    let reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let handle = reactor.handle();
    let entered = handle.enter();
    let (mut stream, mut other) = pair();
    let (mut late, mut late_other) = pair();
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let woken = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut cx = Context::from_waker(&waker);
    let mut buf = [0; 1];
    {
        let mut read = pin!(stream.read(&mut buf));
        let mut accept = pin!(listener.accept());
        assert!(read.as_mut().poll(&mut cx).is_pending());
        assert!(accept.as_mut().poll(&mut cx).is_pending());
        drop(reactor);
        assert_eq!(woken.0.load(SeqCst), 2);
        let Poll::Ready(Err(error)) = read.as_mut().poll(&mut cx) else {
            panic!("the read goes on");
        };
        assert!(
            is_gone(&error) && error.to_string().contains("MS0005"),
            "{error}"
        );
        let Poll::Ready(Err(error)) = accept.as_mut().poll(&mut cx) else {
            panic!("the accept goes on");
        };
        assert!(is_gone(&error));
    }
    // Not even a loop of `readable` and `try_read` spins.
    let Poll::Ready(Err(error)) = pin!(stream.readable()).poll(&mut cx) else {
        panic!("readable after the end");
    };
    assert!(is_gone(&error));
    // What arrives can still be read, and what there is room for be written.
    late_other.write_all(b"late").unwrap();
    let mut four = [0; 4];
    assert!(matches!(
        pin!(late.read(&mut four)).poll(&mut cx),
        Poll::Ready(Ok(4))
    ));
    assert!(matches!(
        pin!(late.write(b"ok")).poll(&mut cx),
        Poll::Ready(Ok(2))
    ));
    // Nobody keeps a waker: the tasks can be freed.
    drop((stream, late, listener));
    drop(waker);
    assert_eq!(Arc::strong_count(&woken), 1);
    // The handle outlives it and does nothing.
    handle.unpark();
    assert_eq!(handle.rescue(time::now(), 8), 0);
    let refused = net::TcpListener::bind("127.0.0.1:0")
        .map(TcpListener::from_std)
        .unwrap();
    assert!(is_gone(&refused.unwrap_err()));
    drop(entered);
    other.write_all(b"x").ok();
}

// WITNESS: poll-io.window, poll-io.watched, hub.watched
#[test]
fn event_between_the_dry_call_and_the_wait_is_seen() {
    let mut reactor = Reactor::with_backend(Backend::Poll).unwrap();
    let _entered = reactor.handle().enter();
    let (stream, mut other) = {
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let other = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        (mio::net::TcpStream::from_std(stream), other)
    };
    let interest = Interest::READABLE | Interest::WRITABLE;
    let io = Io::new(stream, interest, Waiters::one(), hub()).unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    let half = crate::backend::poll::Half::Read;
    let kind = mainspring_core::wait::WaitKind::Read;
    let poll = |cx: &mut Context<'_>, after_the_first: &mut dyn FnMut()| {
        let mut calls = 0;
        let polled = io.poll_io(cx, half, kind, |mut socket| {
            calls += 1;
            let result = io::Read::read(&mut socket, &mut [0; 8]);
            if calls == 1 {
                after_the_first();
            }
            result
        });
        (polled.map(Result::unwrap), calls)
    };
    // The byte comes after the call that ran dry, before any poll is told of the socket.
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut counting = Context::from_waker(&waker);
    let polled = poll(&mut counting, &mut || {
        assert_eq!(hub().registered(), 0);
        other.write_all(b"x").unwrap();
    });
    assert_eq!((polled, hub().registered()), ((Poll::Pending, 1), 1));
    let _turn = reactor.park(Until::Forever).unwrap();
    assert_eq!(
        count.0.load(SeqCst),
        1,
        "the registration has reported nothing"
    );
    assert_eq!(poll(&mut cx, &mut || {}), (Poll::Ready(1), 1));
    // After the call that ran dry, and the driver has its turn.
    let polled = poll(&mut cx, &mut || {
        other.write_all(b"x").unwrap();
        let _turn = reactor.park(Until::Forever).unwrap();
    });
    assert_eq!(polled, (Poll::Ready(1), 2));
}

#[cfg(unix)]
mod lazy;
#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
))]
mod moves;
#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
))]
mod ring;
#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
))]
mod teardown;
#[cfg(unix)]
mod worker;

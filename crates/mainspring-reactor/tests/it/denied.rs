//! Where the ring is not to be had: why, and what serves instead.

use crate::rig::{self, drive, pair};
use mainspring_core::driver::{Driver, Until};
use mainspring_core::time;
use mainspring_reactor::net::TcpStream;
use mainspring_reactor::{Backend, Reactor, ReactorError, RingRefusal};
use std::future::Future;
use std::io::Write;
use std::net;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

/// One instruction of the filter's.
fn step(code: u32, jump_true: u8, jump_false: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: jump_true,
        jf: jump_false,
        k,
    }
}

/// Has these system calls of this thread, and of those that it starts, fail with that error from
/// now on, as the filter of a container does.
fn deny(calls: &[libc::c_long], error: i32) {
    let mut steps = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for call in calls {
        let call = u32::try_from(*call).unwrap();
        steps.push(step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            call,
        ));
        let answer = libc::SECCOMP_RET_ERRNO | error as u32;
        steps.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, answer));
    }
    let allow = libc::SECCOMP_RET_ALLOW;
    steps.push(step(libc::BPF_RET | libc::BPF_K, 0, 0, allow));
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: [uring-hub.closed] the call takes numbers.
    let done = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: [uring-hub.closed] the program lives during the call, which copies it.
    let done = unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

const RING: [libc::c_long; 3] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// The ring is refused by its name, for that reason.
fn refused(reason: RingRefusal) {
    for make in [Reactor::with_backend, Reactor::shared] {
        let error = make(Backend::Uring).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
        let text = error.to_string();
        assert!(
            text.contains("MS0009") && text.contains(&reason.to_string()),
            "{text}"
        );
        match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(ReactorError::NoRing(found)) => assert_eq!(*found, reason),
            other => panic!("{other:?}"),
        }
    }
}

/// Readiness serves, and says why.
fn falls_back(reason: RingRefusal) {
    if std::env::var_os("MAINSPRING_BACKEND").is_some() {
        return eprintln!("NOT RUN: the environment asks for a backend itself");
    }
    let explained = Backend::explain();
    assert_eq!(explained.used(), Backend::Poll);
    assert_eq!(explained.refusal(), Some(reason));
    assert!(explained.to_string().contains(&reason.to_string()));
    for make in [Reactor::with_backend, Reactor::shared] {
        let mut reactor = make(Backend::Auto).unwrap();
        assert_eq!(reactor.backend(), Backend::Poll);
        assert_eq!(reactor.refusal(), Some(reason));
        rig::expect(Backend::Poll);
        let _entered = reactor.handle().enter();
        drive(&mut reactor, async {
            let (mut client, mut server) = pair().await;
            client.write_all(b"abc").await.unwrap();
            let (read, buf) = server.read_owned(Vec::with_capacity(8)).await;
            assert_eq!((read.unwrap(), buf.as_slice()), (3, b"abc".as_slice()));
        });
    }
}

/// On a thread of its own, which nobody else has to share the filter with.
fn alone(test: impl FnOnce() + Send + 'static) {
    thread::spawn(test).join().unwrap();
}

#[test]
fn filter_of_system_calls_is_named_and_readiness_serves() {
    alone(|| {
        deny(&RING, libc::EPERM);
        falls_back(RingRefusal::Filtered);
        refused(RingRefusal::Filtered);
    });
}

#[test]
fn kernel_without_a_ring_is_named_and_readiness_serves() {
    alone(|| {
        deny(&RING, libc::ENOSYS);
        falls_back(RingRefusal::Missing);
        refused(RingRefusal::Missing);
    });
}

/// The filter lets the ring be made, and not be used for what it is for.
#[test]
fn ring_that_cannot_register_is_refused() {
    alone(|| {
        deny(&[libc::SYS_io_uring_register], libc::EPERM);
        falls_back(RingRefusal::Filtered);
        refused(RingRefusal::Filtered);
    });
}

#[test]
fn want_of_descriptors_is_named() {
    rig::alone("denied::want_of_descriptors_is_named", || {
        if Backend::explain().refusal().is_some() {
            return eprintln!("NOT RUN, for want of a ring");
        }
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut hogs = Vec::new();
        while let Ok(hog) = listener.try_clone() {
            hogs.push(hog);
        }
        assert_eq!(Backend::explain().refusal(), Some(RingRefusal::Descriptors));
        refused(RingRefusal::Descriptors);
        assert!(RingRefusal::Descriptors.is_transient());
        // Enough for the ring, and not for what it is called back by.
        hogs.pop();
        refused(RingRefusal::Descriptors);
        hogs.clear();
        assert_eq!(Backend::explain().used(), Backend::Uring);
        Reactor::with_backend(Backend::Uring).unwrap();
    });
}

#[test]
fn environment_asks_for_readiness() {
    let name = "denied::environment_asks_for_readiness";
    let output = rig::child_with(name, &[("MAINSPRING_BACKEND", "poll")], || {
        let explained = Backend::explain();
        assert_eq!(explained.used(), Backend::Poll);
        assert_eq!(explained.refusal(), Some(RingRefusal::Environment));
        let reactor = Reactor::new().unwrap();
        assert_eq!(reactor.backend(), Backend::Poll);
        assert_eq!(reactor.refusal(), Some(RingRefusal::Environment));
        assert!(
            reactor
                .explanation()
                .to_string()
                .contains("MAINSPRING_BACKEND")
        );
        // By its name it is still to be had, if there is one.
        match Reactor::with_backend(Backend::Uring) {
            Ok(reactor) => assert_eq!(reactor.backend(), Backend::Uring),
            Err(error) => assert!(error.to_string().contains("MS0009"), "{error}"),
        }
    });
    rig::succeeded(output);
}

#[test]
fn environment_that_asks_for_something_else_is_told_so_once() {
    let name = "denied::environment_that_asks_for_something_else_is_told_so_once";
    let output = rig::child_with(name, &[("MAINSPRING_BACKEND", "epoll")], || {
        let explained = Backend::explain();
        assert_ne!(explained.refusal(), Some(RingRefusal::Environment));
        assert_eq!(Reactor::new().unwrap().refusal(), explained.refusal());
    });
    if let Some(output) = &output {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.matches("MS0012").count(), 1, "{said}");
        assert!(said.contains("\"epoll\""), "{said}");
    }
    rig::succeeded(output);
}

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// What has completed is told, although the wait fails.
// WITNESS: uring-hub.answered
#[test]
fn wait_that_fails_loses_no_completion() {
    alone(|| {
        let mut reactor = match Reactor::shared(Backend::Uring) {
            Ok(reactor) => reactor,
            Err(error) => return eprintln!("NOT RUN, for want of a ring: {error}"),
        };
        let _entered = reactor.handle().enter();
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut other = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut stream = TcpStream::from_std(listener.accept().unwrap().0).unwrap();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        let mut buf = [0; 4];
        assert!(pin!(stream.read(&mut buf)).poll(&mut cx).is_pending());
        let _turn = reactor.park(Until::Now).unwrap();
        deny(&RING, libc::ENXIO);
        // The kernel posts the completion when this thread comes back from a system call.
        other.write_all(b"abc").unwrap();
        let soon = time::now().saturating_add(Duration::from_secs(1));
        let error = reactor.park(Until::At(soon)).unwrap_err();
        assert!(error.to_string().contains("wait for sockets"), "{error}");
        assert_eq!(count.0.load(SeqCst), 1, "nobody will tell it any more");
        match pin!(stream.read(&mut buf)).poll(&mut cx) {
            Poll::Ready(read) => assert_eq!(&buf[..read.unwrap()], b"abc"),
            Poll::Pending => panic!("the bytes are lost"),
        }
    });
}

/// The pass of the suite that denies the ring does what it says.
#[test]
fn suite_without_a_ring_has_none() {
    if std::env::var_os("MAINSPRING_TEST_DENIED").is_some() {
        assert_eq!(Backend::explain().refusal(), Some(RingRefusal::Filtered));
        refused(RingRefusal::Filtered);
    }
}

//! What the tests of a ring share.

use super::{Completed, Hub, Profile};
use mainspring_core::driver::Until;
use socket2::Socket;
use std::io::{Read, Write};
use std::net;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Wake, Waker};
use std::time::Duration;

/// Counts how often it is woken.
#[derive(Default)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) fn waker() -> (Arc<Self>, Waker) {
        let count = Arc::new(Self::default());
        (Arc::clone(&count), Waker::from(count))
    }

    pub(crate) fn woken(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A hub, and this thread its owner. It is closed in the end.
pub(crate) struct Owner(Arc<Hub>);

impl Owner {
    /// `None`, said loudly, where the kernel has no ring.
    pub(crate) fn new(profile: Profile) -> Option<Self> {
        match Hub::new(profile) {
            Ok(hub) => Some(Self(Arc::new(hub))),
            Err(refusal) => {
                eprintln!("NOT RUN, for want of a ring: {refusal}");
                None
            }
        }
    }

    pub(crate) fn hub(&self) -> Arc<Hub> {
        Arc::clone(&self.0)
    }

    /// One turn. Returns how many were woken.
    pub(crate) fn turn(&self, until: Until) -> usize {
        let mut completed: Vec<Completed> = Vec::new();
        self.0.park(until, &mut completed).unwrap();
        self.0.dispatch(&completed)
    }

    /// Turns until that holds: each waits for the kernel.
    pub(crate) fn until(&self, mut holds: impl FnMut() -> bool) {
        while !holds() {
            self.turn(Until::Forever);
        }
    }

    /// What is in the kernel's hands, is posted: some turns that do not wait.
    pub(crate) fn look(&self) {
        for _ in 0..8 {
            self.turn(Until::Now);
        }
    }
}

impl Deref for Owner {
    type Target = Hub;

    fn deref(&self) -> &Hub {
        &self.0
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// A connection: this side for the ring, and the blocking other side.
pub(crate) fn pair() -> (Socket, net::TcpStream) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let other = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    other.set_nodelay(true).unwrap();
    // A watchdog: what a test waits for comes at once, or never.
    other
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    (listener.accept().unwrap().0.into(), other)
}

/// Whether the other side's descriptor is closed, which is waited for.
pub(crate) fn is_closed(mut other: &net::TcpStream) -> bool {
    match other.read(&mut [0; 1]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

pub(crate) fn send(mut other: &net::TcpStream, bytes: &[u8]) {
    other.write_all(bytes).unwrap();
}

/// How many of so many connections this process may have, both ends of each. Fewer are said loudly.
pub(crate) fn affordable(wanted: usize) -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: [ring-stream.owns] one struct, valid during the call, which writes it.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: [ring-stream.owns] one struct, valid during the call, which reads it.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    let most = usize::try_from(limit.rlim_max).unwrap_or(usize::MAX);
    let count = wanted.min((most.saturating_sub(128)) / 2);
    if count < wanted {
        eprintln!("SCALED DOWN to {count} connections instead of {wanted}: the limit is {most}");
    }
    count
}

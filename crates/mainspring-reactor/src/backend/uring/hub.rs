//! What a ring's reactor shares with its sockets and with other threads: a turn, requests from
//! elsewhere, and the end.
//!
//! # Invariants
//!
//! - **uring-hub.outside** — wakers are called, and whatever a socket holds is dropped, with no
//!   lock held.
//! - **uring-hub.order** — entries reach the kernel in the order in which they were handed in by
//!   whoever ordered them: a cancellation never before what it cancels.
//! - **uring-hub.answered** — an operation that was begun is answered by a completion, one of ours
//!   if the kernel never saw it. So whoever waits is told when the reactor goes.
//! - **uring-hub.closed** — a closed hub begins nothing.
//! - **uring-hub.kick** — an owner that sleeps is called back by an event that the kernel reports
//!   through the ring, for as long as the ring lives; a rescuer that has taken the report out, and
//!   finds the owner called and not awake, makes another.
//!
//! # Rejected
//!
//! Asking for the memory of sockets and tasks some completions ahead: a quarter of what is not the
//! kernel's time is spent on waiting for it, and echo measured the same.
//!
//! # The end
//!
//! Nothing more is begun; everything in flight is cancelled; completions are taken until the last
//! one or the limit. What the kernel still owns then is leaked on purpose, and one line says so:
//! closing a ring is no barrier, and the kernel may write into memory long after.

use super::cell::{self, Kind};
use super::expedite::expedite;
use super::provided::Pool;
use super::remote::Remote;
use super::ring::{Completed, Ring};
use super::{Profile, listener, stream};
use crate::backend::RingRefusal;
use crate::backend::notify::{Notify, OnNotify, OnSleep};
use io_uring::opcode;
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{CancelBuilder, Fd};
use mainspring_core::WakeBatch;
use mainspring_core::driver::Until;
use mainspring_core::payload::absorb;
use mainspring_core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use mainspring_core::time;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::task::Waker;
use std::thread;
use std::time::Duration;

/// How long the end waits for the kernel.
const END_LIMIT: Duration = Duration::from_secs(2);

/// How long the end waits before it tries again what the kernel has refused.
const END_PAUSE: Duration = Duration::from_millis(1);

/// The reactor has gone: nothing was begun.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// What a ring's reactor shares.
pub(crate) struct Hub {
    ring: Ring,
    pool: Arc<Pool>,
    notify: Notify,
    event: OwnedFd,
    remote: Remote<Entry>,
    is_closed: AtomicBool,
    /// Operations that the kernel, the backlog or `remote` has been given, and those that have
    /// ended: the others are in flight.
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// Operations that were asked to stop since the last turn.
    stops: AtomicUsize,
    sockets: AtomicUsize,
}

impl Hub {
    pub(crate) fn new(profile: Profile) -> Result<Self, RingRefusal> {
        let mut pool = None;
        let ring = Ring::new(profile, |ring| {
            let (shared, provider) = Pool::register(ring)?;
            pool = Some(shared);
            Ok(provider)
        })?;
        let hub = Self {
            ring,
            pool: pool.ok_or(RingRefusal::Other { code: 0 })?,
            notify: Notify::new(),
            event: event().map_err(|error| match error.raw_os_error() {
                Some(libc::EMFILE | libc::ENFILE) => RingRefusal::Descriptors,
                code => RingRefusal::Other {
                    code: code.unwrap_or(0),
                },
            })?,
            remote: Remote::new(),
            is_closed: AtomicBool::new(false),
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            stops: AtomicUsize::new(0),
            sockets: AtomicUsize::new(0),
        };
        hub.listen_for_kicks();
        Ok(hub)
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    pub(crate) fn profile(&self) -> Profile {
        self.ring.profile()
    }

    /// Whether this is the thread that made it.
    #[inline]
    pub(crate) fn is_owner(&self) -> bool {
        self.ring.is_owner()
    }

    /// How many buffers are in the hands of tasks.
    pub(crate) fn pins(&self) -> usize {
        self.pool.pins() as usize
    }

    /// How many sockets belong to it.
    pub(crate) fn len(&self) -> usize {
        self.sockets.load(Relaxed)
    }

    pub(crate) fn enrol(&self) {
        self.sockets.fetch_add(1, Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.sockets.fetch_sub(1, Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// How many operations have begun here.
    pub(crate) fn begun(&self) -> usize {
        self.begun.load(Relaxed)
    }

    /// How many of them have not ended.
    pub(crate) fn in_flight(&self) -> usize {
        // In this order, so that none is counted as ended before it has begun.
        let ended = self.ended.load(Relaxed);
        self.begun().wrapping_sub(ended)
    }

    /// Begins an operation, whose completion will come. If it says `Gone`, nothing has begun, and
    /// the reference in the entry's number is still the caller's.
    ///
    /// # Safety
    ///
    /// The entry's number comes from `cell::lend`, and what it points to stays valid until its last
    /// completion ([uring.memory]).
    pub(crate) unsafe fn begin(&self, entry: Entry) -> Result<(), Gone> {
        // Before it can be answered.
        self.begun.fetch_add(1, Relaxed);
        // SAFETY: [uring.memory] the caller's.
        let begun = unsafe { self.hand_in(entry) };
        if begun.is_err() {
            self.begun.fetch_sub(1, Relaxed);
        }
        begun
    }

    /// Asks the kernel to stop an operation. Its completion will come soon, by that or by itself.
    pub(crate) fn cancel(&self, number: u64) {
        let entry = opcode::AsyncCancel::new(number)
            .build()
            .flags(Flags::SKIP_SUCCESS)
            .user_data(Kind::Nothing as u64);
        self.stops.fetch_add(1, Relaxed);
        // SAFETY: [uring.memory] it points to nothing: the number is compared, not followed.
        // A closed hub has cancelled everything.
        let _ = unsafe { self.hand_in(entry) };
    }

    /// # Safety
    ///
    /// As for `begin`, but that a number of a kind without owner is fine too.
    unsafe fn hand_in(&self, entry: Entry) -> Result<(), Gone> {
        if self.ring.is_owner() {
            if self.is_closed() {
                return Err(Gone);
            }
            // CLAIM: [uring-hub.order] first what others have handed in before.
            self.take_remote();
            // SAFETY: [uring.memory] the caller's.
            unsafe { self.ring.push(entry) };
            return Ok(());
        }
        // CLAIM: [uring-hub.closed] or it is refused.
        self.remote.hand_in(entry).map_err(|_| Gone)?;
        self.unpark();
        Ok(())
    }

    /// By the owner: pushes what other threads have handed in.
    fn take_remote(&self) {
        for entry in self.remote.take() {
            // SAFETY: [uring.memory] whoever handed it in vouched for it.
            unsafe { self.ring.push(entry) };
        }
    }

    fn listen_for_kicks(&self) {
        let entry = opcode::PollAdd::new(Fd(self.event.as_raw_fd()), libc::POLLIN as u32)
            .multi(true)
            .build()
            .user_data(Kind::Kick as u64);
        // SAFETY: [uring.memory] it points to nothing, and the kernel holds the file itself.
        // CLAIM: [uring-hub.kick] a closed hub does not sleep.
        let _ = unsafe { self.hand_in(entry) };
    }

    /// By the owner: submits, waits as long as `until` says, and copies out what has completed.
    pub(crate) fn park(&self, until: Until, into: &mut Vec<Completed>) -> io::Result<()> {
        self.ring.provide();
        self.take_remote();
        let stops = self.stops.swap(0, Relaxed) > 0;
        let result = if until == Until::Now {
            self.notify.wake_up();
            let result = self.ring.look();
            if stops {
                // What a cancellation ends is posted by the entry after it: a turn that looks sees
                // dropped sockets off.
                result.and_then(|()| self.ring.look())
            } else {
                result
            }
        } else {
            match self.notify.fall_asleep() {
                OnSleep::Look => self.ring.look(),
                OnSleep::Wait => {
                    let result = match until.limit(time::now) {
                        Some(Duration::ZERO) => self.ring.look(),
                        limit => self.ring.wait(limit),
                    };
                    self.notify.wake_up();
                    result
                }
            }
        };
        self.ring.reap(into);
        result
    }

    /// By anybody: does a turn for an owner that does not come. `false` if nothing was done.
    pub(crate) fn rescue(&self, limit: usize, into: &mut Vec<Completed>) -> bool {
        if self.profile() == Profile::Owned {
            return false;
        }
        expedite();
        self.ring.rescue(limit, into);
        if into.iter().any(|one| cell::kind(one.data) == Kind::Kick) && self.notify.is_notified() {
            // CLAIM: [uring-hub.kick] it was for the owner, who may have been about to sleep: the
            // kernel waits for what comes after that which we have taken.
            self.kick();
        }
        !into.is_empty()
    }

    /// By the owner: whether a turn would bring something.
    pub(crate) fn peek(&self) -> bool {
        self.ring.peek()
    }

    /// Calls the owner back if it sleeps, and keeps it from sleeping if it does not.
    pub(crate) fn unpark(&self) {
        if self.notify.notify() == OnNotify::Kick {
            self.kick();
        }
    }

    fn kick(&self) {
        let one = 1_u64.to_ne_bytes();
        // It cannot fail: the descriptor is ours, and the count never comes near its end.
        // SAFETY: [uring-hub.kick] eight bytes of the array are read during the call.
        let _ = unsafe { libc::write(self.event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Tells the sockets what has completed, and wakes who waited for it. Returns how many.
    pub(crate) fn dispatch(&self, completed: &[Completed]) -> usize {
        let mut woken = 0;
        let mut batch = WakeBatch::new();
        for one in completed {
            let waker = self.complete(*one, &mut woken);
            if let Some(waker) = waker {
                woken += 1;
                if let Err(waker) = batch.push(waker) {
                    absorb(|| batch.wake_all());
                    let pushed = batch.push(waker);
                    debug_assert!(pushed.is_ok(), "uring-hub.outside: no room after all");
                }
            }
        }
        absorb(|| batch.wake_all());
        woken
    }

    fn complete(&self, completed: Completed, woken: &mut usize) -> Option<Waker> {
        match cell::kind(completed.data) {
            Kind::Nothing => None,
            Kind::Kick => {
                if !io_uring::cqueue::more(completed.flags) {
                    self.listen_for_kicks();
                }
                None
            }
            // SAFETY: [cell.lent, cell.kind] the number comes from the kernel, or has never been
            // there: its reference is still lent.
            Kind::Read => unsafe { stream::complete_read(self, completed) },
            // SAFETY: [cell.lent, cell.kind] as above.
            Kind::Write => unsafe { stream::complete_write(self, completed) },
            Kind::Accept => {
                // SAFETY: [cell.lent, cell.kind] as above.
                *woken += unsafe { listener::complete(self, completed) };
                None
            }
        }
    }

    /// The last completion of an operation has been taken.
    pub(crate) fn ended(&self) {
        let before = self.ended.fetch_add(1, Relaxed);
        debug_assert!(
            before != self.begun(),
            "uring-hub.answered: more answers than questions"
        );
    }

    /// The reactor goes. By the owner.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Relaxed);
        let mut unbegun = self.remote.close();
        unbegun.extend(self.ring.take_backlog());
        let answers: Vec<Completed> = unbegun
            .iter()
            .map(|entry| Completed {
                data: entry.get_user_data(),
                result: -libc::ECANCELED,
                flags: 0,
            })
            .collect();
        // CLAIM: [uring-hub.answered]
        absorb(|| {
            self.dispatch(&answers);
        });
        self.drain();
        let left = self.in_flight();
        if left > 0 {
            eprintln!(
                "mainspring: {left} operations of a ring are still with the kernel after \
                 {END_LIMIT:?}; their memory is kept for ever (MS0010)"
            );
        }
    }

    fn drain(&self) {
        let everything = opcode::AsyncCancel2::new(CancelBuilder::any())
            .build()
            .user_data(Kind::Nothing as u64);
        // SAFETY: [uring.memory] it points to nothing.
        unsafe { self.ring.push(everything) };
        let end = time::now().saturating_add(END_LIMIT);
        let mut completed = Vec::new();
        while self.in_flight() > 0 {
            let left = end.since(time::now());
            if left.is_zero() {
                return;
            }
            // In slices: of a shared ring somebody else may take the last completion.
            let slice = left.min(Duration::from_millis(5));
            if self.ring.wait(Some(slice)).is_err() {
                // It may pass, and nothing else could be done than to leak at once.
                thread::sleep(END_PAUSE.min(left));
            }
            completed.clear();
            self.ring.reap(&mut completed);
            absorb(|| {
                self.dispatch(&completed);
            });
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        debug_assert_eq!(
            self.in_flight(),
            0,
            "carrier.kept: a ring is kept by the sockets whose operations it carries"
        );
    }
}

fn event() -> io::Result<OwnedFd> {
    // SAFETY: [uring-hub.kick] no pointers are passed.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: [uring-hub.kick] the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("profile", &self.profile())
            .field("in_flight", &self.in_flight())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

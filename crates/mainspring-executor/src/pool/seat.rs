//! Blocking on a future from a thread that is no worker: the thread gets a driver of its own.
//!
//! It is made at the first call, kept for the next ones, and invisible to stealing: the thread
//! polls the one future and serves what that waits for.
//!
//! # Invariants
//!
//! - **seat.kept** — a thread keeps one driver a pool, which goes when the thread ends, or at its
//!   next call here after the pool has gone.
//! - **seat.not-twice** — a driver is out of the thread's store while it is used, and goes back on
//!   unwind too; a call that finds none makes another.

use super::PoolHandle;
use super::hub::Hub;
use super::thread::Plan;
use crate::drive::Drive;
use crate::outer_turn::OuterTurn;
use crate::root::Root;
use mainspring_core::driver::{DriverHandle, Until};
use mainspring_core::load::{self, Load};
use mainspring_core::time::{self, Nanos};
use mainspring_core::{budget, poll};
use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::ptr;
// DOOR: a counter of numbers, behind a thread that blocks.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

/// How a pool's seats are made.
pub(super) struct Seats {
    plan: Arc<Plan>,
    /// Drivers that the workers do not have get numbers from here on.
    next: AtomicUsize,
}

/// A thread's driver for one pool.
struct Seat {
    pool: Weak<Seats>,
    drive: Drive,
    handle: Arc<dyn DriverHandle>,
}

thread_local! {
    static KEPT: RefCell<Vec<Seat>> = const { RefCell::new(Vec::new()) };
}

impl Seats {
    pub(super) fn new(plan: Arc<Plan>, workers: usize) -> Arc<Self> {
        Arc::new(Self {
            plan,
            next: AtomicUsize::new(workers),
        })
    }

    /// What the workers were made by, too.
    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// A number for a driver that no other one has.
    pub(super) fn next_number(&self) -> usize {
        self.next.fetch_add(1, Relaxed)
    }

    fn make(self: &Arc<Self>) -> io::Result<Seat> {
        let number = self.next_number();
        let driver = self.plan.make_driver(number)?;
        Ok(Seat {
            pool: Arc::downgrade(self),
            handle: driver.handle(),
            drive: Drive::new(driver),
        })
    }
}

/// A seat that goes back into the thread's store.
struct Borrowed(Option<Seat>);

impl Borrowed {
    fn take(seats: &Arc<Seats>) -> io::Result<Self> {
        let mut gone = Vec::new();
        // During thread-local destruction there is none to be had: a fresh one serves.
        let kept = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            let (those_gone, mut alive): (Vec<_>, Vec<_>) = std::mem::take(&mut *kept)
                .into_iter()
                .partition(|seat| seat.pool.strong_count() == 0);
            gone = those_gone;
            let is_ours = |seat: &Seat| ptr::eq(seat.pool.as_ptr(), Arc::as_ptr(seats));
            let at = alive.iter().position(is_ours);
            let found = at.map(|at| alive.swap_remove(at));
            *kept = alive;
            found
        });
        // CLAIM: [seat.kept] what a driver does when it goes is foreign code: outside the borrow.
        drop(gone);
        let seat = match kept.ok().flatten() {
            Some(seat) => seat,
            None => seats.make()?,
        };
        Ok(Self(Some(seat)))
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        let seat = self.0.take();
        let mut left = None;
        let _ = KEPT.try_with(|kept| match kept.try_borrow_mut() {
            // CLAIM: [seat.not-twice] one a pool: of two, the later one goes.
            Ok(mut kept) => match seat {
                Some(seat) if kept.iter().any(|other| other.pool.ptr_eq(&seat.pool)) => {
                    left = Some(seat);
                }
                seat => kept.extend(seat),
            },
            Err(_) => left = seat,
        });
        drop(left);
    }
}

/// Runs `future` on this thread until it is ready.
pub(super) fn block_on<F: Future>(
    seats: &Arc<Seats>,
    pool: &PoolHandle,
    future: F,
) -> io::Result<F::Output> {
    let mut seat = Borrowed::take(seats)?;
    let Seat { drive, handle, .. } = seat
        .0
        .as_mut()
        .expect("a borrowed seat is there until it is dropped");
    let root = Root::new(Arc::clone(handle));
    let waker = root.waker();
    let mut cx = Context::from_waker(&waker);
    let _turn = OuterTurn::keep();
    let _budget = budget::enter(seats.plan.budget);
    let hub = pool.hub();
    let _entered = handle
        .enter()
        .and(pool.enter())
        .and(load::enter(Arc::new(Outside(hub.clone()))));
    let mut future = pin!(future);
    let mut polled = poll::Root::new();
    let mut now = time::now();
    loop {
        if root.take() {
            poll::begin_turn(now);
            if let Poll::Ready(output) = polled.poll(|| future.as_mut().poll(&mut cx)) {
                // What was dropped last, a socket say, is seen off.
                let _turn = drive.park(Until::Now);
                return Ok(output);
            }
        }
        let until = if root.is_woken() {
            Until::Now
        } else {
            Until::Forever
        };
        now = drive.park(until).now;
    }
}

/// The pool's load as a thread outside sees it, which runs none of its tasks.
struct Outside(Hub);

impl Load for Outside {
    fn delay(&self) -> Option<Nanos> {
        None
    }

    fn has_work(&self) -> bool {
        self.0.has_work()
    }
}

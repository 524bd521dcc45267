//! What a worker's thread has at hand wherever it is called from: its end of its queue.
//!
//! A waker that is called during a poll has to find the queue of the worker that polls. So each
//! worker puts a pointer to its desk into a thread-local for its life.
//!
//! # Invariants
//!
//! - **desk.current** — the thread-local points to a desk that is alive, of the worker whose thread
//!   this is, or is null.
//! - **desk.first-in-slot** — of the tasks that one turn of the driver wakes, the first stands in
//!   the slot and the others in the queue, in order.
//! - **desk.yield-last** — a task that yielded or woke itself goes to the back of the queue.

use super::shared::Shared;
use crate::queue::local::Local;
use mainspring_core::sync::thread_local;
use mainspring_core::task::{Runnable, WakeCause};
use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

thread_local! {
    static CURRENT: Cell<*const Desk> = const { Cell::new(ptr::null()) };
}

/// A worker's desk. It stays where it is while it is current.
pub(crate) struct Desk {
    /// Whose it is: an address to compare.
    shared: *const Shared,
    worker: usize,
    queue: Local<Runnable>,
    /// The driver's turn is under way.
    is_driving: Cell<bool>,
    /// Something was pushed, and nobody has looked at the idle word behind a fence since.
    is_pushed: Cell<bool>,
    yields: Cell<u64>,
}

impl Desk {
    pub(crate) fn new(shared: &Shared, worker: usize, queue: Local<Runnable>) -> Self {
        Self {
            shared,
            worker,
            queue,
            is_driving: Cell::new(false),
            is_pushed: Cell::new(false),
            yields: Cell::new(0),
        }
    }

    /// Queues a task that was woken or spawned on this thread.
    #[inline]
    pub(super) fn take(&self, shared: &Shared, runnable: Runnable, why: WakeCause) {
        match why {
            WakeCause::Wake => self.take_woken(shared, runnable),
            WakeCause::Yield => {
                self.yields.set(self.yields.get() + 1);
                self.push(shared, runnable);
            }
            // CLAIM: [desk.yield-last] and what is new or is to end has no claim to be next.
            _ => self.push(shared, runnable),
        }
    }

    #[inline]
    fn take_woken(&self, shared: &Shared, runnable: Runnable) {
        let slot = &shared.remotes[self.worker].slot;
        if self.is_driving.get() && !slot.is_empty() {
            // CLAIM: [desk.first-in-slot]
            self.push(shared, runnable);
        } else if let Some(before) = slot.put(runnable) {
            self.push(shared, before);
        }
    }

    /// Queues at the back, for this worker and thieves.
    #[inline]
    fn push(&self, shared: &Shared, runnable: Runnable) {
        // One task that is ready needs no second worker: this one comes to it at once, as a rule.
        let is_second = !self.queue.is_empty();
        self.queue.push(runnable);
        self.is_pushed.set(true);
        if is_second {
            shared.unpark(shared.idle.hint(self.worker));
        }
    }

    /// Queues what was taken from elsewhere, which its taker tells nobody.
    pub(super) fn keep(&self, runnable: Runnable) {
        self.queue.push(runnable);
        self.is_pushed.set(true);
    }

    /// Something was stolen into the queue, which the thief tells nobody.
    pub(super) fn note_stolen(&self) {
        self.is_pushed.set(true);
    }

    /// At the end of a turn: looks at the idle word behind a fence, if something was pushed since
    /// the last look that this worker will not come to next.
    #[inline]
    pub(super) fn settle(&self, shared: &Shared) {
        if !self.is_pushed.get() {
            return;
        }
        let slot = &shared.remotes[self.worker].slot;
        match self.queue.len() + usize::from(!slot.is_empty()) {
            0 => self.is_pushed.set(false),
            1 => {}
            // CLAIM: [pool.noticed] what stands in the queue now was pushed before this fence.
            _ => shared.unpark(shared.idle.notify(self.worker)),
        }
    }

    pub(super) fn queue(&self) -> &Local<Runnable> {
        &self.queue
    }

    /// How many polls have yielded.
    pub(super) fn yields(&self) -> u64 {
        self.yields.get()
    }

    /// The driver's turn begins or ends.
    pub(super) fn set_driving(&self, is_driving: bool) {
        self.is_driving.set(is_driving);
    }
}

/// Calls `with` with the desk of the worker of `shared` whose thread this is, and the value. Gives
/// the value back if the thread is none.
#[inline]
pub(super) fn with_current<T>(shared: &Shared, value: T, with: impl FnOnce(&Desk, T)) -> Option<T> {
    // A thread that ends has left its desk before.
    let desk = CURRENT.with(Cell::get);
    // SAFETY: [desk.current] it is null, or alive and this thread's.
    match unsafe { desk.as_ref() } {
        Some(desk) if ptr::eq(desk.shared, shared) => {
            with(desk, value);
            None
        }
        _ => Some(value),
    }
}

/// The number of this thread's worker in this pool, if it is one.
pub(super) fn current_worker(shared: &Shared) -> Option<usize> {
    let mut worker = None;
    let _ = with_current(shared, (), |desk, ()| worker = Some(desk.worker));
    worker
}

/// A desk is current on this thread while this lives.
#[must_use = "the desk is current only while the guard lives"]
pub(super) struct Seated {
    before: *const Desk,
    /// Keeps it where the thread-local points to.
    _desk: Rc<Desk>,
}

impl Seated {
    /// Makes the desk current.
    pub(super) fn sit(desk: &Rc<Desk>) -> Self {
        // CLAIM: [desk.current] the guard holds it, and is not forgotten by its callers.
        Self {
            before: CURRENT.with(|current| current.replace(Rc::as_ptr(desk))),
            _desk: Rc::clone(desk),
        }
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.before));
    }
}

//! Two small primitives on the wait list, for its tests: a notification and a weighted semaphore.

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
#[cfg(mainspring_loom)]
use crate::sync::cell::UnsafeCell;
use crate::wait_list::{From, Holds, Kind, Queue, WaitList, Waiter, Why};
use std::pin::Pin;
use std::task::{Context, Poll};

/// One stored notification.
#[derive(Debug, Default)]
pub(super) struct Stored(AtomicBool);

impl Stored {
    fn notify(&self, queue: &mut Queue<'_, Self>, from: From) {
        if !queue.wake_one(from) {
            self.0.swap(true, Relaxed);
        }
    }
}

impl Kind for Stored {
    type Key = ();

    const IS_REVOCABLE: bool = false;

    fn returned(&self, queue: &mut Queue<'_, Self>, (): &(), from: From) {
        self.notify(queue, from);
    }
}

pub(super) fn notify(list: &WaitList<Stored>, from: From) {
    list.with(|queue| queue.kind().notify(queue, from));
}

/// Waits for a notification; says how it came.
pub(super) struct Notified<L: Holds<Kind = Stored>>(pub(super) Waiter<L>);

impl<L: Holds<Kind = Stored>> Notified<L> {
    pub(super) fn new(list: L) -> Self {
        Self(Waiter::new(list, ()))
    }

    pub(super) fn waiter(self: Pin<&mut Self>) -> Pin<&mut Waiter<L>> {
        // SAFETY: [wait-list.node] a projection of the one field; nothing is moved out.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }
    }
}

impl<L: Holds<Kind = Stored>> Future for Notified<L> {
    type Output = Why;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Why> {
        self.waiter().poll_wait(cx, |queue, (), why| match why {
            Why::Offered(_) | Why::Released => Some(why),
            Why::First | Why::Again => queue.kind().0.swap(false, Relaxed).then_some(why),
        })
    }
}

/// Permits, strictly first in, first out. All changes are made under the lock.
#[derive(Debug)]
pub(super) struct Permits(AtomicUsize);

impl Permits {
    pub(super) fn of(permits: usize) -> Self {
        Self(AtomicUsize::new(permits))
    }

    pub(super) fn list(permits: usize) -> WaitList<Self> {
        WaitList::new(Self::of(permits))
    }

    pub(super) fn revocable(permits: usize) -> WaitList<Self> {
        WaitList::revocable(Self::of(permits))
    }

    pub(super) fn available(&self) -> usize {
        self.0.load(Relaxed)
    }

    fn add(&self, permits: usize) {
        self.0.fetch_add(permits, Relaxed);
    }

    fn take(&self, permits: usize) -> bool {
        let fits = self.available() >= permits;
        if fits {
            self.0.fetch_sub(permits, Relaxed);
        }
        fits
    }

    /// Offers what there is to whoever is first.
    fn settle(&self, queue: &mut Queue<'_, Self>) {
        while let Some(wanted) = queue.peek(From::Oldest, |wanted| *wanted) {
            if !self.take(wanted) {
                return;
            }
            queue.wake_one(From::Oldest);
        }
    }
}

impl Kind for Permits {
    type Key = usize;

    const IS_TAKEN_BACK: bool = true;

    fn returned(&self, queue: &mut Queue<'_, Self>, key: &usize, _: From) {
        self.add(*key);
        self.settle(queue);
    }

    fn left(&self, queue: &mut Queue<'_, Self>, _: &usize) {
        self.settle(queue);
    }

    fn exchange(&self, queue: &mut Queue<'_, Self>, offered: &usize, wanted: &usize) -> bool {
        if self.available() + offered < *wanted {
            return false;
        }
        self.add(*offered);
        let took = self.take(*wanted);
        self.settle(queue);
        took
    }
}

pub(super) fn release(list: &WaitList<Permits>, permits: usize) {
    list.with(|queue| {
        let kind = queue.kind();
        kind.add(permits);
        kind.settle(queue);
    });
}

/// Waits for permits, which it then owns: there is no guard that returns them.
pub(super) struct Acquire<L: Holds<Kind = Permits>>(Waiter<L>);

impl<L: Holds<Kind = Permits>> Acquire<L> {
    pub(super) fn new(list: L, permits: usize) -> Self {
        Self(Waiter::new(list, permits))
    }

    #[cfg(mainspring_loom)]
    pub(super) fn waiter(self: Pin<&mut Self>) -> Pin<&mut Waiter<L>> {
        // SAFETY: [wait-list.node] a projection of the one field; nothing is moved out.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }
    }
}

impl<L: Holds<Kind = Permits>> Future for Acquire<L> {
    type Output = Why;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Why> {
        // SAFETY: [wait-list.node] a projection of the one field; nothing is moved out.
        let waiter = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        waiter.poll_wait(cx, |queue, wanted, why| match why {
            Why::Offered(_) => Some(why),
            Why::First if !queue.is_empty() => None,
            Why::First | Why::Again | Why::Released => queue.kind().take(*wanted).then_some(why),
        })
    }
}

/// A kind whose word loom watches: how often an offer came back.
#[cfg(mainspring_loom)]
pub(super) struct Back(UnsafeCell<u32>);

// SAFETY: [wait-list.retired] it is changed under the list's lock, or by its only user.
#[cfg(mainspring_loom)]
unsafe impl Sync for Back {}

#[cfg(mainspring_loom)]
impl Back {
    pub(super) fn list() -> WaitList<Self> {
        WaitList::revocable(Self(UnsafeCell::new(0)))
    }

    pub(super) fn add(&self, count: u32) -> u32 {
        self.0.with_mut(|word| {
            // SAFETY: [wait-list.retired] as for `Sync`; loom tells if that is not so.
            unsafe { *word += count };
            // SAFETY: [wait-list.retired] as above.
            unsafe { *word }
        })
    }
}

#[cfg(mainspring_loom)]
impl Kind for Back {
    type Key = ();

    fn returned(&self, _: &mut Queue<'_, Self>, (): &(), _: From) {
        self.add(1);
    }
}

#[cfg(mainspring_loom)]
impl Drop for Back {
    fn drop(&mut self) {
        self.add(100);
    }
}

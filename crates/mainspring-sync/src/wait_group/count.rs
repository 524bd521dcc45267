//! How many hold something, and who waits until nobody does.

use crate::parked::Parked;
use mainspring_core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use mainspring_core::wait::WaitKind;
use mainspring_core::wait_list::{Holds, Kind, Queue, WaitList, Why};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A count of holders, and the list of those who wait for zero.
pub(crate) struct Count {
    list: WaitList<Holders>,
}

pub(crate) struct Holders(AtomicUsize);

impl Kind for Holders {
    type Key = ();
}

impl Holders {
    #[inline]
    fn are_none(&self) -> bool {
        // ORDERING: [wait-group.left] Acquire, pairs with `leave`: what the holders did is seen by
        // whoever finds that they have gone. Relaxed would say so before it can be seen.
        self.0.load(Acquire) == 0
    }
}

impl Count {
    pub(crate) fn new(holders: usize) -> Self {
        Self {
            list: WaitList::new(Holders(AtomicUsize::new(holders))),
        }
    }

    /// How many there are now.
    pub(crate) fn holders(&self) -> usize {
        self.list.kind().0.load(Relaxed)
    }

    /// One more.
    pub(crate) fn join(&self) {
        let before = self.list.kind().0.fetch_add(1, Relaxed);
        // Only a program that forgets its holders on purpose gets here.
        assert!(before < usize::MAX / 2, "wait-group.zero: too many holders");
    }

    /// One less. The last one wakes those who wait.
    pub(crate) fn leave(&self) {
        let holders = &self.list.kind().0;
        let mut count = holders.load(Relaxed);
        while count > 1 {
            let less = count - 1;
            // ORDERING: [wait-group.left] Release, pairs with the last `leave`, which acquires, and
            // with `are_none`. Relaxed would hide what this holder did from those who waited.
            match holders.compare_exchange(count, less, Release, Relaxed) {
                Ok(_) => return,
                Err(seen) => count = seen,
            }
        }
        self.list.with(|queue| {
            // CLAIM: [wait-group.zero] the count reaches zero under the lock, and all of those who
            // waited at that moment are released.
            // ORDERING: [wait-group.left] AcqRel: Release as above; Acquire, because those who are
            // released see only what this thread has seen, the other holders' work included.
            if holders.fetch_sub(1, AcqRel) == 1 {
                queue.wake_all();
            }
        });
    }
}

/// Waits until nobody holds a [`Count`]: a part of the futures that do.
pub(crate) struct Zero<L: Holds<Kind = Holders>> {
    parked: Parked<L, ()>,
    is_done: bool,
}

impl<'a> Zero<&'a WaitList<Holders>> {
    pub(crate) fn new(count: &'a Count) -> Self {
        Self {
            parked: Parked::new(&count.list, ()),
            is_done: false,
        }
    }
}

impl<L: Holds<Kind = Holders>> Zero<L> {
    pub(crate) fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>, kind: WaitKind) -> Poll<()> {
        // SAFETY: [parked.pinned] nothing is moved out of `parked` below.
        let this = unsafe { self.get_unchecked_mut() };
        if this.is_done {
            return Poll::Ready(());
        }
        // SAFETY: [parked.pinned] it is pinned as long as `self` is, and dropped in place.
        let parked = unsafe { Pin::new_unchecked(&mut this.parked) };
        let look = |queue: &mut Queue<'_, Holders>, (): &mut (), why| {
            let is_done = why == Why::Released || queue.kind().are_none();
            is_done.then_some(())
        };
        let quick = |holders: &Holders| holders.are_none().then_some(());
        let found = parked.poll(cx, kind, quick, look);
        this.is_done = found.is_ready();
        found
    }
}

//! The right to initialise: one holder at a time, handed on if it is dropped without a value.

use crate::set_once::place::Place;
use mainspring_core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use mainspring_core::wait_list::{From, Kind, Queue, WaitList, Why};
use std::fmt;
use std::mem;

/// A place for a value, and whether somebody makes it.
pub(crate) struct Init<T> {
    place: Place<T>,
    /// Somebody has the right, or was offered it. Changed under the list's lock.
    is_taken: AtomicBool,
}

impl<T> Init<T> {
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub(crate) const fn new() -> Self {
        Self {
            place: Place::new(),
            is_taken: AtomicBool::new(false),
        }
    }

    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub(crate) fn new() -> Self {
        Self {
            place: Place::new(),
            is_taken: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(crate) fn place(&self) -> &Place<T> {
        &self.place
    }

    #[inline]
    pub(crate) fn place_mut(&mut self) -> &mut Place<T> {
        &mut self.place
    }

    pub(crate) fn into_place(self) -> Place<T> {
        self.place
    }

    /// Under the lock: offers the right to the next, or lays it down.
    fn pass_on(&self, queue: &mut Queue<'_, Self>) {
        // CLAIM: [once-cell.right] taken until nobody wants it.
        if !queue.wake_one(From::Oldest) {
            self.is_taken.store(false, Relaxed);
        }
    }
}

impl<T> Kind for Init<T> {
    type Key = ();

    fn returned(&self, queue: &mut Queue<'_, Self>, (): &(), _: From) {
        self.pass_on(queue);
    }
}

/// What there is for somebody who wants the value.
pub(crate) enum Step<'a, T> {
    /// The value is there.
    Set,
    /// This one makes it.
    Make(Right<'a, T>),
}

impl<T> Step<'_, T> {
    /// Without the lock: whether the value is there.
    #[inline]
    pub(crate) fn quick(init: &Init<T>) -> Option<Self> {
        init.place.value().map(|_| Step::Set)
    }
}

/// The look of one who wants the value.
pub(crate) fn look<'a, T>(
    list: &'a WaitList<Init<T>>,
) -> impl FnMut(&mut Queue<'_, Init<T>>, &mut (), Why) -> Option<Step<'a, T>> {
    move |queue, (), why| {
        let init = queue.kind();
        if init.place.value().is_some() {
            return Some(Step::Set);
        }
        let is_ours = matches!(why, Why::Offered(_)) || !init.is_taken.load(Relaxed);
        is_ours.then(|| {
            init.is_taken.store(true, Relaxed);
            Step::Make(Right { list })
        })
    }
}

/// Why a value was not put in.
pub(crate) enum Refused<T> {
    Set(T),
    Taken(T),
}

/// Puts a value in, if there is none and nobody makes one.
pub(crate) fn put<T>(list: &WaitList<Init<T>>, value: T) -> Result<(), Refused<T>> {
    list.with(|queue| {
        let init = queue.kind();
        if init.is_taken.load(Relaxed) {
            return Err(Refused::Taken(value));
        }
        // SAFETY: [set-once.init] under the lock, where nobody else puts.
        match unsafe { init.place.put(value) } {
            None => {
                queue.wake_all();
                Ok(())
            }
            Some(value) => Err(Refused::Set(value)),
        }
    })
}

/// The right to make the value. Dropped, it goes to the next who waits.
pub(crate) struct Right<'a, T> {
    list: &'a WaitList<Init<T>>,
}

impl<T> Right<'_, T> {
    /// Whether it is the right of this cell.
    pub(crate) fn is_of(&self, list: &WaitList<Init<T>>) -> bool {
        std::ptr::eq(self.list, list)
    }

    /// Puts the value in and wakes everybody.
    pub(crate) fn complete(self, value: T) {
        let list = self.list;
        mem::forget(self);
        let back = list.with(|queue| {
            let init = queue.kind();
            init.is_taken.store(false, Relaxed);
            queue.wake_all();
            // SAFETY: [set-once.init] under the lock, where nobody else puts.
            unsafe { init.place.put(value) }
        });
        debug_assert!(back.is_none(), "once-cell.right: made by two");
    }
}

impl<T> Drop for Right<'_, T> {
    fn drop(&mut self) {
        self.list.with(|queue| queue.kind().pass_on(queue));
    }
}

impl<T> fmt::Debug for Right<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Right").finish_non_exhaustive()
    }
}

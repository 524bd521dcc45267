//! A value that is set once, for everybody who waits for it.
//!
//! # Invariants
//!
//! - **set-once.init** — the value is written under the list's lock, once, before IS_SET is
//!   published, and stays where it is until the cell is dropped or taken apart by its owner.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `set-once.set` | `Place::put` | `Place::value` | the value, what its setter did before |
//!
//! # Rejected
//!
//! Claiming the cell by a compare-exchange and writing outside the lock: between the two the cell
//! is neither set nor free, and a second setter would be refused by a value that nobody can see.

pub(crate) mod place;

use self::place::Place;
use crate::block;
use crate::parked::Parked;
use mainspring_core::CancelSafe;
use mainspring_core::wait::WaitKind;
use mainspring_core::wait_list::{Kind, Queue, WaitList, Why};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

/// A place for one value, which is set once, by whoever comes first, and waited for by anybody.
///
/// Use it where one task finds something out that many need. Where the first who needs it also
/// computes it, use a [`OnceCell`](crate::OnceCell) or a [`Lazy`](crate::Lazy); where one receiver
/// gets the value itself, a [`oneshot`](crate::oneshot).
///
/// # Guarantees
///
/// - Once [`set`](Self::set) has returned, `Ok` or an error, [`get`](Self::get) finds a value.
/// - Whoever finds the value sees what its setter did before.
/// - No user code runs, no waker and no value is dropped with the lock held.
///
/// # Complexity
///
/// Getting is one load. Setting takes a short lock, O(n) in those who wait. Nothing is allocated.
///
/// ```
/// use mainspring_sync::SetOnce;
/// use std::thread;
///
/// static ADDRESS: SetOnce<String> = SetOnce::new();
///
/// let waiting = thread::spawn(|| ADDRESS.wait_blocking().len());
/// assert!(ADDRESS.set("[::1]:8080".into()).is_ok());
/// assert!(ADDRESS.set("again".into()).is_err());
/// assert_eq!(waiting.join().unwrap(), 10);
/// ```
pub struct SetOnce<T> {
    list: WaitList<Cell<T>>,
}

/// The kind: nothing but the place.
struct Cell<T>(Place<T>);

impl<T> Kind for Cell<T> {
    type Key = ();
}

impl<T> SetOnce<T> {
    /// An empty cell.
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn new() -> Self {
        Self {
            list: WaitList::new(Cell(Place::new())),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[must_use]
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn new() -> Self {
        Self {
            list: WaitList::new(Cell(Place::new())),
        }
    }

    /// Sets the value and wakes everybody who waits for it.
    ///
    /// # Errors
    ///
    /// The value comes back when there is one already.
    ///
    /// # Panics
    ///
    /// With the first panic of a waker, when every waker was called. The value is set.
    pub fn set(&self, value: T) -> Result<(), SetOnceError<T>> {
        let back = self.list.with(|queue| {
            // SAFETY: [set-once.init] under the lock, where nobody else puts.
            match unsafe { queue.kind().0.put(value) } {
                None => {
                    queue.wake_all();
                    None
                }
                back => back,
            }
        });
        back.map_or(Ok(()), |value| Err(SetOnceError { value }))
    }

    /// The value, if it is set.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.list.kind().0.value()
    }

    /// The value, if it is set, to be changed: nobody else has the cell.
    ///
    /// ```
    /// use mainspring_sync::SetOnce;
    ///
    /// let mut cell = SetOnce::new();
    /// assert_eq!(cell.get_mut(), None);
    /// cell.set(1).unwrap();
    /// *cell.get_mut().unwrap() += 1;
    /// assert_eq!(cell.into_inner(), Some(2));
    /// ```
    #[must_use]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.list.kind_mut().0.value_mut()
    }

    /// The value, if it is set.
    #[must_use]
    pub fn into_inner(self) -> Option<T> {
        self.list.into_kind().0.into_value()
    }

    /// Whether the value is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.get().is_some()
    }

    /// Waits until the value is set.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it loses nothing.
    pub fn wait(&self) -> Wait<'_, T> {
        Wait {
            list: &self.list,
            parked: Parked::new(&self.list, ()),
        }
    }

    /// Blocks this thread until the value is set.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn wait_blocking(&self) -> &T {
        block::wait(pin!(self.wait()))
    }

    /// As [`wait_blocking`](Self::wait_blocking), for `limit` at most.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family.
    #[track_caller]
    pub fn wait_timeout(&self, limit: Duration) -> Option<&T> {
        block::wait_for(pin!(self.wait()), limit)
    }
}

impl<T> Default for SetOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SetOnce<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetOnce")
            .field("value", &self.get())
            .finish_non_exhaustive()
    }
}

/// There is a value already. Here is the one that was refused.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SetOnceError<T> {
    /// The value that was refused.
    pub value: T,
}

impl<T> SetOnceError<T> {
    /// Never: a value that is set stays.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        false
    }
}

impl<T> fmt::Debug for SetOnceError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetOnceError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SetOnceError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value has been set before")
    }
}

impl<T> Error for SetOnceError<T> {}

/// The future of [`SetOnce::wait`].
///
/// # Cancel safety
///
/// *Safe*: dropped early it loses nothing.
#[must_use = "futures do nothing unless polled"]
pub struct Wait<'a, T> {
    list: &'a WaitList<Cell<T>>,
    parked: Parked<&'a WaitList<Cell<T>>, ()>,
}

impl<T> CancelSafe for Wait<'_, T> {}

impl<'a, T> Future for Wait<'a, T> {
    type Output = &'a T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<&'a T> {
        // SAFETY: [parked.pinned] nothing is moved out of `parked` below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [parked.pinned] it is pinned as long as `self` is, and dropped in place.
        let parked = unsafe { Pin::new_unchecked(&mut this.parked) };
        let is_set = |cell: &Cell<T>| cell.0.value().map(|_| ());
        let look = |queue: &mut Queue<'_, Cell<T>>, (): &mut (), _: Why| is_set(queue.kind());
        let list = this.list;
        parked.poll(cx, WaitKind::Notify, is_set, look).map(|()| {
            let value = list.kind().0.value();
            value.expect("set-once.init: a value that is set stays")
        })
    }
}

impl<T> fmt::Debug for Wait<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

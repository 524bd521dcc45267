//! A value with its initialiser, which runs for whoever waits.
//!
//! # Invariants
//!
//! - **lazy.driver** — the initialiser's future is touched by the holder of the cell's right alone,
//!   and by the owner of the whole.
//!
//! # Rejected
//!
//! An initialiser that is called once and consumed: after a panic there would be nothing left to
//! call, and every later wait would have to panic too. Polling with a waker of its own that wakes
//! all who wait: each of them would be woken for each step.

use crate::block;
use crate::once_cell::right::{Init, Right, Step, look};
use crate::parked::Parked;
use mainspring_core::CancelSafe;
use mainspring_core::sync::cell::UnsafeCell;
use mainspring_core::wait::WaitKind;
use mainspring_core::wait_list::WaitList;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// The initialiser under way.
type Running<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A value that is made by an asynchronous initialiser when it is first waited for.
///
/// Use it for a `static` or a field whose initialiser is always the same. Where it depends on who
/// asks, use a [`OnceCell`](crate::OnceCell).
///
/// # Who runs the initialiser
///
/// It is polled by one of those who wait, the first. If that one is **dropped, the initialiser is
/// kept** as far as it has come, and the next who waits, in the order of arrival, polls on. While
/// nobody waits it rests, with whatever it holds: a connection, a lock. A waiter that is neither
/// polled nor dropped holds all others up, and an initialiser that waits for its own value waits
/// for ever.
///
/// An initialiser that panics passes the panic to whoever polls it and is dropped; the next who
/// waits calls the function again.
///
/// # Guarantees
///
/// At most one initialiser is under way at a time, and exactly one value is ever put in. Whoever
/// finds the value sees what its maker did.
///
/// # Complexity
///
/// Getting a value that is there is one load. One allocation for each run of the initialiser, for
/// its future.
///
/// ```
/// use mainspring_sync::Lazy;
/// use std::future::{Ready, ready};
///
/// static LIMIT: Lazy<u32, fn() -> Ready<u32>> = Lazy::new(|| ready(42));
///
/// assert_eq!(LIMIT.get(), None);
/// assert_eq!(LIMIT.wait_blocking(), &42);
/// assert_eq!(LIMIT.get(), Some(&42));
///
/// let port = 8_080_u16;
/// let address = Lazy::new(move || async move { format!("[::1]:{port}") });
/// assert_eq!(address.wait_blocking(), "[::1]:8080");
/// ```
pub struct Lazy<T, F> {
    list: WaitList<Init<T>>,
    running: UnsafeCell<Option<Running<T>>>,
    start: F,
}

// SAFETY: [lazy.driver] the future is `Send` and touched by one holder after another, which the
// list's lock orders; the value and the function are shared between threads.
unsafe impl<T: Send + Sync, F: Send + Sync> Sync for Lazy<T, F> {}

impl<T, F> Lazy<T, F> {
    /// A value that `start` will begin to make when it is first waited for.
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn new(start: F) -> Self {
        Self {
            list: WaitList::new(Init::new()),
            running: UnsafeCell::new(None),
            start,
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[must_use]
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn new(start: F) -> Self {
        Self {
            list: WaitList::new(Init::new()),
            running: UnsafeCell::new(None),
            start,
        }
    }

    /// The value, if it has been made. Starts nothing.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.list.kind().place().value()
    }

    /// The value, if it has been made, to be changed: nobody else has it. Starts nothing.
    ///
    /// ```
    /// use mainspring_sync::Lazy;
    ///
    /// let mut lazy = Lazy::new(|| async { 1 });
    /// assert_eq!(lazy.get_mut(), None);
    /// lazy.wait_blocking();
    /// *lazy.get_mut().unwrap() += 1;
    /// assert_eq!(lazy.into_inner(), Some(2));
    /// ```
    #[must_use]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.list.kind_mut().place_mut().value_mut()
    }

    /// The value, if it has been made. An initialiser that is under way is dropped.
    #[must_use]
    pub fn into_inner(self) -> Option<T> {
        self.list.into_kind().into_place().into_value()
    }

    /// Whether the value has been made.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.get().is_some()
    }
}

impl<T, F, Fut> Lazy<T, F>
where
    F: Fn() -> Fut,
    Fut: Future<Output = T> + Send + 'static,
{
    /// The value; if it is not there, waits until it has been made, and makes it if nobody else
    /// does.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: dropped early it leaves the initialiser, as far as it has come, to the next.
    pub fn wait(&self) -> Wait<'_, T, F> {
        Wait {
            parked: Parked::new(&self.list, ()),
            right: None,
            lazy: self,
        }
    }

    /// As [`wait`](Self::wait), on this thread.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family; when the initialiser panics.
    #[track_caller]
    pub fn wait_blocking(&self) -> &T {
        block::wait(pin!(self.wait()))
    }

    /// Polls the initialiser, and starts it before if it is not under way.
    ///
    /// Its future is moved out for the poll: what unwinds drops it.
    fn advance(&self, right: &Right<'_, T>, cx: &mut Context<'_>) -> Poll<(T, Running<T>)> {
        debug_assert!(right.is_of(&self.list), "lazy.driver: another cell's right");
        let running = self.running.with_mut(|running| {
            // SAFETY: [lazy.driver] the right says that nobody else is here.
            unsafe { &mut *running }.take()
        });
        let mut running = running.unwrap_or_else(|| Box::pin((self.start)()));
        match running.as_mut().poll(cx) {
            Poll::Ready(value) => Poll::Ready((value, running)),
            Poll::Pending => {
                self.running.with_mut(|place| {
                    // SAFETY: [lazy.driver] as above; `None` since it was taken.
                    *unsafe { &mut *place } = Some(running);
                });
                Poll::Pending
            }
        }
    }
}

impl<T: fmt::Debug, F> fmt::Debug for Lazy<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy")
            .field("value", &self.get())
            .finish_non_exhaustive()
    }
}

/// The future of [`Lazy::wait`].
///
/// # Cancel safety
///
/// *Safe*: dropped early it leaves the initialiser, as far as it has come, to the next.
#[must_use = "futures do nothing unless polled"]
pub struct Wait<'a, T, F> {
    parked: Parked<&'a WaitList<Init<T>>, Step<'a, T>>,
    /// There while this one polls the initialiser.
    right: Option<Right<'a, T>>,
    lazy: &'a Lazy<T, F>,
}

impl<T, F, Fut> CancelSafe for Wait<'_, T, F>
where
    F: Fn() -> Fut,
    Fut: Future<Output = T> + Send + 'static,
{
}

impl<'a, T, F, Fut> Future for Wait<'a, T, F>
where
    F: Fn() -> Fut,
    Fut: Future<Output = T> + Send + 'static,
{
    type Output = &'a T;

    /// # Panics
    ///
    /// When the initialiser panics, or the drop of its future after it has made the value.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<&'a T> {
        // SAFETY: [parked.pinned] nothing is moved out of `parked` below.
        let this = unsafe { self.get_unchecked_mut() };
        let lazy = this.lazy;
        let right = match this.right.take() {
            Some(right) => Some(right),
            None => {
                // SAFETY: [parked.pinned] it is pinned as long as `self` is, and dropped in place.
                let parked = unsafe { Pin::new_unchecked(&mut this.parked) };
                let found = parked.poll(cx, WaitKind::Notify, Step::quick, look(&lazy.list));
                match ready!(found) {
                    Step::Set => None,
                    Step::Make(right) => Some(right),
                }
            }
        };
        if let Some(right) = right {
            // What unwinds in here drops the right, which hands it on.
            let Poll::Ready((value, finished)) = lazy.advance(&right, cx) else {
                this.right = Some(right);
                return Poll::Pending;
            };
            right.complete(value);
            drop(finished);
        }
        Poll::Ready(lazy.get().expect("set-once.init: it was found or put in"))
    }
}

impl<T, F> fmt::Debug for Wait<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("is_making", &self.right.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

//! A value that the first who needs it makes, and everybody shares.
//!
//! # Invariants
//!
//! - **once-cell.right** — one at a time has the right to make the value, or was offered it; who
//!   goes without having made it hands it on, and the value is put in by its holder alone.
//! - **once-cell.pinned** — waiter and initialiser are pinned structurally.
//!
//! # Rejected
//!
//! Letting the first initialiser run for all, whoever waits: then a future that borrows from its
//! caller cannot be one. [`Lazy`](crate::Lazy) does that, with a future of its own.

mod making;
pub(crate) mod right;

pub use self::making::{GetOrInit, GetOrTryInit};

use self::right::{Init, Refused, put};
use crate::block;
use mainspring_core::wait_list::WaitList;
use std::error::Error;
use std::fmt;
use std::future::{self, Future};
use std::pin::pin;

/// A place for one value, made once by whoever needs it first.
///
/// Use it where the initialiser is known where the value is used, and may differ from place to
/// place. Where it belongs to the value, a [`Lazy`](crate::Lazy) keeps it; where somebody else
/// finds the value out, use a [`SetOnce`](crate::SetOnce).
///
/// # Guarantees
///
/// - At most one initialiser runs at a time, and at most one value is ever put in.
/// - An initialiser that fails, panics or is dropped leaves the cell empty, and the next who waits,
///   in the order of arrival, runs **its own**.
/// - Whoever finds the value sees what its maker did before.
///
/// An initialiser that waits for its own cell waits for ever; and so does a task that holds its
/// future of [`get_or_init`](Self::get_or_init), begun and not polled, while it waits for another.
///
/// # Complexity
///
/// Getting a value that is there is one load. Otherwise short locks, O(n) in those who wait when
/// the value comes. Nothing is allocated.
///
/// ```
/// use mainspring_sync::OnceCell;
///
/// static ANSWER: OnceCell<u32> = OnceCell::new();
///
/// async fn answer() -> u32 {
///     *ANSWER.get_or_init(|| async { 42 }).await
/// }
/// assert_eq!(ANSWER.get_or_try_init_blocking(|| "7".parse()), Ok(&7));
/// # let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
/// # assert_eq!(std::pin::pin!(answer()).poll(&mut cx), std::task::Poll::Ready(7));
/// ```
pub struct OnceCell<T> {
    list: WaitList<Init<T>>,
}

impl<T> OnceCell<T> {
    /// An empty cell.
    #[must_use]
    #[cfg(not(all(mainspring_loom, feature = "loom")))]
    pub const fn new() -> Self {
        Self {
            list: WaitList::new(Init::new()),
        }
    }

    /// As in every build but the model's, where it is not `const`.
    #[must_use]
    #[cfg(all(mainspring_loom, feature = "loom"))]
    pub fn new() -> Self {
        Self {
            list: WaitList::new(Init::new()),
        }
    }

    /// The value, if it is there. Does not wait for one that is being made.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.list.kind().place().value()
    }

    /// The value, if it is there, to be changed: nobody else has the cell.
    ///
    /// ```
    /// use mainspring_sync::OnceCell;
    ///
    /// let mut cell = OnceCell::new();
    /// assert_eq!(cell.get_mut(), None);
    /// cell.set(1).unwrap();
    /// *cell.get_mut().unwrap() += 1;
    /// assert_eq!(cell.into_inner(), Some(2));
    /// ```
    #[must_use]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.list.kind_mut().place_mut().value_mut()
    }

    /// The value, if it is there.
    #[must_use]
    pub fn into_inner(self) -> Option<T> {
        self.list.into_kind().into_place().into_value()
    }

    /// Whether the value is there.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.get().is_some()
    }

    /// Puts a value in.
    ///
    /// # Errors
    ///
    /// The value comes back when there is one already, or one is being made.
    ///
    /// # Panics
    ///
    /// With the first panic of a waker, when every waker was called. The value is set.
    pub fn set(&self, value: T) -> Result<(), OnceCellError<T>> {
        put(&self.list, value).map_err(|refused| match refused {
            Refused::Set(value) => OnceCellError::Set(value),
            Refused::Taken(value) => OnceCellError::Initialising(value),
        })
    }

    /// The value; if it is not there, `start` begins to make it, unless somebody else does: then
    /// it waits for that.
    ///
    /// # Cancel safety
    ///
    /// It *loses value*: dropped while it makes the value, it drops the initialiser and what that
    /// has come to, and the next who waits runs its own. The cell loses nothing.
    pub fn get_or_init<F, Fut>(&self, start: F) -> GetOrInit<'_, T, F, Fut>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        GetOrInit::new(&self.list, start)
    }

    /// As [`get_or_init`](Self::get_or_init), with an initialiser that can fail: then the cell
    /// stays empty, and the next who waits runs its own.
    ///
    /// # Cancel safety
    ///
    /// It *loses value*, as [`get_or_init`](Self::get_or_init).
    pub fn get_or_try_init<E, F, Fut>(&self, start: F) -> GetOrTryInit<'_, T, F, Fut>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        GetOrTryInit::new(&self.list, start)
    }

    /// As [`get_or_init`](Self::get_or_init), blocking this thread while somebody else makes the
    /// value. `make` runs on this thread.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family; when `make` panics.
    #[track_caller]
    pub fn get_or_init_blocking(&self, make: impl FnOnce() -> T) -> &T {
        block::wait(pin!(self.get_or_init(|| future::ready(make()))))
    }

    /// As [`get_or_init_blocking`](Self::get_or_init_blocking), with a `make` that can fail.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    ///
    /// # Panics
    ///
    /// With `MS0013` inside a task of the family; when `make` panics.
    #[track_caller]
    pub fn get_or_try_init_blocking<E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<&T, E> {
        block::wait(pin!(self.get_or_try_init(|| future::ready(make()))))
    }
}

impl<T> Default for OnceCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCell")
            .field("value", &self.get())
            .finish_non_exhaustive()
    }
}

/// Why [`OnceCell::set`] refused a value. Here it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OnceCellError<T> {
    /// There is a value already.
    Set(T),
    /// Somebody is making one.
    Initialising(T),
}

impl<T> OnceCellError<T> {
    /// Whether a later attempt may succeed: if the initialiser fails.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Initialising(_))
    }

    /// Whether there is a value already.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        matches!(self, Self::Set(_))
    }

    /// The value that was refused.
    pub fn into_inner(self) -> T {
        match self {
            Self::Set(value) | Self::Initialising(value) => value,
        }
    }
}

impl<T> fmt::Debug for OnceCellError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Set(_) => "Set(..)",
            Self::Initialising(_) => "Initialising(..)",
        })
    }
}

impl<T> fmt::Display for OnceCellError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Set(_) => "the value has been set before",
            Self::Initialising(_) => "the value is being made",
        })
    }
}

impl<T> Error for OnceCellError<T> {}

#[cfg(test)]
mod tests;

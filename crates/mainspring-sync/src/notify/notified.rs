//! Waiting for a notification.

use super::Notify;
use super::signal::{Signal, Taken, notify};
use crate::parked::Parked;
use mainspring_core::CancelSafe;
use mainspring_core::wait::WaitKind;
use mainspring_core::wait_list::{Holds, Queue, WaitList, Why};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::ptr;
// DOOR: as in `super`.
use std::sync::Arc;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker, ready};

/// The list of an owned `Notify`.
struct Owned(Arc<Notify>);

// SAFETY: [notify.once] what an `Arc` holds does not move and lives as long as the `Arc`.
unsafe impl Holds for Owned {
    type Kind = Signal;

    fn list(&self) -> &WaitList<Signal> {
        &self.0.list
    }
}

struct Wait<L: Holds<Kind = Signal>> {
    parked: Parked<L, Taken>,
    /// How many releases of all there were when it was made.
    releases: u64,
    is_done: bool,
}

impl<L: Holds<Kind = Signal>> Wait<L> {
    #[inline]
    fn new(holder: L) -> Self {
        let releases = holder.list().kind().releases();
        Self {
            parked: Parked::new(holder, ()),
            releases,
            is_done: false,
        }
    }

    fn look(releases: u64) -> impl FnMut(&mut Queue<'_, Signal>, &mut (), Why) -> Option<Taken> {
        move |queue, (), why| match why {
            Why::Offered(from) => Some(Taken::Permit(from)),
            Why::First | Why::Again | Why::Released => queue.kind().take_or_wait(releases),
        }
    }

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let (mut parked, releases, is_done) = self.project();
        if !*is_done {
            if let Some(from) = parked.as_mut().take_offer(cx) {
                parked.as_mut().answer(Taken::Permit(from));
            }
            let quick = |signal: &Signal| signal.take(releases);
            let look = Self::look(releases);
            ready!(parked.poll(cx, WaitKind::Notify, quick, look));
            *is_done = true;
        }
        Poll::Ready(())
    }

    fn enable(self: Pin<&mut Self>) -> bool {
        let (parked, releases, is_done) = self.project();
        // Told apart from every other future by its place, so that no other is taken for one of the
        // same task and takes over what was offered to this one.
        let waker = placeholder(ptr::from_ref(&*parked).cast());
        *is_done || parked.enable(&waker, Self::look(releases))
    }

    #[inline]
    fn project(self: Pin<&mut Self>) -> (Pin<&mut Parked<L, Taken>>, u64, &mut bool) {
        // SAFETY: [parked.pinned] nothing is moved out of `parked` below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: [parked.pinned] it is pinned as long as `self` is, and dropped in place.
        let parked = unsafe { Pin::new_unchecked(&mut this.parked) };
        (parked, this.releases, &mut this.is_done)
    }
}

impl<L: Holds<Kind = Signal>> Drop for Wait<L> {
    fn drop(&mut self) {
        // CLAIM: [notify.once] a permit that came, and that no poll has given out.
        if let Some(Taken::Permit(from)) = self.parked.take_answer() {
            notify(self.parked.holder().list(), from);
        }
    }
}

/// A waker that does nothing, by which one future is told from others.
fn placeholder(place: *const ()) -> Waker {
    // SAFETY: [notify.placeholder] the table follows no pointer.
    unsafe { Waker::new(place, &PLACEHOLDER) }
}

static PLACEHOLDER: RawWakerVTable = RawWakerVTable::new(
    |place| RawWaker::new(place, &PLACEHOLDER),
    |_| (),
    |_| (),
    |_| (),
);

/// The future of [`Notify::notified`]. Ready when it was notified, and ready again if it is polled
/// after that.
///
/// # Cancel safety
///
/// *Safe*, but it *loses place*: dropped early, it hands a notification on.
#[must_use = "futures do nothing unless polled"]
pub struct Notified<'a> {
    wait: Wait<&'a WaitList<Signal>>,
}

/// The future of [`Notify::notified_owned`]: a [`Notified`] that keeps its `Notify` alive.
///
/// # Cancel safety
///
/// *Safe*, but it *loses place*: dropped early, it hands a notification on.
#[must_use = "futures do nothing unless polled"]
pub struct NotifiedOwned {
    wait: Wait<Owned>,
}

impl<'a> Notified<'a> {
    #[inline]
    pub(super) fn new(list: &'a WaitList<Signal>) -> Self {
        Self {
            wait: Wait::new(list),
        }
    }

    /// Takes its place among the waiters without a poll. `true` if the future is notified already
    /// and its next poll is ready.
    ///
    /// Do it before you look at a condition that [`Notify::notify_one`] tells of, where several
    /// tasks wait. A future that was enabled or polled before keeps the place and the waker that it
    /// has, and is not asked again: then the answer is that of before.
    pub fn enable(self: Pin<&mut Self>) -> bool {
        // SAFETY: [parked.pinned] a projection of the one field; nothing is moved out.
        unsafe { self.map_unchecked_mut(|this| &mut this.wait) }.enable()
    }
}

impl NotifiedOwned {
    pub(super) fn new(notify: Arc<Notify>) -> Self {
        Self {
            wait: Wait::new(Owned(notify)),
        }
    }

    /// As [`Notified::enable`].
    pub fn enable(self: Pin<&mut Self>) -> bool {
        // SAFETY: [parked.pinned] a projection of the one field; nothing is moved out.
        unsafe { self.map_unchecked_mut(|this| &mut this.wait) }.enable()
    }
}

impl Future for Notified<'_> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: [parked.pinned] a projection of the one field; nothing is moved out.
        unsafe { self.map_unchecked_mut(|this| &mut this.wait) }.poll(cx)
    }
}

impl Future for NotifiedOwned {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: [parked.pinned] a projection of the one field; nothing is moved out.
        unsafe { self.map_unchecked_mut(|this| &mut this.wait) }.poll(cx)
    }
}

impl CancelSafe for Notified<'_> {
    const KEEPS_PLACE: bool = false;
}

impl CancelSafe for NotifiedOwned {
    const KEEPS_PLACE: bool = false;
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notified").finish_non_exhaustive()
    }
}

impl fmt::Debug for NotifiedOwned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotifiedOwned").finish_non_exhaustive()
    }
}

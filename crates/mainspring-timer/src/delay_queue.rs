//! A queue from which values come out when their time has come.
//!
//! # Invariants
//!
//! - **delay-queue.told** — a task that waits in [`DelayQueue::poll_expired`] is woken by every
//!   change that it would sleep past: an earlier deadline, the removal of the last value, a clear.
//! - **delay-queue.key** — a key means the value it was made for, for ever: an index that is used
//!   again has another identity.
//!
//! # Rejected
//!
//! The exact heap in place of the wheel: it would offer a `peek`, at O(log n) for each of the many
//! insertions that are cancelled. One sleep for each value: an allocation each.

use crate::store::Slab;
use crate::wheel::{Progress, Wheel};
use futures_core::Stream;
use mainspring_core::time::{Nanos, Sleep, now};
use mainspring_core::{CancelSafe, budget};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

/// How many values one poll may move within the wheel before it lets others run.
const MOVES: usize = 128;

/// Values with a time to live: each comes out once, when its delay is over.
///
/// Use it where values are many and a task serves them in turn: expiry of a cache, retries,
/// sessions. For a handful of timers in one task, sleeps are simpler.
///
/// # Guarantees
///
/// Never early, late by less than a tick of 65.5 µs and what waking the task takes; in the order of
/// ticks. A delay of zero or an instant in the past comes out at the next poll, `Duration::MAX`
/// never.
///
/// # Trade-offs
///
/// Insert, reset and remove are O(1); about 56 bytes a value, in one table that grows like a `Vec`
/// and is kept until [`clear`](Self::clear); 12.5 KiB for the wheel. One timer is armed for the
/// whole queue. The earliest value cannot be looked at.
///
/// ```
/// use mainspring_core::driver::{Driver, ThreadDriver, Until};
/// use mainspring_timer::{DelayQueue, TimerDriver};
/// use std::{pin::pin, task::{Context, Poll, Waker}, time::Duration};
///
/// let mut driver = TimerDriver::new(ThreadDriver::new());
/// let entered = driver.handle().enter();
/// let mut sessions = DelayQueue::new();
/// let alice = sessions.insert("alice", Duration::from_secs(60));
/// sessions.insert("bob", Duration::from_millis(1));
/// assert_eq!(sessions.remove(alice), Some("alice"));
///
/// let mut next = pin!(sessions.next());
/// let mut cx = Context::from_waker(Waker::noop());
/// let expired = loop {
///     match next.as_mut().poll(&mut cx) {
///         Poll::Ready(expired) => break expired,
///         Poll::Pending => drop(driver.park(Until::Forever)?),
///     }
/// };
/// assert_eq!(expired.map(|expired| expired.into_value()), Some("bob"));
/// # drop(entered);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct DelayQueue<T> {
    wheel: Wheel<Slab<Item<T>>>,
    sleep: Pin<Box<Sleep>>,
    /// Who waits for something to expire.
    waiting: Option<Waker>,
    /// The next value's identity.
    count: u64,
}

struct Item<T> {
    identity: u64,
    deadline: Nanos,
    value: T,
}

/// Which value of a [`DelayQueue`]. Means nothing once the value has come out or was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    index: u32,
    identity: u64,
}

/// A value whose time has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired<T> {
    key: Key,
    deadline: Nanos,
    value: T,
}

impl<T> Expired<T> {
    /// The value.
    pub fn into_value(self) -> T {
        self.value
    }

    /// The value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The key it had.
    #[must_use]
    pub fn key(&self) -> Key {
        self.key
    }

    /// When its time had come, on the process-wide scale.
    #[must_use]
    pub fn deadline_nanos(&self) -> Nanos {
        self.deadline
    }
}

impl<T> DelayQueue<T> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            wheel: Wheel::new(Slab::new(), now()),
            sleep: Box::pin(Sleep::until(Nanos::MAX)),
            waiting: None,
            count: 0,
        }
    }

    /// Adds a value that comes out after `delay`. O(1) amortised.
    pub fn insert(&mut self, value: T, delay: Duration) -> Key {
        self.insert_nanos(value, now().saturating_add(delay))
    }

    /// Adds a value that comes out at `instant`. O(1) amortised.
    pub fn insert_at(&mut self, value: T, instant: Instant) -> Key {
        self.insert_nanos(value, Nanos::from_instant(instant))
    }

    fn insert_nanos(&mut self, value: T, deadline: Nanos) -> Key {
        let identity = self.count;
        self.count += 1;
        let index = self.wheel.store_mut().add(Item {
            identity,
            deadline,
            value,
        });
        self.link(index, deadline);
        Key { index, identity }
    }

    /// Lets a value come out after `delay` from now, earlier or later than before. `false` if it is
    /// no longer there. O(1).
    pub fn reset(&mut self, key: Key, delay: Duration) -> bool {
        self.reset_nanos(key, now().saturating_add(delay))
    }

    /// Lets a value come out at `instant`. `false` if it is no longer there. O(1).
    pub fn reset_at(&mut self, key: Key, instant: Instant) -> bool {
        self.reset_nanos(key, Nanos::from_instant(instant))
    }

    fn reset_nanos(&mut self, key: Key, deadline: Nanos) -> bool {
        let Some(item) = self.item_mut(key) else {
            return false;
        };
        item.deadline = deadline;
        self.wheel.remove(key.index);
        self.link(key.index, deadline);
        true
    }

    /// Takes a value out before its time. `None` if it is no longer there. O(1).
    pub fn remove(&mut self, key: Key) -> Option<T> {
        self.item_mut(key)?;
        self.wheel.remove(key.index);
        let item = self.wheel.store_mut().take(key.index)?;
        debug_assert_eq!(
            item.identity, key.identity,
            "delay-queue.key: another value was taken"
        );
        if self.is_empty() {
            self.tell();
        }
        Some(item.value)
    }

    /// The value of a key, if it is still there.
    #[must_use]
    pub fn value(&self, key: Key) -> Option<&T> {
        let item = self.wheel.store().value(key.index)?;
        (item.identity == key.identity).then_some(&item.value)
    }

    /// The value of a key, if it is still there.
    pub fn value_mut(&mut self, key: Key) -> Option<&mut T> {
        Some(&mut self.item_mut(key)?.value)
    }

    /// Drops every value, and gives the table's memory back.
    pub fn clear(&mut self) {
        let wheel = std::mem::replace(&mut self.wheel, Wheel::new(Slab::new(), now()));
        self.tell();
        // Last: dropping the values is foreign code, and the queue is whole.
        drop(wheel);
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.wheel.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wheel.is_empty()
    }

    /// Waits for a value whose time has come. `None` at once if the queue is empty.
    ///
    /// # Cancel safety
    ///
    /// *Safe*: a value leaves the queue only when it is returned.
    #[expect(
        clippy::should_implement_trait,
        reason = "the name that streams have; an iterator could not wait"
    )]
    pub fn next(&mut self) -> NextExpired<'_, T> {
        NextExpired { queue: self }
    }

    /// Polls for a value whose time has come. `None` if the queue is empty.
    pub fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        let unit = ready!(budget::poll_proceed(cx));
        for _ in 0..MOVES {
            let mut expired = None;
            let progress = self.wheel.advance(now(), 1, |wheel, index| {
                expired = wheel.store_mut().take(index).map(|item| (index, item));
            });
            if let Some((index, item)) = expired {
                unit.spend();
                let (identity, deadline) = (item.identity, item.deadline);
                return Poll::Ready(Some(Expired {
                    key: Key { index, identity },
                    deadline,
                    value: item.value,
                }));
            }
            if progress == Progress::More {
                continue;
            }
            let Some(next) = self.wheel.next() else {
                return Poll::Ready(None);
            };
            if self.sleep.deadline_nanos() != next {
                self.sleep.as_mut().reset_nanos(next);
            }
            if self.sleep.as_mut().poll_elapsed(cx).is_pending() {
                self.wait(cx.waker());
                return Poll::Pending;
            }
            // Elapsed: either something is due, or it moves down a level. The sleep is done.
            self.sleep.as_mut().reset_nanos(Nanos::MAX);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn item_mut(&mut self, key: Key) -> Option<&mut Item<T>> {
        let item = self.wheel.store_mut().value_mut(key.index)?;
        (item.identity == key.identity).then_some(item)
    }

    fn link(&mut self, index: u32, deadline: Nanos) {
        self.wheel.insert(deadline, index);
        if self
            .wheel
            .next()
            .is_some_and(|next| next < self.sleep.deadline_nanos())
        {
            self.tell();
        }
    }

    fn wait(&mut self, waker: &Waker) {
        debug_assert!(
            self.wheel
                .next()
                .is_some_and(|next| next >= self.sleep.deadline_nanos()),
            "delay-queue.told: sleeps past the next deadline"
        );
        if !self
            .waiting
            .as_ref()
            .is_some_and(|old| old.will_wake(waker))
        {
            self.waiting = Some(waker.clone());
        }
    }

    /// Wakes whoever waits, to look again.
    fn tell(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
    }
}

impl<T> Default for DelayQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

// The sleep is boxed, and the values are never pinned.
impl<T> Unpin for DelayQueue<T> {}

/// The future of [`DelayQueue::next`].
///
/// # Cancel safety
///
/// *Safe*: it holds nothing but the borrow.
#[must_use = "futures do nothing unless polled"]
pub struct NextExpired<'a, T> {
    queue: &'a mut DelayQueue<T>,
}

impl<T> CancelSafe for NextExpired<'_, T> {}

impl<T> Future for NextExpired<'_, T> {
    type Output = Option<Expired<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        self.queue.poll_expired(cx)
    }
}

impl<T> fmt::Debug for NextExpired<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NextExpired")
            .field("values", &self.queue.len())
            .finish()
    }
}

impl<T> Stream for DelayQueue<T> {
    type Item = Expired<T>;

    /// `None` whenever the queue is empty; it yields again after the next insertion.
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Expired<T>>> {
        self.poll_expired(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, None)
    }
}

impl<T> fmt::Debug for DelayQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayQueue")
            .field("len", &self.len())
            .field("next", &self.wheel.next())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

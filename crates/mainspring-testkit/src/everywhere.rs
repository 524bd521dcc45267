//! A scenario, dropped at every point at which it waits.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// When the world moves on, seen from an operation that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// It has just returned `Pending`: do what it waits for.
    Waits,
    /// It has just returned `Pending` and is about to be dropped: do what it waits for now, and
    /// it is dropped with the answer in its hands; or leave it for [`Dropped`](Self::Dropped).
    Doomed,
    /// It was dropped a moment ago.
    Dropped,
}

/// The points at which the operations of a scenario wait, in one run of it.
#[derive(Debug)]
pub struct Points {
    /// At the how-manieth point an operation is dropped; 0 in the counting run.
    drop_at: usize,
    seen: usize,
    /// By the operation's name: how often it waited, and how often it was dropped.
    by_name: BTreeMap<&'static str, (usize, usize)>,
}

impl Points {
    fn new(drop_at: usize) -> Self {
        Self {
            drop_at,
            seen: 0,
            by_name: BTreeMap::new(),
        }
    }

    /// Runs one operation. Each time that it returns `Pending` is a point; at the chosen one it is
    /// dropped, and this returns `None`.
    ///
    /// Whatever it waits for has to come from elsewhere; see [`run_with`](Self::run_with).
    ///
    /// # Cancel safety
    ///
    /// That of the operation, which is dropped with it: *safe* if that one is.
    pub async fn run<F: Future>(&mut self, name: &'static str, operation: F) -> Option<F::Output> {
        self.run_with(name, operation, |_| {}).await
    }

    /// As [`run`](Self::run); `world` is told how the operation fares, and does what it waits for.
    /// What it does must wake the operation, or have somebody else wake it.
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run): *safe* if the operation is.
    pub async fn run_with<F: Future>(
        &mut self,
        name: &'static str,
        operation: F,
        mut world: impl FnMut(Turn),
    ) -> Option<F::Output> {
        let output = {
            let mut operation = pin!(operation);
            poll_fn(|cx| match operation.as_mut().poll(cx) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending if self.is_dropped_here(name) => {
                    world(Turn::Doomed);
                    Poll::Ready(None)
                }
                Poll::Pending => {
                    world(Turn::Waits);
                    Poll::Pending
                }
            })
            .await
        };
        if output.is_none() {
            world(Turn::Dropped);
        }
        output
    }

    /// Whether this is the counting run, in which nothing is dropped.
    #[must_use]
    pub fn is_counting(&self) -> bool {
        self.drop_at == 0
    }

    fn is_dropped_here(&mut self, name: &'static str) -> bool {
        self.seen += 1;
        let is_here = self.seen == self.drop_at;
        let (waited, dropped) = self.by_name.entry(name).or_default();
        *waited += 1;
        *dropped += usize::from(is_here);
        is_here
    }
}

/// How often each operation of a scenario waited, and was dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// By the operation's name: points in the counting run, and drops in all the others.
    pub by_name: BTreeMap<&'static str, (usize, usize)>,
}

impl Dropped {
    /// How many points there are.
    #[must_use]
    pub fn points(&self) -> usize {
        self.by_name.values().map(|(points, _)| points).sum()
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, (points, drops)) in &self.by_name {
            writeln!(f, "{name}: dropped at {drops} of {points} points")?;
        }
        Ok(())
    }
}

/// Runs `scenario` once to count the points at which its operations wait, and then once for each
/// point, dropping the operation that waits there.
///
/// The scenario makes its own fresh world each time, wraps what may be dropped in [`Points::run`],
/// goes on with a fresh operation where it gets `None`, and asserts that nothing was lost. It has
/// to wait at the same points each time, up to the drop.
///
/// ```
/// use mainspring_testkit::{Turn, block_on, drop_everywhere};
/// use std::future::poll_fn;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::task::Poll;
///
/// let dropped = block_on(drop_everywhere(async |points| {
///     let stock = AtomicU32::new(0);
///     let take = || poll_fn(|cx| {
///         let less = |stock: u32| stock.checked_sub(1);
///         let taken = stock.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
///         cx.waker().wake_by_ref(); // Somebody has to.
///         if taken.is_ok() { Poll::Ready(()) } else { Poll::Pending }
///     });
///     let give = |turn| {
///         if turn != Turn::Dropped {
///             stock.fetch_add(1, Ordering::Relaxed);
///         }
///     };
///     for _ in 0..3 {
///         if points.run_with("take", take(), give).await.is_none() {
///             take().await; // What the dropped one left is still there.
///         }
///     }
///     assert_eq!(stock.load(Ordering::Relaxed), 0);
/// }));
/// assert_eq!(dropped.points(), 3);
/// ```
///
/// # Cancel safety
///
/// *Not restartable*: it is a test, and dropping it ends the test early.
///
/// # Panics
///
/// If nothing ever waited, or an operation was dropped at fewer points than it waited at in the
/// counting run: then the test shows less than it seems to.
pub async fn drop_everywhere(mut scenario: impl AsyncFnMut(&mut Points)) -> Dropped {
    let mut counting = Points::new(0);
    scenario(&mut counting).await;
    assert!(counting.seen > 0, "nothing waits: there is nothing to drop");
    let mut dropped = Dropped {
        by_name: counting.by_name,
    };
    for drop_at in 1..=counting.seen {
        let mut points = Points::new(drop_at);
        scenario(&mut points).await;
        for (name, (_, drops)) in points.by_name {
            dropped.by_name.entry(name).or_default().1 += drops;
        }
    }
    let mut counts = dropped.by_name.values();
    assert!(
        counts.all(|(points, drops)| points == drops),
        "not dropped everywhere:\n{dropped}"
    );
    dropped
}

#[cfg(test)]
mod tests;

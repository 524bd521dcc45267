//! Time, as hyper asks for it.
//!
//! # Invariants
//!
//! - **hyper-sleep.pinned** — the sleep inside [`Sleep`] is pinned with it.

use mainspring_core::time::{self, Nanos};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// This runtime's time, for hyper's timeouts.
///
/// Follows the runtime's clock, so that a test with paused time has hyper's timeouts pass at once.
///
/// # Complexity and allocation
///
/// One allocation for a sleep, which hyper's trait asks for; moving one to a later moment, as a
/// connection does for each request, is one atomic operation.
///
/// ```
/// use hyper::server::conn::http1;
/// use mainspring::compat::hyper::Timer;
/// use std::time::Duration;
///
/// let mut builder = http1::Builder::new();
/// builder.timer(Timer).header_read_timeout(Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer;

impl Timer {
    fn until(self, deadline: Nanos) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(Sleep {
            sleep: time::Sleep::until(deadline),
        })
    }
}

impl hyper::rt::Timer for Timer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        self.until(time::now().saturating_add(duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        self.until(Nanos::from_instant(deadline))
    }

    fn now(&self) -> Instant {
        time::now().to_instant().unwrap_or_else(Instant::now)
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn hyper::rt::Sleep>>, new_deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            Some(ours) => ours.sleep().reset(new_deadline),
            None => *sleep = self.sleep_until(new_deadline),
        }
    }
}

/// A sleep as hyper holds it. Made by [`Timer`].
///
/// # Cancel safety
///
/// *Safe*: dropping it leaves nothing behind.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    sleep: time::Sleep,
}

impl Sleep {
    fn sleep(self: Pin<&mut Self>) -> Pin<&mut time::Sleep> {
        // SAFETY: [hyper-sleep.pinned] the sleep is reached pinned and in no other way; the wrapper
        // has no `Drop` and is not `Unpin`, because the sleep is not.
        unsafe { self.map_unchecked_mut(|this| &mut this.sleep) }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep().poll(cx)
    }
}

impl hyper::rt::Sleep for Sleep {}

#[cfg(test)]
mod tests;

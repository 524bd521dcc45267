//! A driver whose inside keeps time by hand: waiting moves the clock.

use crate::driver::TimerDriver;
use mainspring_core::context::Entered;
use mainspring_core::driver::{Driver, DriverHandle, Turn, Until};
use mainspring_core::time::{self, ManualClock, Nanos, Sleep};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// When every rig begins.
pub(crate) const START: Nanos = Nanos(1_000_000_000_123);

/// Waits by setting the clock, and notes how long it was told to.
pub(crate) struct Scripted {
    clock: ManualClock,
    pub(crate) told: Vec<Until>,
    /// How much later than asked each wait ends.
    pub(crate) late: Duration,
    /// Makes the next wait fail.
    pub(crate) fails: bool,
    /// Runs inside the next wait.
    pub(crate) meanwhile: Option<Box<dyn FnOnce()>>,
    handle: Arc<Unparks>,
}

#[derive(Default)]
pub(crate) struct Unparks(AtomicUsize);

impl Unparks {
    pub(crate) fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

impl Driver for Scripted {
    fn park(&mut self, until: Until) -> io::Result<Turn> {
        self.told.push(until);
        if let Some(meanwhile) = self.meanwhile.take() {
            meanwhile();
        }
        if let Until::At(moment) = until {
            let now = moment.saturating_add(self.late);
            self.clock.set(now.max(time::now()));
        }
        if std::mem::take(&mut self.fails) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(Turn {
            now: time::now(),
            woken: 0,
        })
    }

    fn peek(&self) -> bool {
        false
    }

    fn handle(&self) -> Arc<dyn DriverHandle> {
        Arc::clone(&self.handle) as Arc<dyn DriverHandle>
    }
}

impl DriverHandle for Unparks {
    fn enter(&self) -> Entered {
        Entered::nothing()
    }

    fn unpark(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    fn rescue(&self, _now: Nanos, _limit: usize) -> usize {
        0
    }

    fn next(&self) -> Option<Nanos> {
        None
    }
}

/// A driver with its clock, entered on this thread.
pub(crate) struct Rig {
    _timers: Entered,
    pub(crate) driver: TimerDriver<Scripted>,
    pub(crate) clock: ManualClock,
    pub(crate) unparks: Arc<Unparks>,
    _clock: Entered,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::starting_at(START)
    }

    pub(crate) fn starting_at(start: Nanos) -> Self {
        let clock = ManualClock::new(start);
        let entered = time::enter_clock(Arc::new(clock.clone()));
        let unparks = Arc::<Unparks>::default();
        let driver = TimerDriver::new(Scripted {
            clock: clock.clone(),
            told: Vec::new(),
            late: Duration::ZERO,
            fails: false,
            meanwhile: None,
            handle: Arc::clone(&unparks),
        });
        Self {
            _timers: driver.handle().enter(),
            driver,
            clock,
            unparks,
            _clock: entered,
        }
    }

    /// One turn.
    pub(crate) fn park(&mut self, until: Until) -> Turn {
        self.driver.park(until).expect("the script does not fail")
    }

    /// Parks until `future` is ready.
    pub(crate) fn block_on<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..100_000 {
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
            let _ = self.park(Until::Forever);
        }
        panic!("the future does not become ready");
    }

    /// How many entries are armed with the driver.
    pub(crate) fn armed(&self) -> usize {
        self.driver.lease.rouse().len()
    }
}

/// A waker that counts, and does something when it is called.
pub(crate) struct Woken {
    count: AtomicUsize,
    then: Mutex<Option<Box<dyn FnMut() + Send>>>,
}

impl Woken {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            count: AtomicUsize::new(0),
            then: Mutex::new(None),
        })
    }

    pub(crate) fn doing(then: impl FnMut() + Send + 'static) -> Arc<Self> {
        let woken = Self::new();
        *woken.then.lock().unwrap() = Some(Box::new(then));
        woken
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(SeqCst)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, SeqCst);
        let then = self.then.lock().unwrap().take();
        if let Some(mut then) = then {
            then();
            *self.then.lock().unwrap() = Some(then);
        }
    }
}

/// A sleep that was polled once with `waker`.
pub(crate) fn polled(sleep: Sleep, waker: &Arc<Woken>) -> Pin<Box<Sleep>> {
    let mut sleep = Box::pin(sleep);
    assert!(poll(sleep.as_mut(), waker).is_pending());
    sleep
}

pub(crate) fn poll(sleep: Pin<&mut Sleep>, waker: &Arc<Woken>) -> Poll<()> {
    let waker = Waker::from(Arc::clone(waker));
    sleep.poll(&mut Context::from_waker(&waker))
}

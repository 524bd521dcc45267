//! How each peer's primitive is plugged in, by what its documentation promises.

mod others;
mod smol;
mod tokio;

pub(crate) use self::others::{FlumeRecv, FuturesMutex, KanalRecv, ThingbufSend};
pub(crate) use self::smol::{
    AsyncChannelRecv, AsyncChannelSend, AsyncLockMutex, AsyncLockSemaphore, EventListener,
};
pub(crate) use self::tokio::{
    TokioMpscSend, TokioMutex, TokioNotify, TokioSemaphore, TokioSetOnce, TokioWatch,
};

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Slots of the channels whose senders wait.
pub(crate) const SLOTS: usize = 4;

/// Something that one call at a time may use, and calls that come from inside of it may not: those
/// are owed, and made up for afterwards.
pub(crate) struct Lent<T> {
    slot: Mutex<Option<T>>,
    owed: AtomicUsize,
}

impl<T> Lent<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            slot: Mutex::new(Some(value)),
            owed: AtomicUsize::new(0),
        }
    }

    pub(crate) fn call(&self, f: impl Fn(&mut T)) {
        struct Back<'a, T>(&'a Lent<T>, Option<T>);
        impl<T> Drop for Back<'_, T> {
            fn drop(&mut self) {
                *self.0.slot.lock().unwrap() = self.1.take();
            }
        }
        self.owed.fetch_add(1, Relaxed);
        loop {
            let taken = self.slot.lock().unwrap().take();
            let Some(taken) = taken else { return };
            let mut back = Back(self, Some(taken));
            while self.owed.load(Relaxed) > 0 {
                self.owed.fetch_sub(1, Relaxed);
                f(back.1.as_mut().expect("it is put back at the end"));
            }
            drop(back);
            if self.owed.load(Relaxed) == 0 {
                return;
            }
        }
    }
}

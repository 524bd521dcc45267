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

use std::collections::VecDeque;
use std::sync::Mutex;

/// Slots of the channels whose senders wait.
pub(crate) const SLOTS: usize = 4;

/// Something that one call at a time may use, and calls that come from inside of it may not: those
/// are owed, and made up for afterwards, each as what it was.
pub(crate) struct Lent<T> {
    slot: Mutex<Option<T>>,
    owed: Mutex<VecDeque<fn(&mut T)>>,
}

impl<T> Lent<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            slot: Mutex::new(Some(value)),
            owed: Mutex::new(VecDeque::new()),
        }
    }

    pub(crate) fn call(&self, f: fn(&mut T)) {
        struct Back<'a, T>(&'a Lent<T>, Option<T>);
        impl<T> Drop for Back<'_, T> {
            fn drop(&mut self) {
                *self.0.slot.lock().unwrap() = self.1.take();
            }
        }
        self.owed.lock().unwrap().push_back(f);
        loop {
            let taken = self.slot.lock().unwrap().take();
            let Some(taken) = taken else { return };
            let mut back = Back(self, Some(taken));
            // The lock is free again when the call is made: it may call back.
            while let Some(owed) = self.next() {
                owed(back.1.as_mut().expect("it is put back at the end"));
            }
            drop(back);
            if self.owed.lock().unwrap().is_empty() {
                return;
            }
        }
    }

    fn next(&self) -> Option<fn(&mut T)> {
        self.owed.lock().unwrap().pop_front()
    }
}

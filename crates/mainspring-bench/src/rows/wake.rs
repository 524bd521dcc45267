//! How long a wake-up from another thread takes to reach a parked `block_on`.

use std::any::TypeId;
use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::floor::Floor;
use crate::outcome::{Outcome, percentile};
use crate::runtime::OneThread;
use crate::sys;

const WAKES: usize = 1_000;
/// Long enough for the other side to be asleep again.
const GAP: Duration = Duration::from_micros(300);
const EMPTY: u64 = 0;
const FINISHED: u64 = u64::MAX;

/// Where the waker is left and when it was called.
#[derive(Default)]
struct Bell {
    waker: Mutex<Option<Waker>>,
    rung_at_ns: AtomicU64,
}

/// The runtime on core 1, the thread that wakes it on core 0.
pub fn run<R: OneThread>(passes: u32) -> Outcome {
    let floor = TypeId::of::<R>() == TypeId::of::<Floor>();
    let mut p50 = Vec::new();
    for pass in 0..=passes {
        let mut nanos = if floor {
            futex_wakes()
        } else {
            runtime_wakes::<R>()
        };
        if pass > 0 {
            p50.push(percentile(&mut nanos, 0.5) / 1e3);
        }
    }
    Outcome::of("p50-us", p50)
}

fn runtime_wakes<R: OneThread>() -> Vec<u64> {
    let bell: &'static Bell = Box::leak(Box::default());
    let epoch = Instant::now();
    let ringer = thread::spawn(move || {
        sys::pin_thread(0);
        for _ in 0..WAKES {
            thread::sleep(GAP);
            let Some(waker) = bell.waker.lock().expect("not poisoned").take() else {
                continue;
            };
            bell.rung_at_ns
                .store(epoch.elapsed().as_nanos() as u64 + 1, Ordering::SeqCst);
            waker.wake();
        }
        thread::sleep(GAP);
        bell.rung_at_ns.store(FINISHED, Ordering::SeqCst);
        if let Some(waker) = bell.waker.lock().expect("not poisoned").take() {
            waker.wake();
        }
    });
    let nanos = R::block_on(async move {
        let mut nanos = Vec::with_capacity(WAKES);
        loop {
            let rung_at = rung(bell).await;
            if rung_at == FINISHED {
                return nanos;
            }
            nanos.push(epoch.elapsed().as_nanos() as u64 + 1 - rung_at);
        }
    });
    ringer.join().expect("the ringer does not panic");
    nanos
}

async fn rung(bell: &Bell) -> u64 {
    poll_fn(|cx| {
        let taken = || match bell.rung_at_ns.swap(EMPTY, Ordering::SeqCst) {
            EMPTY => Poll::Pending,
            rung_at => Poll::Ready(rung_at),
        };
        if bell.rung_at_ns.load(Ordering::SeqCst) == EMPTY {
            *bell.waker.lock().expect("not poisoned") = Some(cx.waker().clone());
        }
        taken()
    })
    .await
}

/// The floor: the same over a bare futex.
fn futex_wakes() -> Vec<u64> {
    const QUIET: u32 = 0;
    const RUNG: u32 = 1;
    const OVER: u32 = 2;
    let word: &'static AtomicU32 = Box::leak(Box::default());
    let rung_at_ns: &'static AtomicU64 = Box::leak(Box::default());
    let epoch = Instant::now();
    let ringer = thread::spawn(move || {
        sys::pin_thread(0);
        for turn in 0..=WAKES {
            thread::sleep(GAP);
            rung_at_ns.store(epoch.elapsed().as_nanos() as u64, Ordering::SeqCst);
            word.store(if turn < WAKES { RUNG } else { OVER }, Ordering::SeqCst);
            futex(word, libc::FUTEX_WAKE, 1);
        }
    });
    let mut nanos = Vec::with_capacity(WAKES);
    loop {
        match word.swap(QUIET, Ordering::SeqCst) {
            QUIET => futex(word, libc::FUTEX_WAIT, QUIET),
            RUNG => {
                let now = epoch.elapsed().as_nanos() as u64;
                nanos.push(now - rung_at_ns.load(Ordering::SeqCst));
            }
            _ => break,
        }
    }
    ringer.join().expect("the ringer does not panic");
    nanos
}

fn futex(word: &'static AtomicU32, operation: libc::c_int, value: u32) {
    let no_limit = std::ptr::null::<libc::timespec>();
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives for ever; both operations take it, a value, and no time limit.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, no_limit) };
}

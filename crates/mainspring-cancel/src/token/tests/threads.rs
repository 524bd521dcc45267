//! Many threads at once, with the real scheduler.

use super::wakers::poll;
use crate::{CancelToken, Phase, Reason, Unregistered};
use std::pin::pin;
use std::sync::Arc;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Waker;
use std::thread;

const ROUNDS: usize = 300;

// C1, C2, C4
// WITNESS: wave.whole, register.never-lost
#[test]
fn trees_that_are_built_cancelled_and_dropped_at_once_end_whole() {
    for round in 0..ROUNDS {
        let root = CancelToken::new();
        let middle = root.child();
        let calls = Arc::new(AtomicUsize::new(0));
        let expected = Arc::new(AtomicUsize::new(0));
        let barrier = Arc::new(Barrier::new(4));
        let builders = (0..3).map(|number: usize| {
            let (root, middle) = (root.clone(), middle.clone());
            let (calls, expected) = (Arc::clone(&calls), Arc::clone(&expected));
            let barrier = Arc::clone(&barrier);
            thread::spawn(move || {
                barrier.wait();
                for step in 0..8 {
                    let above = if (step + number) % 2 == 0 {
                        &root
                    } else {
                        &middle
                    };
                    let child = above.child();
                    let hold = child.child().hold();
                    let calls = Arc::clone(&calls);
                    let registration = child.on_cancel(move |_| {
                        calls.fetch_add(1, Relaxed);
                    });
                    drop(child);
                    let _ = hold;
                    match registration.unregister() {
                        Unregistered::Removed(_) => {}
                        Unregistered::Running(_) | Unregistered::Ran => {
                            expected.fetch_add(1, Relaxed);
                        }
                    }
                }
            })
        });
        let builders: Vec<_> = builders.collect();
        drop(middle);
        barrier.wait();
        if round % 2 == 0 {
            thread::yield_now();
        }
        assert!(root.cancel(Reason::requested()));
        for builder in builders {
            builder.join().unwrap();
        }
        assert_eq!(root.phase(), Phase::Cancelled, "round {round}");
        assert_eq!(calls.load(Relaxed), expected.load(Relaxed), "round {round}");
        assert!(poll(pin!(root.drained()), Waker::noop()).is_ready());
    }
}

//! What the histories of threads are made of.

use mainspring_testkit::SEED_VARIABLE;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// `MAINSPRING_SEED=n` replays one run.
pub(crate) fn seeds(count: u64) -> Vec<u64> {
    match env::var(SEED_VARIABLE).map(|seed| seed.parse()) {
        Ok(Ok(seed)) => vec![seed],
        _ => (1..=count)
            .map(|n| 0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(n))
            .collect(),
    }
}

/// A message that counts itself while it lives.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) id: (usize, u32),
    alive: Arc<AtomicUsize>,
}

impl Message {
    pub(crate) fn new(id: (usize, u32), alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Relaxed);
        let alive = Arc::clone(alive);
        Self { id, alive }
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Relaxed);
    }
}

/// Each consumer sees the messages of each producer in order.
pub(crate) fn check_order(received: &[Vec<(usize, u32)>], producers: usize, seed: u64) {
    for row in received {
        let mut next = vec![0; producers];
        for (producer, number) in row {
            assert!(*number >= next[*producer], "seed {seed}: out of order");
            next[*producer] = number + 1;
        }
    }
}

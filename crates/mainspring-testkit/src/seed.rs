//! Randomness that can be replayed.

use mainspring_core::random::{self, Random};
use std::env;

/// The variable that replays a run: `MAINSPRING_SEED=17 cargo test name_of_the_test`.
pub const SEED_VARIABLE: &str = "MAINSPRING_SEED";

/// The seed that the environment asks for, else a fresh one.
///
/// # Panics
///
/// If the variable is set to something that is no number.
#[must_use]
pub fn seed() -> u64 {
    match env::var(SEED_VARIABLE) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{SEED_VARIABLE}={text} is no number")),
        Err(_) => random::next_u64(),
    }
}

/// Runs a test with a seeded generator. If it panics, the seed is printed, and how to replay it.
///
/// ```
/// mainspring_testkit::seeded(|random| {
///     assert!(random.below(6) < 6);
/// });
/// ```
pub fn seeded<R>(test: impl FnOnce(&mut Random) -> R) -> R {
    let seed = seed();
    let _said = SayIfPanicking(seed);
    test(&mut Random::from_seed(seed))
}

struct SayIfPanicking(u64);

impl Drop for SayIfPanicking {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.0;
            eprintln!("replay with {SEED_VARIABLE}={seed}");
        }
    }
}

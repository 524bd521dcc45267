//! The one source of randomness for scheduling decisions: whom to steal from, which arm comes
//! first.
//!
//! Every thread has a generator of its own, seeded from the operating system, unless a test or a
//! simulator has [entered](enter) a seed: then everything that this source decides on the thread
//! can be replayed.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, 2014): 64 bits of state of which every value
//! is a good one, so no seed leads to a degenerate stream. It is fast and fair, and predictable by
//! whoever sees its output: never use it for secrets.
//!
//! ```
//! use mainspring_core::random;
//!
//! let draw = || (0..4).map(|_| random::below(100)).collect::<Vec<_>>();
//! let seeded = random::enter(42);
//! let first = draw();
//! drop(seeded);
//! let _seeded = random::enter(42);
//! assert_eq!(draw(), first);
//! ```

use crate::sync::{entropy, thread_local};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

/// A generator as plain data, for whoever keeps its own: a simulator, one per worker.
///
/// ```
/// use mainspring_core::random::Random;
///
/// let mut dice = Random::from_seed(0);
/// assert!((0..100).all(|_| dice.below(6) < 6));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

/// The step of SplitMix64's counter: 2^64 divided by the golden ratio, and odd, so that the counter
/// comes by every value.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The stream that belongs to `seed`. Every seed is as good as every other.
    #[must_use]
    pub const fn from_seed(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, each with the same probability; 0 if `bound` is 0.
    ///
    /// Lemire's method: one multiplication as a rule, a division only where rejecting some draws is
    /// what makes the rest fair.
    #[inline]
    pub const fn below(&mut self, bound: u32) -> u32 {
        let mut product = (self.next_u64() >> 32) * bound as u64;
        if (product as u32) < bound {
            let unfair = bound.wrapping_neg() % bound;
            while (product as u32) < unfair {
                product = (self.next_u64() >> 32) * bound as u64;
            }
        }
        (product >> 32) as u32
    }

    /// A generator whose stream has nothing to do with the rest of this one.
    #[must_use]
    pub const fn fork(&mut self) -> Self {
        Self {
            state: self.next_u64(),
        }
    }
}

thread_local! {
    /// `None` until the first draw.
    static CURRENT: Cell<Option<u64>> = const { Cell::new(None) };
}

fn draw<R>(from: impl FnOnce(&mut Random) -> R) -> R {
    CURRENT.with(|current| {
        let state = current.get().unwrap_or_else(entropy);
        let mut random = Random { state };
        let drawn = from(&mut random);
        current.set(Some(random.state));
        drawn
    })
}

/// The next 64 bits of this thread's generator.
#[inline]
#[must_use]
pub fn next_u64() -> u64 {
    draw(Random::next_u64)
}

/// A number below `bound` from this thread's generator, each with the same probability; 0 if
/// `bound` is 0.
#[inline]
#[must_use]
pub fn below(bound: u32) -> u32 {
    draw(|random| random.below(bound))
}

/// Makes this thread draw the stream of `seed` until the guard is dropped, which puts the stream
/// before back where it was.
pub fn enter(seed: u64) -> Seeded {
    let outer = CURRENT.with(|current| current.replace(Some(seed)));
    Seeded {
        outer,
        one_thread: PhantomData,
    }
}

/// The thread draws from a seed while this lives. See [`enter`].
#[must_use = "the seed counts only while the guard lives"]
pub struct Seeded {
    outer: Option<u64>,
    one_thread: PhantomData<*const ()>,
}

impl Drop for Seeded {
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.outer));
    }
}

impl fmt::Debug for Seeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seeded").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(all(mainspring_loom, feature = "loom"))))]
mod tests;

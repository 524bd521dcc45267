//! What a case leaves behind for whoever waits for it, and how it ends.

use super::Luck;
use crate::sync::{Arc, Mutex};
use mainspring_core::random::Random;
use std::fmt;

/// How a case ends.
pub type Check = Result<(), Miss>;

/// Why a case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// The primitive does what it must not, or does not do what it must.
    Fails(String),
    /// The case says nothing about a primitive of this shape, or in this program.
    DoesNotApply(String),
}

impl Miss {
    pub(super) fn skip(why: &str) -> Check {
        Err(Self::DoesNotApply(why.to_owned()))
    }
}

/// Fails the case unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err($crate::conformance::Miss::Fails(format!($($message)+)));
        }
    };
}

pub(super) use ensure;

/// Where a case is, for the watchdog's message; and its seed.
#[derive(Clone, Debug)]
pub struct Trail {
    step: Arc<Mutex<String>>,
    seed: u64,
    luck: Luck,
}

impl Trail {
    pub(super) fn new(seed: u64, luck: Luck) -> Self {
        Self {
            step: Arc::default(),
            seed,
            luck,
        }
    }

    /// Says what comes next, in words that complete "it hangs where ...".
    pub fn at(&self, step: impl fmt::Display) {
        let step = step.to_string();
        *self.step.lock() = step;
    }

    /// What was said last.
    #[must_use]
    pub fn step(&self) -> String {
        self.step.lock().clone()
    }

    /// The case's own generator.
    ///
    /// # Panics
    ///
    /// If the case is one of fixed steps: its [`Luck`] would be a lie.
    #[must_use]
    pub fn random(&self) -> Random {
        assert!(self.luck.is_lucky(), "a case of fixed steps draws nothing");
        Random::from_seed(self.seed)
    }
}

//! What became of each case.

use std::fmt;

/// What became of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Passed,
    /// It says nothing about this primitive, for the reason given.
    Skipped(String),
    /// It does not hold.
    Failed(String),
    /// It did not come back in time: where it hangs.
    Hung(String),
}

impl Outcome {
    /// Whether it failed or hung.
    #[must_use]
    pub fn is_miss(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Hung(_))
    }

    /// One word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped(_) => "skipped",
            Self::Failed(_) => "failed",
            Self::Hung(_) => "hung",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Skipped(why) => write!(f, "skipped: {why}"),
            Self::Failed(why) => write!(f, "failed: {why}"),
            Self::Hung(step) => write!(f, "hung where {step}"),
        }
    }
}

/// What became of each case that was run on one primitive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a report that nobody reads finds nothing"]
#[non_exhaustive]
pub struct Report {
    /// The primitive's type.
    pub subject: &'static str,
    /// What replays the random cases.
    pub seed: u64,
    /// The cases in the order in which they were run.
    pub outcomes: Vec<(&'static str, Outcome)>,
}

impl Report {
    /// The names of the cases that failed or hung.
    #[must_use]
    pub fn misses(&self) -> Vec<&'static str> {
        let misses = self
            .outcomes
            .iter()
            .filter(|(_, outcome)| outcome.is_miss());
        misses.map(|(name, _)| *name).collect()
    }

    /// Whether no case failed or hung.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.misses().is_empty()
    }

    /// What became of the case of that name.
    #[must_use]
    pub fn outcome(&self, name: &str) -> Option<&Outcome> {
        let mut outcomes = self.outcomes.iter();
        outcomes
            .find(|(of, _)| *of == name)
            .map(|(_, outcome)| outcome)
    }

    /// Panics with the report, if it is not clean.
    ///
    /// # Panics
    ///
    /// If a case failed or hung.
    #[track_caller]
    pub fn assert_clean(&self) {
        assert!(self.is_clean(), "{self}");
    }

    /// Panics with the report, unless exactly these cases failed or hung.
    ///
    /// # Panics
    ///
    /// If another case did, or one of these did not.
    #[track_caller]
    pub fn assert_misses(&self, names: &[&str]) {
        assert_eq!(self.misses(), names, "{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} ({}={})",
            self.subject,
            crate::SEED_VARIABLE,
            self.seed
        )?;
        for (name, outcome) in &self.outcomes {
            writeln!(f, "    {name:<30} {outcome}")?;
        }
        Ok(())
    }
}

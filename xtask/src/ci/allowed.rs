//! The committed list of skips that are expected.
//!
//! One a line, `stage: pattern`, where the pattern must match the whole reason and `*` stands for
//! anything. Empty lines and lines that start with `#` are for the reader.

use super::{Skips, Stage};
use std::path::Path;

/// The list, read.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Allowed {
    entries: Vec<(String, String)>,
}

impl Allowed {
    /// Reads the list from its file.
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Self::parse(&text).map_err(|why| format!("{}: {why}", path.display()))
    }

    /// Reads the list from its text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut entries = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.split_once(": ") {
                Some((stage, pattern)) if !pattern.trim().is_empty() => {
                    entries.push((stage.trim().to_owned(), pattern.trim().to_owned()));
                }
                _ => return Err(format!("line {number} is not `stage: pattern`")),
            }
        }
        Ok(Self { entries })
    }

    /// Refuses entries for stages that do not exist or whose skips no list forgives.
    pub(super) fn check_against(&self, stages: &[Stage]) -> Result<(), String> {
        for (name, _) in &self.entries {
            let stage = stages.iter().find(|stage| stage.name == name);
            match stage {
                None => return Err(format!("allowed-skips.txt names no stage: {name}")),
                Some(stage) if stage.skips != Skips::Listed => {
                    return Err(format!(
                        "allowed-skips.txt: no list forgives skips in {name}"
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Whether a skip in this stage for this reason is expected.
    pub(super) fn covers(&self, stage: &str, reason: &str) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|(name, pattern)| name == stage && matches(pattern, reason))
    }
}

/// Whether the pattern matches the whole text; `*` stands for anything, also for nothing.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(first) else {
        return false;
    };
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    starts.into_iter().any(|at| matches(rest, &text[at..]))
}

#[cfg(test)]
mod tests;

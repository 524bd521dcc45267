//! What libtest prints when it runs many tests in one process.

/// What a run of libtest says, over all its binaries.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: u32,
    pub(super) failed: Vec<String>,
    pub(super) ignored: Vec<String>,
}

impl Counts {
    /// Reads lines like `test src/a.rs - a::B (line 7) ... ok`.
    pub(super) fn read(text: &str) -> Self {
        let mut counts = Self::default();
        for line in text.lines() {
            let Some((name, verdict)) = line
                .strip_prefix("test ")
                .and_then(|rest| rest.rsplit_once(" ... "))
            else {
                continue;
            };
            match verdict {
                "ok" => counts.passed += 1,
                "FAILED" => counts.failed.push(name.to_owned()),
                "ignored" => counts.ignored.push(name.to_owned()),
                _ => {}
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests;

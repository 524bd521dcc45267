//! What libtest prints when it runs many tests in one process.

/// What a run of libtest says, over all its binaries.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// How many binaries have said `test result`: one that was left early says nothing.
    pub(super) binaries: u32,
    pub(super) passed: u32,
    pub(super) failed: Vec<String>,
    pub(super) ignored: Vec<String>,
}

impl Counts {
    /// Reads lines like `test src/a.rs - a::B (line 7) ... FAILED` and the closing line of each
    /// binary, `test result: ok. 2 passed; …`. What passed is taken from the latter, because the
    /// former is torn where a test writes past libtest's capture.
    pub(super) fn read(text: &str) -> Self {
        let mut counts = Self::default();
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("test ") else {
                continue;
            };
            if let Some(result) = rest.strip_prefix("result: ") {
                counts.binaries += 1;
                counts.passed += passed_in(result);
            } else if let Some((name, verdict)) = rest.rsplit_once(" ... ") {
                match verdict.split(',').next().unwrap_or_default() {
                    "FAILED" => counts.failed.push(name.to_owned()),
                    "ignored" => counts.ignored.push(name.to_owned()),
                    _ => {}
                }
            }
        }
        counts
    }
}

/// The number in `ok. 2 passed; 0 failed; …`.
fn passed_in(result: &str) -> u32 {
    let mut words = result.split_whitespace();
    words
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;

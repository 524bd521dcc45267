//! What stands at the end of a run: times, failures, skips, and the closing line.

use super::{Stage, seconds};
use crate::context::Outcome;
use std::time::Duration;

/// The stages that have run so far.
pub(super) struct Report {
    rows: Vec<Row>,
    total: Outcome,
    elapsed: Duration,
}

struct Row {
    name: &'static str,
    elapsed: Duration,
    budget: Duration,
    outcome: Outcome,
}

impl Report {
    pub(super) fn new() -> Self {
        Self {
            rows: Vec::new(),
            total: Outcome::new(),
            elapsed: Duration::ZERO,
        }
    }

    pub(super) fn add(&mut self, stage: &Stage, elapsed: Duration, outcome: Outcome) {
        self.elapsed += elapsed;
        self.total.merge(outcome.clone());
        self.rows.push(Row {
            name: stage.name,
            elapsed,
            budget: Duration::from_secs(stage.budget_s),
            outcome,
        });
    }

    pub(super) fn is_green(&self) -> bool {
        self.total.failed() == 0
    }

    pub(super) fn print(&self) {
        println!("{}", self.text());
    }

    /// The report; its last line is the closing line and nothing else.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![
            String::new(),
            "stage          time   budget   passed  failed  skipped".to_owned(),
        ];
        lines.extend(self.rows.iter().map(Row::line));
        lines.push(format!("{:<10} {:>8}", "all", seconds(self.elapsed)));
        for row in &self.rows {
            for what in row.outcome.failures() {
                lines.push(format!("failed in {}: {what}", row.name));
            }
        }
        for row in &self.rows {
            for skip in row.outcome.skipped() {
                lines.push(format!(
                    "skipped in {}: {}: {}",
                    row.name, skip.what, skip.reason
                ));
            }
        }
        lines.push(self.total.closing_line());
        lines.join("\n")
    }
}

impl Row {
    fn line(&self) -> String {
        let outcome = &self.outcome;
        let mark = if *outcome == Outcome::new() {
            "  does not apply"
        } else if self.elapsed > self.budget {
            "  over budget"
        } else {
            ""
        };
        format!(
            "{:<10} {:>8} {:>6} s {:>8} {:>7} {:>8}{mark}",
            self.name,
            seconds(self.elapsed),
            self.budget.as_secs(),
            outcome.passed(),
            outcome.failed(),
            outcome.skipped().len(),
        )
    }
}

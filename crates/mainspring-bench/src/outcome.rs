//! What a run reports, and the small statistics behind it.

use crate::sys::Scheduling;

/// The result of one row for one implementation in this process.
#[derive(Debug, Default)]
pub struct Outcome {
    metrics: Vec<Metric>,
    note: Option<String>,
}

#[derive(Debug)]
struct Metric {
    name: &'static str,
    passes: Vec<f64>,
}

impl Outcome {
    /// One metric, one value a pass.
    pub fn of(name: &'static str, passes: Vec<f64>) -> Outcome {
        Outcome::default().with(name, passes)
    }

    /// Adds a metric.
    pub fn with(mut self, name: &'static str, passes: Vec<f64>) -> Outcome {
        self.metrics.push(Metric { name, passes });
        self
    }

    /// Adds a remark that the report must repeat (for example that a run was unfair).
    pub fn noted(mut self, note: impl Into<String>) -> Outcome {
        self.note = Some(note.into());
        self
    }

    /// One flat JSON object a metric, on standard output.
    pub fn print(&self, row: &str, name: &str, scheduling: Scheduling, calm: bool) {
        let note = self.note.as_deref().unwrap_or("");
        for metric in &self.metrics {
            let (low, high) = extremes(&metric.passes);
            println!(
                "{{\"row\":\"{row}\",\"impl\":\"{name}\",\"metric\":\"{}\",\"value\":{:.4},\
                 \"low\":{low:.4},\"high\":{high:.4},\"passes\":{},\"ran_ns\":{},\"waited_ns\":{},\
                 \"calm\":{calm},\"note\":\"{note}\"}}",
                metric.name,
                median(&metric.passes),
                metric.passes.len(),
                scheduling.ran_ns,
                scheduling.waited_ns,
            );
        }
    }
}

/// The middle value; the mean of the two middle ones when there is no single one.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The value below which `part` (0.0 to 1.0) of the samples lie. Sorts in place.
pub fn percentile(samples: &mut [u64], part: f64) -> f64 {
    if samples.is_empty() {
        return f64::NAN;
    }
    samples.sort_unstable();
    let rank = (samples.len() as f64 * part).ceil() as usize;
    samples[rank.clamp(1, samples.len()) - 1] as f64
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::MAX, f64::MIN), |(low, high), &v| {
        (low.min(v), high.max(v))
    })
}

#[cfg(test)]
mod tests {
    use super::{median, percentile};

    #[test]
    fn median_of_an_even_count_is_the_mean_of_the_middle_pair() {
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
    }

    #[test]
    fn percentile_takes_the_nearest_rank() {
        let mut samples: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(percentile(&mut samples, 0.5), 50.0);
        assert_eq!(percentile(&mut samples, 0.99), 99.0);
        assert_eq!(percentile(&mut samples, 1.0), 100.0);
    }
}

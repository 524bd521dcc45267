//! The network rows: a server process on core 0, one generator for all on core 1.
use crate::outcome::Outcome;
use std::process::ExitCode;
pub fn serve(_k: &str, _n: &str, _s: usize) -> ExitCode {
    ExitCode::from(2)
}
pub fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    std::iter::empty()
}
pub fn run(_r: &str, _n: &str) -> Option<Outcome> {
    None
}

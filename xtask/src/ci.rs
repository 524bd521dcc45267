//! `cargo xtask ci`: the table of stages, their budgets, and the closing line.

use crate::context::{Context, Outcome, Skip};
use crate::loom;
use crate::metadata;
use crate::mutants;
use crate::shuttle;
use crate::stage::{self, faults::Extent};
use crate::tidy;
use crate::tools::{self, Tool};
use crate::weaken::{self, Scope};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

mod allowed;
mod report;

use self::allowed::Allowed;
use self::report::Report;

/// One line of the table.
pub(crate) struct Stage {
    /// The word for `--only`.
    pub(crate) name: &'static str,
    /// What it may take on two cores; a stage over its budget is marked, not failed, because a
    /// busy machine is no fault of the code.
    pub(crate) budget_s: u64,
    /// Tools without which it cannot run.
    pub(crate) needs: &'static [Tool],
    /// Part of `--quick`.
    pub(crate) is_quick: bool,
    /// Whether a skip in it can be forgiven.
    pub(crate) skips: Skips,
    /// What it shows, for `--list`.
    pub(crate) shows: &'static str,
    /// Runs it. An empty outcome means that it does not apply to the selected packages.
    pub(crate) run: fn(&Context) -> Outcome,
}

/// When something in a stage may be skipped without failing the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skips {
    /// Always, but under `--strict` only for a reason on the committed list.
    Listed,
    /// Without `--strict` only; no list forgives it.
    Locally,
    /// Never.
    Never,
}

impl Stage {
    const fn new(
        name: &'static str,
        budget_s: u64,
        run: fn(&Context) -> Outcome,
        shows: &'static str,
    ) -> Self {
        Self {
            name,
            budget_s,
            needs: &[],
            is_quick: false,
            skips: Skips::Listed,
            shows,
            run,
        }
    }

    const fn needs(mut self, tools: &'static [Tool]) -> Self {
        self.needs = tools;
        self
    }

    const fn quick(mut self) -> Self {
        self.is_quick = true;
        self
    }

    const fn skips(mut self, skips: Skips) -> Self {
        self.skips = skips;
        self
    }
}

/// Every stage, in the order in which it runs: what fails fast comes first.
#[rustfmt::skip]
const STAGES: &[Stage] = &[
    Stage::new("fmt", 10, stage::fmt::run, "one style")
        .needs(&[tools::RUSTFMT]).quick(),
    Stage::new("clippy", 90, stage::clippy::run, "no warning: plain, all features, model build")
        .needs(&[tools::CLIPPY]).quick(),
    Stage::new("tidy", 10, tidy::run, "the rules of the house style that a program can check")
        .quick().skips(Skips::Never),
    Stage::new("test", 170, stage::test::run, "behaviour, one process per test")
        .quick().skips(Skips::Locally),
    Stage::new("doc-tests", 120, stage::doc::tests, "examples in the documentation run"),
    Stage::new("rustdoc", 60, stage::doc::pages, "the documentation builds without a warning"),
    Stage::new("features", 120, stage::features::run, "each published crate, each feature alone")
        .needs(&[tools::CLIPPY]),
    Stage::new("package", 120, stage::package::run, "what is published builds elsewhere"),
    Stage::new("deny", 120, stage::deny::run, "licences, bans and sources of dependencies")
        .needs(&[tools::DENY]),
    Stage::new("loom", 300, loom::run, "orderings and lost wake-ups, in every interleaving")
        .skips(Skips::Never),
    Stage::new("shuttle", 90, shuttle::run, "whole compositions, under random and PCT schedules")
        .skips(Skips::Never),
    Stage::new("weaken", 300, |ctx| weaken::run(ctx, Scope::Sample), "that the models can fail")
        .skips(Skips::Never),
    Stage::new("mutants", 300, |ctx| mutants::run(ctx, Scope::Sample), "that the tests can fail"),
    Stage::new("asan", 240, stage::asan::run, "no use after free, no leak, in the same tests")
        .needs(&[tools::NIGHTLY]),
    Stage::new("examples", 60, stage::examples::run, "every example starts and ends well"),
    Stage::new("faults", 60, |ctx| stage::faults::run(ctx, Extent::Short), "system calls may fail")
        .needs(&[tools::STRACE]),
    Stage::new("interop", 90, stage::interop::run, "each crate as a guest under tokio and smol"),
    Stage::new("newcomer", 60, stage::newcomer::run, "the README's example in a new project"),
];

/// What the command line asked for beyond what stands in the [`Context`].
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The names after `--only`; empty means all.
    pub(crate) only: Vec<String>,
}

/// Prints the table.
pub(crate) fn list() {
    for stage in STAGES {
        let quick = if stage.is_quick { "quick" } else { "" };
        println!(
            "{:<10} {:>4} s  {quick:<5}  {}",
            stage.name, stage.budget_s, stage.shows
        );
    }
}

/// Runs the selected stages and prints the report; whether all went well.
pub(crate) fn run(ctx: &Context, selection: &Selection) -> Result<bool, String> {
    let stages = select(ctx, selection)?;
    check_packages(ctx)?;
    let allowed = Allowed::load(&ctx.root.join("xtask/lists/allowed-skips.txt"))?;
    allowed.check_against(STAGES)?;
    let mut report = Report::new();
    for stage in stages {
        println!("\n== {} — {}", stage.name, stage.shows);
        let started = Instant::now();
        let mut outcome = run_one(ctx, stage);
        judge_skips(ctx, stage, &allowed, &mut outcome);
        report.add(stage, started.elapsed(), outcome);
    }
    report.print();
    Ok(report.is_green())
}

fn select(ctx: &Context, selection: &Selection) -> Result<Vec<&'static Stage>, String> {
    for name in &selection.only {
        if STAGES.iter().all(|stage| stage.name != name) {
            let names: Vec<_> = STAGES.iter().map(|stage| stage.name).collect();
            return Err(format!(
                "no stage is called {name}; there are: {}",
                names.join(", ")
            ));
        }
    }
    let is_named = |stage: &&Stage| selection.only.iter().any(|name| name == stage.name);
    Ok(if !selection.only.is_empty() {
        STAGES.iter().filter(is_named).collect()
    } else if ctx.quick {
        STAGES.iter().filter(|stage| stage.is_quick).collect()
    } else {
        STAGES.iter().collect()
    })
}

/// Refuses a package that is not there: every stage would find nothing to do, and be green.
fn check_packages(ctx: &Context) -> Result<(), String> {
    if ctx.packages.is_empty() {
        return Ok(());
    }
    let packages = metadata::packages(ctx)?;
    let names: Vec<_> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    match ctx
        .packages
        .iter()
        .find(|name| !names.contains(&name.as_str()))
    {
        Some(name) => Err(format!(
            "no package is called {name}; there are: {}",
            names.join(", ")
        )),
        None => Ok(()),
    }
}

fn run_one(ctx: &Context, stage: &Stage) -> Outcome {
    let mut outcome = Outcome::new();
    for tool in stage.needs {
        match tools::ensure(ctx, tool) {
            Ok(()) => {}
            Err(tools::Missing::MayBeSkipped(reason)) => outcome.skip(stage.name, reason),
            Err(tools::Missing::Needed(why)) => outcome.fail(stage.name, why),
        }
    }
    if outcome != Outcome::new() {
        return outcome;
    }
    match catch_unwind(AssertUnwindSafe(|| (stage.run)(ctx))) {
        Ok(outcome) => outcome,
        Err(_) => {
            outcome.fail(
                stage.name,
                "xtask itself panicked; the message stands above",
            );
            outcome
        }
    }
}

/// Turns skips that nobody allowed into failures.
fn judge_skips(ctx: &Context, stage: &Stage, allowed: &Allowed, outcome: &mut Outcome) {
    let is_forgiven = |skip: &Skip| match stage.skips {
        Skips::Listed => !ctx.strict || allowed.covers(stage.name, &skip.reason),
        Skips::Locally => !ctx.strict,
        Skips::Never => false,
    };
    let unexpected: Vec<_> = (outcome.skipped().iter())
        .filter(|skip| !is_forgiven(skip))
        .map(|skip| skip.what.clone())
        .collect();
    let why = match stage.skips {
        Skips::Listed => {
            "an unexpected skip is a failure under CI=true and --strict: make it run, or add a \
             line to xtask/lists/allowed-skips.txt"
        }
        Skips::Locally => "under CI=true and --strict nothing in this stage is skipped",
        Skips::Never => "nothing in this stage is ever skipped: make it run here",
    };
    for what in unexpected {
        outcome.fail(format!("skip of {what}"), why);
    }
}

/// The stage's time and budget as one cell of the report.
fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests;

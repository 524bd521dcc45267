//! The stage of shuttle: compositions of the shipped code under random and PCT schedules, each test
//! in a process of its own.
//!
//! Its tests stand in the test binary `shuttle` of a package, or in a module `tests::shuttle` of
//! its library where they need what is private. As with loom's models, what is called `printed_…`,
//! or stands in `mod printed`, is a wrong form that has to fail; everything else has to pass.

use crate::context::{Context, Outcome};
use crate::loom::{Model, Verdict, complaint, model};
use crate::metadata::{self, Package};
use crate::run::Command;
use crate::runner;
use crate::weaken::today;
use std::path::Path;
use std::time::Duration;

/// Executions of each test under each scheduler, in ci.
const ITERATIONS: u64 = 400;

/// By command.
const ITERATIONS_BY_COMMAND: u64 = 5_000;

/// When a test is stopped that runs [`ITERATIONS`]: a busy machine is no fault of the test.
const LIMIT: Duration = Duration::from_secs(120);

/// The configuration in which core's door leads to shuttle.
pub(crate) const FLAGS: &str = "--cfg mainspring_shuttle";

/// What a build in that configuration asks for, whichever package it is of.
pub(crate) const FEATURE: &str = "mainspring-core/shuttle";

/// What to explore.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    iterations: u64,
    seed: u64,
    /// Only tests whose name contains this.
    name: Option<String>,
    /// Only these packages; empty means all.
    packages: Vec<String>,
}

/// The stage.
pub(crate) fn run(ctx: &Context) -> Outcome {
    explore(
        ctx,
        &Asked {
            iterations: ITERATIONS,
            seed: today(),
            name: None,
            packages: ctx.packages.clone(),
        },
    )
}

/// The command: `shuttle [--iterations N] [--seed S] [-p PACKAGE] [NAME]`.
pub(crate) fn main(ctx: &Context, args: &[&str]) -> Result<Outcome, String> {
    let asked = parse(args)?;
    let ctx = Context {
        packages: asked.packages.clone(),
        ..ctx.clone()
    };
    Ok(explore(&ctx, &asked))
}

fn parse(args: &[&str]) -> Result<Asked, String> {
    let mut asked = Asked {
        iterations: ITERATIONS_BY_COMMAND,
        seed: today(),
        name: None,
        packages: Vec::new(),
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is no number"));
        match *arg {
            "--iterations" => asked.iterations = number(value()?)?,
            "--seed" => asked.seed = number(value()?)?,
            "-p" | "--package" => asked.packages.push((*value()?).to_owned()),
            name if !name.starts_with('-') && asked.name.is_none() => {
                asked.name = Some(name.to_owned());
            }
            other => return Err(format!("unknown option {other}")),
        }
    }
    Ok(asked)
}

fn explore(ctx: &Context, asked: &Asked) -> Outcome {
    let mut outcome = Outcome::new();
    let mut tests = match build(ctx, &mut outcome) {
        Ok(tests) => tests,
        Err(why) => {
            outcome.fail("shuttle", why);
            return outcome;
        }
    };
    if let Some(name) = &asked.name {
        tests.retain(|test| test.name.contains(name));
    }
    let Asked {
        iterations, seed, ..
    } = asked;
    let count = tests.len();
    println!("{count} tests, {iterations} executions under each scheduler, seed {seed}");
    let is_empty = count == 0 && outcome.failed() == 0;
    if is_empty && (ctx.packages.is_empty() || asked.name.is_some()) {
        outcome.fail("finding the tests", "there is not one");
    }
    model::each(
        ctx.jobs,
        tests,
        |test| {
            let output = command(ctx, test, asked).capture_merged();
            let verdict = crate::loom::judge(&output);
            (output, verdict)
        },
        |test, (output, verdict)| {
            let seconds = output.elapsed.as_secs_f64();
            println!("{seconds:>7.2} s  {verdict:<12}  {}", test.label());
            match complaint(&test, &verdict) {
                None => outcome.pass(1),
                Some(why) => {
                    let line = command(ctx, &test, asked).line();
                    let told = told(&output.stdout, &verdict);
                    outcome.fail(test.label(), format!("{why}\n{line}\n{told}"));
                }
            }
        },
    );
    outcome
}

/// What a failed test printed; of a printed form that passed there is nothing to tell.
fn told<'a>(text: &'a str, verdict: &Verdict) -> &'a str {
    match verdict {
        Verdict::Green => "",
        Verdict::Red(_) | Verdict::Broken(_) => text,
    }
}

fn command(ctx: &Context, test: &Model, asked: &Asked) -> Command {
    // One more limit for each time that the iterations of ci fit in.
    let times = u32::try_from(asked.iterations / ITERATIONS).unwrap_or(u32::MAX);
    (test.command(ctx))
        .env("MAINSPRING_SHUTTLE_SEED", asked.seed.to_string())
        .env(
            "MAINSPRING_SHUTTLE_ITERATIONS",
            asked.iterations.to_string(),
        )
        .limit(LIMIT.saturating_mul(times.max(1)))
}

/// Builds the tests of the selected packages that have some.
fn build(ctx: &Context, outcome: &mut Outcome) -> Result<Vec<Model>, String> {
    let variable = "SHUTTLE_RANDOM_SEED";
    if std::env::var_os(variable).is_some() {
        return Err(format!("unset {variable}: it overrides every seed"));
    }
    let packages = metadata::packages(ctx)?;
    let mut tests = Vec::new();
    for package in packages.iter().filter(|p| ctx.is_selected(&p.name)) {
        let targets = targets(package);
        if targets.is_empty() {
            continue;
        }
        let command = (ctx.cargo("test"))
            .args(["--locked", "--no-run", "--profile", "model"])
            .args(["--features", FEATURE, "-p", &package.name])
            .args(targets)
            .env("RUSTFLAGS", FLAGS)
            .env("CARGO_TARGET_DIR", ctx.target("shuttle"));
        let binaries = match runner::build(command, std::slice::from_ref(package)) {
            Ok(binaries) => binaries,
            Err(why) => {
                outcome.fail(format!("building the tests of {}", package.name), why);
                continue;
            }
        };
        for binary in &binaries {
            let names = binary.list(ctx)?.into_iter().map(|listed| listed.name);
            let names = names.filter(|name| binary.kind == "test" || is_ours(name));
            tests.extend(names.map(|name| Model::of(binary, name)));
        }
    }
    Ok(tests)
}

/// What of a package has tests of this stage.
pub(crate) fn targets(package: &Package) -> Vec<&'static str> {
    let mut targets = Vec::new();
    if has_unit_tests(&package.dir.join("src")) {
        targets.push("--lib");
    }
    let is_ours = |target: &metadata::Target| target.kind == "test" && target.name == "shuttle";
    if package.targets.iter().any(is_ours) {
        targets.extend(["--test", "shuttle"]);
    }
    targets
}

/// Whether a file `tests/shuttle.rs` stands somewhere below.
fn has_unit_tests(dir: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let path = entry.path();
        path.ends_with("tests/shuttle.rs") || path.is_dir() && has_unit_tests(&path)
    })
}

/// Whether a test of a library is one of this stage.
fn is_ours(name: &str) -> bool {
    format!("::{name}").contains("::tests::shuttle::")
}

#[cfg(test)]
mod tests {
    use super::{Asked, is_ours, parse};

    #[test]
    fn command_line_is_understood() {
        let asked = |iterations, seed, name: &str| Asked {
            iterations,
            seed,
            name: Some(name.to_owned()),
            packages: vec!["a".to_owned()],
        };
        let words = ["--seed", "7", "pipeline", "--iterations", "50", "-p", "a"];
        assert_eq!(parse(&words), Ok(asked(50, 7, "pipeline")));
        assert!(parse(&["--seed"]).is_err());
        assert!(parse(&["--seed", "x"]).is_err());
        assert!(parse(&["--sed", "1"]).is_err());
        assert!(parse(&["a", "b"]).is_err());
    }

    #[test]
    fn unit_tests_are_known_by_their_module() {
        assert!(is_ours("blocking::queue::tests::shuttle::a"));
        assert!(is_ours("tests::shuttle::printed::a"));
        assert!(!is_ours("sync::shuttle::explore::tests::a"));
        assert!(!is_ours("tests::loom::a"));
    }
}

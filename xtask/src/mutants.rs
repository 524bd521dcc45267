//! Shows that the tests can fail: each patch in xtask/mutants breaks one claim, and a test that is
//! a witness of that claim must turn red.
//!
//! The patch is applied to a copy of the workspace. Its witnesses run as models or as ordinary
//! tests, each in a process of its own. Red is a verdict of loom's, a failed test, a crash, or, for
//! an ordinary test, a hang: a lost wake-up shows as one. A patch that does not apply or does not
//! compile fails the run: it no longer says what it was written to say.

use crate::context::{Context, Outcome};
use crate::loom::{LIMIT, Verdict, model};
use crate::metadata::{self, Package};
use crate::run::Ending;
use crate::runner;
use crate::tidy::claims::{Claims, Witness, collect};
use crate::tidy::patches;
use crate::tidy::source::Tree;
use crate::weaken::Scope;
use crate::weaken::workshop::Workshop;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// How many patches a sample tries, if there are more.
const SAMPLE: usize = 8;

/// Up to so many patches a sample tries all.
const ALL_UP_TO: usize = 12;

/// When an ordinary test counts as hanging.
const HANGS: Duration = Duration::from_secs(60);

/// The stage: a sample, or everything.
pub(crate) fn run(ctx: &Context, scope: Scope) -> Outcome {
    let mut outcome = Outcome::new();
    if let Err(why) = try_run(ctx, scope, &[], &mut outcome) {
        outcome.fail("mutants", why);
    }
    outcome
}

/// The command: `mutants [PATCH…]`, everything by default.
pub(crate) fn main(ctx: &Context, args: &[&str]) -> Result<Outcome, String> {
    let mut outcome = Outcome::new();
    try_run(ctx, Scope::Full, args, &mut outcome)?;
    Ok(outcome)
}

fn try_run(
    ctx: &Context,
    scope: Scope,
    named: &[&str],
    outcome: &mut Outcome,
) -> Result<(), String> {
    model::check_environment()?;
    let tree = Tree::read(&ctx.root).map_err(|error| format!("cannot read: {error}"))?;
    let claims = collect(&tree);
    let all = patches::in_tree(&tree);
    if let Some(name) = named
        .iter()
        .find(|name| all.iter().all(|patch| patch != *name))
    {
        return Err(format!(
            "no patch is called {name}; there are: {}",
            all.join(", ")
        ));
    }
    let mut chosen = all;
    if !named.is_empty() {
        chosen.retain(|patch| named.contains(&patch.as_str()));
    } else if scope == Scope::Sample && chosen.len() > ALL_UP_TO {
        let seed = crate::weaken::today();
        println!(
            "{SAMPLE} of {} patches, seed {seed} (the day)",
            chosen.len()
        );
        chosen = crate::weaken::sample(chosen, SAMPLE, seed);
    }
    if chosen.is_empty() {
        return Ok(());
    }
    let workshop = Workshop::open(ctx)?;
    let packages = metadata::packages_of(ctx, &workshop.root)?;
    for patch in &chosen {
        let result = kill(ctx, &workshop, &packages, &claims, patch);
        match &result {
            Ok(by) => println!("killed    {patch} by {by}"),
            Err(_) => println!("SURVIVED  {patch}"),
        }
        outcome.check(format!("mutant {patch}"), result);
    }
    Ok(())
}

/// Applies a patch and returns the first witness that turns red.
fn kill(
    ctx: &Context,
    workshop: &Workshop,
    packages: &[Package],
    claims: &Claims,
    patch: &str,
) -> Result<String, String> {
    let id = patches::id_of(patch);
    // A schedule that shows the fault may be rare: what has a patch has another witness, too.
    let witnesses = claims.witnesses_of(id);
    let witnesses: Vec<&Witness> = witnesses.filter(|w| w.tool != "shuttle").collect();
    if witnesses.is_empty() {
        return Err(format!("no test is a witness of `{id}`"));
    }
    let file = ctx.root.join(format!("xtask/mutants/{patch}.patch"));
    let text = std::fs::read_to_string(&file).map_err(|error| format!("cannot read: {error}"))?;
    let mut edits = Vec::new();
    for (path, changed) in patches::apply(&text, |path| read(&workshop.root.join(path)))? {
        edits.push(workshop.edit(&path, &changed)?);
    }
    let names: BTreeSet<&str> = witnesses.iter().map(|w| w.package.as_str()).collect();
    let mut green = Vec::new();
    for package in packages
        .iter()
        .filter(|package| names.contains(package.name.as_str()))
    {
        let of_package = witnesses.iter().filter(|w| w.package == package.name);
        let (models, tests): (Vec<&Witness>, _) = of_package.partition(|w| w.tool == "loom");
        let mut found = red_test(ctx, workshop, package, &tests, &mut green)?;
        if found.is_none() {
            found = red_model(ctx, workshop, package, &models, &mut green)?;
        }
        if let Some(by) = found {
            return Ok(by);
        }
    }
    Err(format!(
        "no witness of `{id}` turns red:\n{}",
        green.join("\n")
    ))
}

fn read(path: &Path) -> Result<String, String> {
    let read = std::fs::read_to_string(path);
    read.map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn red_model(
    ctx: &Context,
    workshop: &Workshop,
    package: &Package,
    witnesses: &[&Witness],
    green: &mut Vec<String>,
) -> Result<Option<String>, String> {
    if witnesses.is_empty() {
        return Ok(None);
    }
    let models = model::build(ctx, &workshop.place(), package)?;
    for witness in witnesses {
        let Some(model) = models.iter().find(|model| model.name == witness.test) else {
            green.push(format!("{}: not in the model build", witness.test));
            continue;
        };
        match model.run(ctx, LIMIT).1 {
            Verdict::Green => green.push(format!("{}: green", witness.test)),
            Verdict::Red(red) => return Ok(Some(format!("{} ({red})", witness.test))),
            Verdict::Broken(why) => green.push(format!("{}: no verdict, {why}", witness.test)),
        }
    }
    Ok(None)
}

fn red_test(
    ctx: &Context,
    workshop: &Workshop,
    package: &Package,
    witnesses: &[&Witness],
    green: &mut Vec<String>,
) -> Result<Option<String>, String> {
    if witnesses.is_empty() {
        return Ok(None);
    }
    let mut command = (ctx.cargo("test").dir(&workshop.root))
        .args(["--locked", "--no-run", "--quiet", "-p", &package.name])
        .env("CARGO_TARGET_DIR", &workshop.tests)
        .quiet();
    let binaries: BTreeSet<_> = witnesses.iter().map(|witness| &witness.binary).collect();
    for binary in binaries {
        command = match binary {
            None => command.arg("--lib"),
            Some(name) => command.args(["--test", name]),
        };
    }
    let binaries = runner::build(command, std::slice::from_ref(package))?;
    for witness in witnesses {
        let binary = binaries.iter().find(|binary| match &witness.binary {
            None => binary.kind == "lib",
            Some(name) => binary.kind == "test" && binary.target == *name,
        });
        let Some(binary) = binary else {
            green.push(format!("{}: its binary was not built", witness.test));
            continue;
        };
        let command = (ctx.command(&binary.executable))
            .args(["--exact", &witness.test, "--nocapture", "--test-threads=2"])
            .limit(HANGS)
            .quiet();
        let output = binary.as_under_cargo(command).capture_merged();
        match &output.ending {
            Ending::Success => green.push(format!("{}: green", witness.test)),
            Ending::Code(_) | Ending::Signal(_) | Ending::TimedOut(_) => {
                return Ok(Some(format!("{} ({})", witness.test, output.ending)));
            }
            other => green.push(format!("{}: {other}", witness.test)),
        }
    }
    Ok(None)
}

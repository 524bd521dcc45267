//! The stage of loom models: each runs in a process of its own, on the code that ships.
//!
//! A model is a test whose path goes through a module `loom`. What is called `printed_…`, or
//! stands in `mod printed`, is a wrong form that has to fail, by loom's own verdict or by the
//! assertion of the test; every other model has to pass. A model that is stopped, or that gives up
//! at loom's limit of branches, proves nothing and fails the stage either way.

use crate::context::{Context, Outcome};
use crate::metadata;
use std::time::Duration;

pub(crate) mod model;
mod verdict;

pub(crate) use self::model::{Model, Place};
pub(crate) use self::verdict::{Verdict, judge};

/// What one model should take at most; one that takes longer is named.
const BUDGET: Duration = Duration::from_secs(60);

/// When it is stopped: a busy machine is no fault of the model.
pub(crate) const LIMIT: Duration = Duration::from_secs(150);

/// Runs every model of the selected packages.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let packages = match model::check_environment().and_then(|()| metadata::packages(ctx)) {
        Ok(packages) => packages,
        Err(why) => {
            outcome.fail("loom", why);
            return outcome;
        }
    };
    let place = Place::of(ctx);
    let has_models = |package: &&metadata::Package| {
        ctx.is_selected(&package.name) && package.features.iter().any(|name| name == "loom")
    };
    let mut models = Vec::new();
    for package in packages.iter().filter(has_models) {
        match model::build(ctx, &place, package) {
            Ok(found) => models.extend(found),
            Err(why) => outcome.fail(format!("building the models of {}", package.name), why),
        }
    }
    println!("{} models, {} at a time", models.len(), ctx.jobs);
    model::each(
        ctx.jobs,
        models,
        |model| model.run(ctx, LIMIT),
        |model, (output, verdict)| {
            let seconds = output.elapsed.as_secs_f64();
            println!("{seconds:>7.2} s  {verdict:<12}  {}", model.label());
            if output.elapsed > BUDGET {
                println!("slow: make it smaller, a model has {} s", BUDGET.as_secs());
            }
            match complaint(&model, &verdict) {
                None => outcome.pass(1),
                Some(why) => {
                    let line = model.command(ctx).line();
                    let shown = &output.stdout;
                    outcome.fail(model.label(), format!("{why}\n{line}\n{shown}"));
                }
            }
        },
    );
    if ctx.packages.is_empty() && outcome == Outcome::new() {
        outcome.fail("finding the models", "the workspace has not one model");
    }
    outcome
}

/// Why a verdict is not the one that the model has to give.
pub(crate) fn complaint(model: &Model, verdict: &Verdict) -> Option<String> {
    match (model.must_fail(), verdict) {
        (false, Verdict::Green) | (true, Verdict::Red(_)) => None,
        (false, Verdict::Red(red)) => Some(format!("an execution is wrong: {red}")),
        (true, Verdict::Green) => {
            Some("the printed form passes: the model does not show its fault".to_owned())
        }
        (_, Verdict::Broken(why)) => Some(format!("no verdict: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::verdict::Red;
    use super::{Model, Verdict, complaint};

    #[test]
    fn shipped_forms_must_pass_and_printed_ones_must_fail() {
        let shipped = Model::named("park::tests::loom::unpark_is_seen");
        let printed = [
            Model::named("park::tests::loom::printed::unpark_is_lost"),
            Model::named("park::tests::loom::printed_unpark_is_lost"),
            Model::named("park::tests::printed::loom::unpark_is_lost"),
        ];
        let red = Verdict::Red(Red::Deadlock);
        assert_eq!(complaint(&shipped, &Verdict::Green), None);
        assert!(complaint(&shipped, &red).is_some());
        for printed in printed {
            assert!(complaint(&printed, &Verdict::Green).is_some());
            assert_eq!(complaint(&printed, &red), None);
            let broken = Verdict::Broken("too many branches".to_owned());
            assert!(complaint(&printed, &broken).is_some());
        }
    }
}

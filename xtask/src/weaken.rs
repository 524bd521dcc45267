//! Shows that the models can fail: each ordering one step weaker must turn one of them red.
//!
//! It walks the ordering *tokens* of shipped code, not the comments. A weaker form that no model
//! turns red is a survivor: it stands in a committed list with the reason, or the run fails; one
//! that is listed and killed fails the run, too, so that the list only shrinks.
//!
//! A kill is a verdict of loom's or an assertion. A model that is stopped or gives up has shown
//! nothing, and one that is red without the change is no witness.

use crate::context::{Context, Outcome};
use crate::loom::{LIMIT, Model, Verdict, model};
use crate::metadata::{self, Package};
use crate::tidy::source::Tree;
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

mod candidate;
mod survivors;
pub(crate) mod workshop;

pub(crate) use self::candidate::sample;
use self::candidate::{Candidate, candidates, nearest_first};
use self::survivors::Survivors;
use self::workshop::Workshop;

/// How many weaker forms a sample tries.
const SAMPLE: usize = 8;

/// A sample starts nothing new after this long; building the first time does not count.
const SAMPLE_BUDGET: Duration = Duration::from_secs(180);

/// How much to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Sample,
    Full,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    scope: Scope,
    /// Only files whose path contains this.
    file: Option<String>,
    seed: u64,
}

/// The stage: a sample, or everything.
pub(crate) fn run(ctx: &Context, scope: Scope) -> Outcome {
    let seed = today();
    let file = None;
    weaken(ctx, &Asked { scope, file, seed })
}

/// The command: `weaken [--file PART_OF_PATH] [--sample] [--seed N]`, everything by default.
pub(crate) fn main(ctx: &Context, args: &[&str]) -> Result<Outcome, String> {
    parse(args).map(|asked| weaken(ctx, &asked))
}

fn parse(args: &[&str]) -> Result<Asked, String> {
    let mut asked = Asked {
        scope: Scope::Full,
        file: None,
        seed: today(),
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match *arg {
            "--file" => asked.file = Some((*value()?).to_owned()),
            "--sample" => asked.scope = Scope::Sample,
            "--seed" => {
                let text = value()?;
                asked.seed = text.parse().map_err(|_| format!("{text} is no seed"))?;
            }
            other => return Err(format!("unknown option {other}")),
        }
    }
    Ok(asked)
}

/// The number of the day: one sample a day, the same one for everybody.
pub(crate) fn today() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() / 86_400)
}

fn weaken(ctx: &Context, asked: &Asked) -> Outcome {
    let mut outcome = Outcome::new();
    if let Err(why) = try_weaken(ctx, asked, &mut outcome) {
        outcome.fail("weaken", why);
    }
    outcome
}

fn try_weaken(ctx: &Context, asked: &Asked, outcome: &mut Outcome) -> Result<(), String> {
    model::check_environment()?;
    let list = Survivors::load(&ctx.root)?;
    let tree = Tree::read(&ctx.root).map_err(|error| format!("cannot read: {error}"))?;
    let workshop = Workshop::open(ctx)?;
    let mut packages = metadata::packages_of(ctx, &workshop.root)?;
    packages.retain(|package| package.features.iter().any(|name| name == "loom"));
    let names: Vec<String> = packages
        .iter()
        .map(|package| package.name.clone())
        .collect();
    let all = candidates(&tree, &names);
    for key in list.keys().filter(|key| all.iter().all(|c| c.key != **key)) {
        let why = format!(
            "nothing is called that any more: take it off {}",
            survivors::PATH
        );
        outcome.fail(key, why);
    }
    let chosen = choose(ctx, asked, all);
    let mut bench = Bench {
        ctx,
        workshop,
        packages,
        baseline: BTreeMap::new(),
    };
    let mut started = None;
    for (index, candidate) in chosen.iter().enumerate() {
        let spent = started.map_or(Duration::ZERO, |started: Instant| started.elapsed());
        if asked.scope == Scope::Sample && spent > SAMPLE_BUDGET {
            println!("the budget is spent after {index} of {}", chosen.len());
            break;
        }
        bench.prepare(&candidate.package)?;
        let started = *started.get_or_insert_with(Instant::now);
        let fate = bench.fate(candidate)?;
        let seconds = started.elapsed().as_secs();
        println!(
            "{seconds:>5} s  {fate:<9} {} (line {})",
            candidate.key, candidate.line
        );
        judge(outcome, &list, candidate, &fate);
    }
    Ok(())
}

fn choose(ctx: &Context, asked: &Asked, mut all: Vec<Candidate>) -> Vec<Candidate> {
    all.retain(|candidate| {
        let is_asked = asked
            .file
            .as_ref()
            .is_none_or(|part| candidate.path.contains(part));
        is_asked && ctx.is_selected(&candidate.package)
    });
    let count = all.len();
    if asked.scope == Scope::Full {
        println!("{count} weaker forms");
        return all;
    }
    let seed = asked.seed;
    let chosen = sample(all, SAMPLE, seed);
    println!(
        "{} of {count} weaker forms, seed {seed}; again:",
        chosen.len()
    );
    println!("cargo xtask weaken --sample --seed {seed}");
    chosen
}

/// What became of a weaker form.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    /// This model turned red.
    Killed(String),
    /// No model did; how many were asked, and which gave no verdict.
    Survived { asked: usize, broken: Vec<String> },
    /// It does not compile.
    Invalid(String),
}

impl std::fmt::Display for Fate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Killed(_) => "killed",
            Self::Survived { .. } => "SURVIVED",
            Self::Invalid(_) => "INVALID",
        })
    }
}

fn judge(outcome: &mut Outcome, list: &Survivors, candidate: &Candidate, fate: &Fate) {
    let key = candidate.key.as_str();
    match fate {
        Fate::Killed(_) if !list.has(key) => outcome.pass(1),
        Fate::Killed(by) => {
            let why = format!("it is killed now, by {by}: take it off {}", survivors::PATH);
            outcome.fail(key, why);
        }
        Fate::Survived { .. } if list.has(key) => outcome.pass(1),
        Fate::Survived { asked, broken } => {
            let mut why = format!(
                "none of {asked} models turns red: extend one, or weaken the code, or list it with \
                 the reason in {}",
                survivors::PATH
            );
            for model in broken {
                why.push_str("\nno verdict: ");
                why.push_str(model);
            }
            outcome.fail(key, why);
        }
        Fate::Invalid(why) => outcome.fail(key, format!("it does not compile:\n{why}")),
    }
}

/// Where weaker forms are tried.
struct Bench<'a> {
    ctx: &'a Context,
    workshop: Workshop,
    packages: Vec<Package>,
    /// The models of each package as they are without a change.
    baseline: BTreeMap<String, Vec<Baseline>>,
}

/// A model without a change.
#[derive(Clone)]
struct Baseline {
    model: Model,
    /// Whether it is green, once somebody has asked.
    is_green: Option<bool>,
}

impl Bench<'_> {
    fn build(&self, package: &str) -> Result<Vec<Model>, String> {
        let mut packages = self.packages.iter();
        match packages.find(|other| other.name == package) {
            Some(package) => model::build(self.ctx, &self.workshop.place(), package),
            None => Err(format!("{package} has no models")),
        }
    }

    /// Builds the models of a package as they are, once.
    fn prepare(&mut self, package: &str) -> Result<(), String> {
        if self.baseline.contains_key(package) {
            return Ok(());
        }
        let mut models = self.build(package)?;
        models.retain(|model| !model.must_fail());
        let kept = models
            .first()
            .map(|model| self.workshop.keep(&model.executable));
        if let Some(executable) = kept.transpose()? {
            models = model::moved(&models, &executable);
        }
        let baseline = models.into_iter().map(|model| Baseline {
            model,
            is_green: None,
        });
        self.baseline.insert(package.to_owned(), baseline.collect());
        Ok(())
    }

    fn fate(&mut self, candidate: &Candidate) -> Result<Fate, String> {
        let _edit = self.workshop.edit(&candidate.path, &candidate.text)?;
        let mut models = match self.build(&candidate.package) {
            Ok(models) => models,
            Err(why) => return Ok(Fate::Invalid(why)),
        };
        models.retain(|model| !model.must_fail());
        nearest_first(&mut models, &candidate.module, |model| &model.name);
        let mut broken = Vec::new();
        for model in &models {
            match model.run(self.ctx, LIMIT).1 {
                Verdict::Green => {}
                Verdict::Red(red) if self.is_green(model) => {
                    return Ok(Fate::Killed(format!("{} ({red})", model.name)));
                }
                Verdict::Red(red) => broken.push(format!("{}: always {red}", model.name)),
                Verdict::Broken(why) => broken.push(format!("{}: {why}", model.name)),
            }
        }
        let asked = models.len();
        Ok(Fate::Survived { asked, broken })
    }

    /// Whether a model is green without any change.
    fn is_green(&mut self, model: &Model) -> bool {
        let baseline = self.baseline.get_mut(&model.package);
        let mut baseline = baseline.into_iter().flatten();
        let Some(same) = baseline.find(|same| same.model.name == model.name) else {
            return false;
        };
        let run = || same.model.run(self.ctx, LIMIT).1 == Verdict::Green;
        let is_green = same.is_green.unwrap_or_else(run);
        same.is_green = Some(is_green);
        is_green
    }
}

#[cfg(test)]
mod tests;

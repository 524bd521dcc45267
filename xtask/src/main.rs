//! The automation of the workspace: `cargo xtask ci` and its relatives.

use crate::ci::Selection;
use crate::context::{Context, Outcome};
use crate::stage::faults::Extent;
use std::path::PathBuf;
use std::process::ExitCode;

mod artifact;
mod bench;
mod ci;
mod claims;
mod context;
mod deny_uring;
mod json;
mod loom;
mod metadata;
mod mutants;
mod run;
mod runner;
mod shuttle;
mod stage;
mod tidy;
mod tools;
mod weaken;

const HELP: &str = "\
cargo xtask ci [OPTIONS]     run every stage; the last line is `N passed, N failed, N skipped`
  --quick                    the stages of a commit: fmt, clippy, tidy, test
  --only STAGE[,STAGE]       these stages alone
  -p PACKAGE                 this package alone; may be repeated
  --install                  fetch missing tools into target/tools (implied by CI=true)
  --strict                   an unexpected skip is a failure (implied by CI=true)
  --list                     print the stages and run none

cargo xtask tidy             the rules of the house style alone
cargo xtask claims           write docs/claims.md from the headers of the files
cargo xtask weaken           every ordering one step weaker: a model has to turn red
    [--file PART] [--sample] [--seed N]
cargo xtask mutants [ID...]  every patch of xtask/mutants: a witness has to turn red
cargo xtask shuttle          compositions under random and PCT schedules, more than in ci
    [--iterations N] [--seed S] [-p PACKAGE] [NAME]
cargo xtask deny-uring PROGRAM [ARGS]   run it where a filter forbids io_uring, as in a container
cargo xtask faults           every system call fails, each time it is made (needs strace)
cargo xtask bench [ROWS]     the side-by-side benchmarks; `cargo xtask bench --help`

Environment: CI=true; MAINSPRING_TEST_LIMIT_S, the seconds that one test may take.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["bench", ..] = words.as_slice() {
        return bench::main(&args[1..]);
    }
    if let ["deny-uring", ..] = words.as_slice() {
        return deny_uring::main(&args[1..]);
    }
    let result = match words.as_slice() {
        ["ci", options @ ..] => ci(options),
        ["mutants", args @ ..] => by_command(|ctx| mutants::main(ctx, args)),
        ["weaken", args @ ..] => by_command(|ctx| weaken::main(ctx, args)),
        ["shuttle", args @ ..] => by_command(|ctx| shuttle::main(ctx, args)),
        ["faults"] => by_command(faults),
        ["tidy"] => by_command(|ctx| Ok(tidy::run(ctx))),
        ["claims"] => by_command(|ctx| Ok(claims::write(ctx))),
        ["help" | "--help" | "-h", ..] | [] => {
            print!("{HELP}");
            Ok(true)
        }
        [unknown, ..] => Err(format!("unknown command {unknown}\n\n{HELP}")),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("xtask: {}", why.trim_end());
            ExitCode::from(2)
        }
    }
}

/// Runs something that is no stage, and closes with the same line.
fn by_command(run: impl FnOnce(&Context) -> Result<Outcome, String>) -> Result<bool, String> {
    let outcome = run(&context()?)?;
    println!("{}", outcome.closing_line());
    Ok(outcome.failed() == 0)
}

/// The whole fault matrix.
fn faults(ctx: &Context) -> Result<Outcome, String> {
    match tools::ensure(ctx, &tools::STRACE) {
        Ok(()) => Ok(stage::faults::run(ctx, Extent::Full)),
        Err(tools::Missing::MayBeSkipped(why) | tools::Missing::Needed(why)) => Err(why),
    }
}

fn ci(options: &[&str]) -> Result<bool, String> {
    let mut ctx = context()?;
    match parse_ci(options, &mut ctx)? {
        Asked::Run(selection) => ci::run(&ctx, &selection),
        Asked::List => {
            ci::list();
            Ok(true)
        }
        Asked::Help => {
            print!("{HELP}");
            Ok(true)
        }
    }
}

/// What the options of `ci` ask for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    Run(Selection),
    List,
    Help,
}

fn parse_ci(options: &[&str], ctx: &mut Context) -> Result<Asked, String> {
    let mut selection = Selection::default();
    let mut options = options.iter().copied();
    while let Some(option) = options.next() {
        let (name, attached) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let mut value = || {
            let value = attached.or_else(|| options.next());
            value.ok_or_else(|| format!("{name} needs a value"))
        };
        match name {
            "--only" => selection
                .only
                .extend(value()?.split(',').map(str::to_owned)),
            "-p" | "--package" => ctx.packages.push(value()?.to_owned()),
            _ if attached.is_some() => return Err(format!("unknown option {option}\n\n{HELP}")),
            "--quick" => ctx.quick = true,
            "--install" => ctx.install = true,
            "--strict" => ctx.strict = true,
            "--list" => return Ok(Asked::List),
            "--help" | "-h" => return Ok(Asked::Help),
            _ => return Err(format!("unknown option {option}\n\n{HELP}")),
        }
    }
    Ok(Asked::Run(selection))
}

/// The context that the environment gives.
fn context() -> Result<Context, String> {
    let mut ctx = Context::new(root()?);
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        // A relative one is relative to where the user stands, not to where commands will run.
        ctx.target = std::path::absolute(target)
            .map_err(|error| format!("cannot make CARGO_TARGET_DIR absolute: {error}"))?;
    }
    ctx.ci = std::env::var("CI").is_ok_and(|value| value == "true");
    ctx.strict = ctx.ci;
    Ok(ctx)
}

/// The root of the workspace: the directory above this package, which `cargo run` names.
fn root() -> Result<PathBuf, String> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = manifest.and_then(|dir| dir.parent().map(PathBuf::from));
    root.ok_or_else(|| "started without cargo: use `cargo xtask`".to_owned())
}

#[cfg(test)]
mod tests;

//! examples: every example of every crate starts, and ends well.
//!
//! A plain example passes when it exits with 0 within its limit. One that waits for somebody, a
//! server say, has a driver in [`DRIVERS`] that holds the dialogue with it.

mod chat;
mod descriptors;
mod echo;
mod http;
mod http_client;
mod server;

use super::{selected, with_features};
use crate::artifact::{self, Artifact};
use crate::context::{Context, Outcome};
use crate::metadata::Package;
use std::path::Path;
use std::time::Duration;

/// How long a plain example may run.
const RUN_LIMIT: Duration = Duration::from_secs(30);

/// Holds the dialogue with one example.
struct Driver {
    package: &'static str,
    example: &'static str,
    /// Starts the executable, talks to it, and says what went wrong.
    drive: fn(&Context, &Path) -> Result<(), String>,
}

/// The examples that do not end by themselves.
const DRIVERS: &[Driver] = &[
    Driver {
        package: "mainspring",
        example: "chat",
        drive: chat::drive,
    },
    Driver {
        package: "mainspring",
        example: "echo",
        drive: echo::drive,
    },
    Driver {
        package: "mainspring",
        example: "http",
        drive: http::drive,
    },
];

/// Builds all of them, then runs one after the other.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let mut packages = selected(ctx, &mut outcome);
    packages.retain(|package| {
        package
            .targets
            .iter()
            .any(|target| target.kind == "example")
    });
    if packages.is_empty() {
        return outcome;
    }
    match build(ctx, &packages) {
        Ok(examples) => {
            for example in examples {
                let what = format!("{} {}", example.package, example.target);
                outcome.check(what, start(ctx, &example));
            }
        }
        Err(why) => outcome.fail("building the examples", why),
    }
    outcome
}

fn build(ctx: &Context, packages: &[Package]) -> Result<Vec<Artifact>, String> {
    let command = with_features(
        ctx.cargo("build").args(["--locked", "--examples"]),
        packages,
    );
    let artifacts = artifact::build(command, packages)?.into_iter();
    Ok(artifacts
        .filter(|artifact| artifact.kind == "example")
        .collect())
}

fn start(ctx: &Context, example: &Artifact) -> Result<(), String> {
    let driver = DRIVERS
        .iter()
        .find(|driver| driver.package == example.package && driver.example == example.target);
    if let Some(driver) = driver {
        return (driver.drive)(ctx, &example.executable);
    }
    let command = (ctx.command(&example.executable))
        .dir(&example.dir)
        .limit(RUN_LIMIT);
    command.capture_merged().ok(&command).map(drop)
}

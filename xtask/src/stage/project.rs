//! A project of somebody else's: outside the workspace, with a dependency on what we ship.

use crate::context::Context;
use crate::run::Command;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// How long its program may run.
const RUN_LIMIT: Duration = Duration::from_secs(30);

/// A binary project below `target/`.
pub(super) struct Project {
    dir: PathBuf,
    name: String,
}

impl Project {
    /// Writes it anew in `target/BELOW/NAME`. `tables` is what stands below `[package]` in the
    /// manifest, `main` its only source file.
    pub(super) fn write(
        ctx: &Context,
        below: &str,
        name: &str,
        tables: &str,
        main: &str,
    ) -> Result<Self, String> {
        let dir = ctx.target(below).join(name);
        // `[workspace]`: the project lies inside ours and is no member of it.
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             {tables}\n[workspace]\n"
        );
        let written = fs::create_dir_all(dir.join("src"))
            .and_then(|()| fs::write(dir.join("Cargo.toml"), manifest))
            .and_then(|()| fs::write(dir.join("src/main.rs"), main))
            // The versions that everything else was tested with; cargo drops what is not needed.
            .and_then(|()| fs::copy(ctx.root.join("Cargo.lock"), dir.join("Cargo.lock")));
        match written {
            Ok(_) => Ok(Self {
                dir,
                name: name.to_owned(),
            }),
            Err(error) => Err(format!("cannot write {}: {error}", dir.display())),
        }
    }

    /// Builds it and runs the program, which has to exit with 0 in good time.
    pub(super) fn build_and_run(&self, ctx: &Context) -> Result<(), String> {
        let run = self.build(ctx)?.limit(RUN_LIMIT);
        run.capture_merged().ok(&run).map(drop)
    }

    /// Builds it, and gives the command that runs the program.
    ///
    /// All such projects share one build directory, and so the dependencies that they have in
    /// common.
    pub(super) fn build(&self, ctx: &Context) -> Result<Command, String> {
        let build_dir = ctx.target("foreign-build");
        let build = (ctx.cargo("build").dir(&self.dir)).env("CARGO_TARGET_DIR", &build_dir);
        build.stream().ok(&build)?;
        let program = build_dir.join("debug").join(&self.name);
        Ok(ctx.command(program).dir(&self.dir))
    }
}

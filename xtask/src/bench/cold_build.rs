//! How long a user waits: cold release builds of a crate that depends on a runtime.

use super::Asked;
use super::record::Line;
use super::rows::Row;
use crate::context::Context;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// The peer with the features that make it comparable.
const TOKIO: &str = "tokio = { version = \"1\", features = [\"rt-multi-thread\", \"net\", \"fs\", \
                     \"time\", \"sync\", \"signal\", \"macros\"] }";

/// Builds each probe `reps` times, in turn, from an empty target directory.
pub(crate) fn run(ctx: &Context, row: &Row, asked: &Asked) -> Result<Vec<Line>, String> {
    let home = ctx.target("bench/cold");
    let mut probes = vec![("tokio", String::from(TOKIO))];
    let facade = ctx.root.join("crates/mainspring");
    if facade.join("Cargo.toml").is_file() {
        probes.push((
            "ours",
            format!("mainspring = {{ path = {:?} }}", facade.display()),
        ));
    }
    for (name, dependency) in &probes {
        prepare(ctx, &home.join(name), dependency)?;
    }
    let mut lines = Vec::new();
    for round in 0..asked.reps {
        for (name, _) in &probes {
            let (seconds, crates) = cold(ctx, &home.join(name))?;
            for (metric, value) in [(row.metric, seconds), ("crates", crates)] {
                let text = format!(
                    "{{\"row\":\"{}\",\"impl\":\"{name}\",\"metric\":\"{metric}\",\
                     \"value\":{value:.3},\"calm\":true}}",
                    row.id
                );
                lines.extend(Line::parse(&text, round));
            }
        }
    }
    Ok(lines)
}

fn prepare(ctx: &Context, dir: &Path, dependency: &str) -> Result<(), String> {
    let failed = |why: std::io::Error| format!("cannot prepare {}: {why}", dir.display());
    fs::create_dir_all(dir.join("src")).map_err(failed)?;
    let manifest = format!(
        "[package]\nname = \"probe\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependency}\n"
    );
    fs::write(dir.join("Cargo.toml"), manifest).map_err(failed)?;
    fs::write(dir.join("src/main.rs"), "fn main() {}\n").map_err(failed)?;
    let fetch = ctx.cargo("fetch").dir(dir);
    fetch.stream().ok(&fetch)
}

/// Seconds, and how many crates of others were compiled.
fn cold(ctx: &Context, dir: &Path) -> Result<(f64, f64), String> {
    let target = dir.join("target");
    if target.exists() {
        fs::remove_dir_all(&target).map_err(|why| format!("cannot empty the target: {why}"))?;
    }
    let build = ctx
        .cargo("build")
        .args(["--release", "--offline", "--target-dir"])
        .arg(&target)
        .dir(dir)
        .limit(Duration::from_secs(15 * 60))
        .quiet();
    let start = Instant::now();
    let text = build.capture_merged().ok(&build)?;
    let seconds = start.elapsed().as_secs_f64();
    let compiled = text
        .lines()
        .filter(|line| line.trim_start().starts_with("Compiling "));
    let foreign = compiled.filter(|line| !line.contains(" probe ") && !line.contains("mainspring"));
    Ok((seconds, foreign.count() as f64))
}

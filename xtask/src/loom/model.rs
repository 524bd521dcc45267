//! Models: building, listing and running them.

use super::verdict::{Verdict, judge};
use crate::context::Context;
use crate::metadata::Package;
use crate::run::{Command, Output};
use crate::runner::{self, Binary};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

/// The workspace whose models are built, and where cargo builds them.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    /// Whether it is built again and again with one line changed.
    pub(crate) is_incremental: bool,
}

impl Place {
    /// The workspace itself.
    pub(crate) fn of(ctx: &Context) -> Self {
        Self {
            root: ctx.root.clone(),
            target: ctx.target("loom"),
            is_incremental: false,
        }
    }

    /// What is broken on purpose may well leave an import unused: nobody has to hear of it.
    fn flags(&self) -> &'static str {
        if self.is_incremental {
            "--cfg mainspring_loom --allow warnings"
        } else {
            "--cfg mainspring_loom"
        }
    }
}

/// One model.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) package: String,
    /// As its binary lists it: `slot::tests::loom::take_racing_put`.
    pub(crate) name: String,
    pub(crate) executable: PathBuf,
    dir: PathBuf,
}

impl Model {
    /// The test of that name in a binary.
    pub(crate) fn of(binary: &Binary, name: String) -> Self {
        Self {
            package: binary.package.clone(),
            name,
            executable: binary.executable.clone(),
            dir: binary.dir.clone(),
        }
    }

    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.package, self.name)
    }

    /// Whether it shows a wrong form, and has to fail.
    pub(crate) fn must_fail(&self) -> bool {
        let mut parts = self.name.split("::");
        parts.any(|part| part == "printed" || part.starts_with("printed_"))
    }

    pub(crate) fn command(&self, ctx: &Context) -> Command {
        (ctx.command(&self.executable))
            .args(["--exact", &self.name, "--nocapture", "--test-threads=2"])
            .dir(&self.dir)
            .env("CARGO_MANIFEST_DIR", &self.dir)
            // A backtrace out of a generator is long and says nothing.
            .env("RUST_BACKTRACE", "0")
            .quiet()
    }

    pub(crate) fn run(&self, ctx: &Context, limit: Duration) -> (Output, Verdict) {
        let output = self.command(ctx).limit(limit).capture_merged();
        let verdict = judge(&output);
        (output, verdict)
    }

    #[cfg(test)]
    pub(crate) fn named(name: &str) -> Self {
        Self {
            package: "mainspring-core".to_owned(),
            name: name.to_owned(),
            executable: PathBuf::new(),
            dir: PathBuf::new(),
        }
    }
}

/// Refuses to run while a variable of loom's cuts models short: they would prove less than they
/// claim.
pub(crate) fn check_environment() -> Result<(), String> {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    match names.into_iter().find(|name| name.starts_with("LOOM_MAX_")) {
        Some(name) => Err(format!("unset {name}: it cuts models short")),
        None => Ok(()),
    }
}

/// Builds the models of a package.
pub(crate) fn build(ctx: &Context, place: &Place, package: &Package) -> Result<Vec<Model>, String> {
    let mut command = (ctx.cargo("test").dir(&place.root))
        .args(["--locked", "--no-run", "--lib", "--profile", "model"])
        .args(["--features", "loom", "-p", &package.name])
        .env("RUSTFLAGS", place.flags())
        .env("CARGO_TARGET_DIR", &place.target);
    if place.is_incremental {
        let incremental = command.env("CARGO_PROFILE_MODEL_INCREMENTAL", "true");
        command = incremental.arg("--quiet").quiet();
    }
    let binaries = runner::build(command, std::slice::from_ref(package))?;
    let mut models = Vec::new();
    for binary in &binaries {
        models.extend(list(ctx, binary)?);
    }
    Ok(models)
}

/// The models in a binary.
fn list(ctx: &Context, binary: &Binary) -> Result<Vec<Model>, String> {
    let tests = binary.list(ctx)?.into_iter().map(|listed| listed.name);
    let models = tests.filter(|name| is_model(name));
    Ok(models.map(|name| Model::of(binary, name)).collect())
}

fn is_model(name: &str) -> bool {
    let path = format!("::{name}");
    path.contains("::loom::") || path.contains("::printed::")
}

/// The same models in a copy of their binary at `executable`.
pub(crate) fn moved(models: &[Model], executable: &Path) -> Vec<Model> {
    let models = models.iter().cloned();
    models
        .map(|model| Model {
            executable: executable.to_owned(),
            ..model
        })
        .collect()
}

/// Does `work` for each of `items` on `threads` threads, and hands each result to `take` here, in
/// the order in which they come.
pub(crate) fn each<T: Send, R: Send>(
    threads: usize,
    items: impl IntoIterator<Item = T>,
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(T, R),
) {
    let queue: Mutex<VecDeque<T>> = Mutex::new(items.into_iter().collect());
    let next = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pop_front()
    };
    let (done, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            let (next, work, done) = (&next, &work, done.clone());
            scope.spawn(move || {
                while let Some(item) = next() {
                    let result = work(&item);
                    if done.send((item, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done);
        for (item, result) in results {
            take(item, result);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{each, is_model};

    #[test]
    fn models_are_known_by_their_module() {
        assert!(is_model("loom::a"));
        assert!(is_model("slot::tests::loom::a"));
        assert!(is_model("slot::tests::printed::a"));
        assert!(!is_model("bloom::tests::a"));
        assert!(!is_model("slot::tests::loom_free"));
    }

    #[test]
    fn each_item_is_worked_on_once() {
        let mut sum = 0;
        each(
            2,
            1..=10,
            |item| item * 2,
            |item, twice| {
                assert_eq!(twice, item * 2);
                sum += item;
            },
        );
        assert_eq!(sum, 55);
    }
}

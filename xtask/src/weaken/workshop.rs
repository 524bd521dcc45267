//! A copy of the workspace in which things are broken on purpose.
//!
//! It stands below `target/` and is kept between runs: only what differs is written, so that cargo
//! builds only what changed. The user's own tree is never touched.

use crate::context::Context;
use crate::loom::Place;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The copy.
#[derive(Debug)]
pub(crate) struct Workshop {
    pub(crate) root: PathBuf,
    /// Where models are built. Not `target/loom`: cargo names the artefacts of a workspace by paths
    /// from its root, so a broken copy would pass for the real one there.
    models: PathBuf,
    /// Where ordinary tests are built.
    pub(crate) tests: PathBuf,
    /// Holds the binaries that are kept while their sources change.
    pub(crate) kept: PathBuf,
}

impl Workshop {
    /// Brings the copy up to date with the workspace.
    pub(crate) fn open(ctx: &Context) -> Result<Self, String> {
        let base = ctx.target("weaken");
        let workshop = Self {
            root: base.join("src"),
            models: base.join("loom"),
            tests: base.join("tests"),
            kept: base.join("kept"),
        };
        let result =
            fs::create_dir_all(&workshop.kept).and_then(|()| mirror(&ctx.root, &workshop.root));
        match result {
            Ok(()) => Ok(workshop),
            Err(error) => Err(format!("cannot copy the workspace: {error}")),
        }
    }

    /// The copy as a place to build models in.
    pub(crate) fn place(&self) -> Place {
        Place {
            root: self.root.clone(),
            target: self.models.clone(),
        }
    }

    /// Replaces a file of the copy until the guard is dropped.
    pub(crate) fn edit(&self, path: &str, text: &str) -> Result<Edit, String> {
        let path = self.root.join(path);
        let replace = || {
            let original = fs::read(&path)?;
            fs::write(&path, text)?;
            Ok(original)
        };
        match replace() {
            Ok(original) => Ok(Edit { path, original }),
            Err(error) => io_error("change", &path, &error),
        }
    }

    /// Keeps a copy of an executable under another name.
    pub(crate) fn keep(&self, executable: &Path) -> Result<PathBuf, String> {
        let kept = self.kept.join(executable.file_name().unwrap_or_default());
        match fs::copy(executable, &kept) {
            Ok(_) => Ok(kept),
            Err(error) => io_error("copy", executable, &error),
        }
    }
}

fn io_error<T>(what: &str, path: &Path, error: &io::Error) -> Result<T, String> {
    Err(format!("cannot {what} {}: {error}", path.display()))
}

/// A changed file of the copy. Dropping it restores the file.
#[derive(Debug)]
#[must_use = "the file is restored when this is dropped"]
pub(crate) struct Edit {
    path: PathBuf,
    original: Vec<u8>,
}

impl Drop for Edit {
    fn drop(&mut self) {
        // What is not restored now is restored by the next `open`.
        let _ = fs::write(&self.path, &self.original);
    }
}

/// Makes `to` equal to `from`, without build output and hidden folders but `.cargo`.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut wanted = BTreeSet::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        let text = name.to_string_lossy();
        let is_hidden = text.starts_with('.') && text != ".cargo";
        if text == "target" || kind.is_dir() && is_hidden {
            continue;
        }
        let copy = to.join(&name);
        wanted.insert(name);
        if kind.is_dir() {
            mirror(&entry.path(), &copy)?;
        } else if kind.is_file() {
            let text = fs::read(entry.path())?;
            if fs::read(&copy).ok().as_ref() != Some(&text) {
                fs::write(&copy, text)?;
            }
        }
    }
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if wanted.contains(&entry.file_name()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::mirror;
    use std::fs;

    #[test]
    fn mirror_copies_what_differs_and_removes_what_is_gone() {
        let base = std::env::temp_dir().join(format!("mainspring-mirror-{}", std::process::id()));
        let (from, to) = (base.join("from"), base.join("to"));
        fs::create_dir_all(from.join("a/target")).unwrap();
        fs::create_dir_all(from.join(".git")).unwrap();
        fs::write(from.join("a/x.rs"), "1").unwrap();
        fs::write(from.join("a/target/y"), "1").unwrap();
        fs::write(from.join(".git/z"), "1").unwrap();
        mirror(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/x.rs")).unwrap(), "1");
        assert!(!to.join("a/target").exists() && !to.join(".git").exists());

        let before = fs::metadata(to.join("a/x.rs")).unwrap().modified().unwrap();
        fs::write(from.join("a/w.rs"), "2").unwrap();
        mirror(&from, &to).unwrap();
        let after = fs::metadata(to.join("a/x.rs")).unwrap().modified().unwrap();
        assert_eq!(before, after, "an equal file was written again");
        fs::remove_dir_all(from.join("a")).unwrap();
        mirror(&from, &to).unwrap();
        assert!(!to.join("a").exists());
        fs::remove_dir_all(&base).unwrap();
    }
}

//! `mutants`: each patch in xtask/mutants applies, is small, and is named after a claim that has a
//! witness.

use super::Finding;
use super::claims::collect;
use super::source::Tree;

const SLUG: &str = "mutants";
const CHANGED_LINES_MAX: usize = 5;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let claims = collect(tree);
    for file in tree.files() {
        let Some(name) = file.path.strip_prefix("xtask/mutants/") else {
            continue;
        };
        let Some(stem) = name.strip_suffix(".patch") else {
            continue;
        };
        let mut find = |text: String| findings.push(Finding::new(SLUG, &file.path, 1, text));
        let id = id_of(stem);
        if claims.witnesses_of(id).next().is_none() {
            find(format!(
                "no test is a witness of `{id}`: nothing could turn red"
            ));
        }
        let read = |path: &str| {
            let file = tree.file(path).map(|file| file.text.clone());
            file.ok_or_else(|| format!("{path} is not there"))
        };
        if let Err(why) = apply(&file.text, read) {
            find(format!("it does not apply: {why}"));
        }
        let changed = changed_lines(&file.text);
        if changed == 0 || changed > CHANGED_LINES_MAX {
            find(format!(
                "{changed} changed lines, 1 to {CHANGED_LINES_MAX} are allowed"
            ));
        }
    }
    findings
}

/// The names of the patches, without their ending.
pub(crate) fn in_tree(tree: &Tree) -> Vec<String> {
    let names = tree
        .files()
        .filter_map(|file| file.path.strip_prefix("xtask/mutants/"));
    let stems = names.filter_map(|name| name.strip_suffix(".patch"));
    stems.map(str::to_owned).collect()
}

/// Applies a unified diff to the files that `read` gives, and returns them as they are then.
///
/// A hunk has to fit exactly, in one place: a patch that may mean two things means nothing. The
/// line numbers only choose between equal places.
///
/// # Rejected
///
/// `git apply`: inside another work tree, where the copies of this workspace stand, it looks for
/// the files at the root of that tree and succeeds without having changed any.
pub(crate) fn apply(
    patch: &str,
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<Vec<(String, String)>, String> {
    let mut files: Vec<(String, String)> = Vec::new();
    let mut lines = patch.lines();
    while let Some(line) = lines.next() {
        if let Some(path) = line.strip_prefix("+++ ") {
            let path = path.split('\t').next().unwrap_or(path);
            let path = path.strip_prefix("b/").unwrap_or(path);
            files.push((path.to_owned(), read(path)?));
        }
        let Some(header) = line.strip_prefix("@@ ") else {
            continue;
        };
        let Some((path, text)) = files.last_mut() else {
            return Err("a hunk before the first file".to_owned());
        };
        let ((first, mut old_left), mut new_left) =
            ranges(header).ok_or_else(|| format!("`{line}` is no head of a hunk"))?;
        let (mut old, mut new) = (String::new(), String::new());
        while old_left + new_left > 0 {
            let body = lines
                .next()
                .ok_or_else(|| format!("the hunk `{line}` is cut off"))?;
            let (mark, rest) = body.split_at(body.len().min(1));
            if matches!(mark, "" | " " | "-") {
                old = format!("{old}{rest}\n");
                old_left = old_left.saturating_sub(1);
            }
            if matches!(mark, "" | " " | "+") {
                new = format!("{new}{rest}\n");
                new_left = new_left.saturating_sub(1);
            }
        }
        *text = replace(text, &old, &new, first)
            .ok_or_else(|| format!("the hunk `{line}` does not fit {path}"))?;
    }
    if files.is_empty() {
        return Err("it changes no file".to_owned());
    }
    Ok(files)
}

/// Reads `-4,3 +4,3 @@`: the first line, and how many lines there are before and after.
fn ranges(header: &str) -> Option<((usize, usize), usize)> {
    let (old, rest) = header.strip_prefix('-')?.split_once(" +")?;
    let new = rest.split(' ').next()?;
    let range = |text: &str| match text.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    Some((range(old)?, range(new)?.1))
}

/// Replaces the occurrence of the whole lines `old` that is nearest to line `first`.
fn replace(text: &str, old: &str, new: &str, first: usize) -> Option<String> {
    let starts = text.match_indices(old).map(|(at, _)| at);
    let starts = starts.filter(|at| *at == 0 || text[..*at].ends_with('\n'));
    let distance = |at: &usize| (text[..*at].matches('\n').count() + 1).abs_diff(first);
    let at = starts.min_by_key(distance).filter(|_| !old.is_empty())?;
    Some(format!("{}{new}{}", &text[..at], &text[at + old.len()..]))
}

/// The claim that a patch breaks: its name up to a `+`, after which a second patch for the same
/// claim says what it does (`slot.once+double-take.patch`).
pub(crate) fn id_of(stem: &str) -> &str {
    stem.split('+').next().unwrap_or(stem)
}

/// How many lines a patch changes: those it removes or those it adds, whichever are more.
fn changed_lines(patch: &str) -> usize {
    let count = |mark: &str, header: &str| {
        let lines = patch.lines();
        lines
            .filter(|line| line.starts_with(mark) && !line.starts_with(header))
            .count()
    };
    count("+", "+++ ").max(count("-", "--- "))
}

#[cfg(test)]
mod tests {
    use super::{apply, check};
    use crate::tidy::source::Tree;

    const CODE: &str = "//! A.\n//!\n//! # Invariants\n//!\n//! - **slot.once** — once.\n";
    const TEST: &str = "// WITNESS: slot.once\n#[test]\nfn f() {}\n";
    const PATCH: &str = "--- a/crates/a/src/slot.rs\n+++ b/crates/a/src/slot.rs\n\
        @@ -1 +1 @@\n-//! A.\n+//! B.\n";

    fn found(name: &str, patch: &str) -> usize {
        let path = format!("xtask/mutants/{name}");
        let files = [
            ("crates/a/src/slot.rs", CODE),
            ("crates/a/src/slot/tests.rs", TEST),
            (path.as_str(), patch),
        ];
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn small_patch_about_a_witnessed_claim_passes() {
        assert_eq!(found("slot.once.patch", PATCH), 0);
        assert_eq!(found("slot.once+again.patch", PATCH), 0);
    }

    #[test]
    fn patch_about_nothing_or_everything_is_found() {
        assert_eq!(found("slot.twice.patch", PATCH), 1);
        assert_eq!(found("slot.once.patch", ""), 2);
        assert_eq!(
            found("slot.once.patch", &PATCH.replace("-//! A.", "-//! Z.")),
            1
        );
        assert_eq!(
            found("slot.once.patch", &PATCH.replace("slot.rs", "gone.rs")),
            1
        );
        assert_eq!(
            found("slot.once.patch", &format!("{PATCH}{}", "+c\n".repeat(5))),
            1
        );
    }

    const FILE: &str = "fn a() {\n    x();\n}\nfn b() {\n    x();\n}\n";

    fn applied(hunk: &str) -> Result<String, String> {
        let patch = format!("--- a/f.rs\n+++ b/f.rs\n{hunk}");
        let files = apply(&patch, |path| {
            assert_eq!(path, "f.rs");
            Ok(FILE.to_owned())
        })?;
        Ok(files[0].1.clone())
    }

    #[test]
    fn hunk_replaces_the_nearest_place_it_fits() {
        let changed = applied("@@ -5,2 +5,2 @@ fn b\n-    x();\n+    y();\n }\n");
        assert_eq!(
            changed.as_deref(),
            Ok("fn a() {\n    x();\n}\nfn b() {\n    y();\n}\n")
        );
        let changed = applied("@@ -1,3 +1,2 @@\n fn a() {\n-    x();\n }\n");
        assert_eq!(
            changed.as_deref(),
            Ok("fn a() {\n}\nfn b() {\n    x();\n}\n")
        );
    }

    #[test]
    fn hunk_that_does_not_fit_exactly_is_refused() {
        assert!(applied("@@ -1,1 +1,1 @@\n-x();\n+y();\n").is_err());
        assert!(applied("@@ -1,1 +1,1 @@\n-    z();\n+    y();\n").is_err());
        assert!(applied("@@ -1,2 +1,1 @@\n-    x();\n").is_err());
        assert!(applied("@@ x @@\n").is_err());
        assert!(applied("").is_ok());
        assert!(apply("", |_| Ok(String::new())).is_err());
    }
}

//! `mutants`: each patch in xtask/mutants is small, and named after a claim that has a witness.

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
        let changed = changed_lines(&file.text);
        if changed == 0 || changed > CHANGED_LINES_MAX {
            find(format!(
                "{changed} changed lines, 1 to {CHANGED_LINES_MAX} are allowed"
            ));
        }
    }
    findings
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
    use super::check;
    use crate::tidy::source::Tree;

    const CODE: &str = "//! A.\n//!\n//! # Invariants\n//!\n//! - **slot.once** — once.\n";
    const TEST: &str = "// WITNESS: slot.once\n#[test]\nfn f() {}\n";
    const PATCH: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

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
        assert_eq!(found("slot.once.patch", ""), 1);
        assert_eq!(
            found("slot.once.patch", &format!("{PATCH}{}", "+c\n".repeat(5))),
            1
        );
    }
}

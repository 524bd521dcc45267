//! Loom models run the shipped code: a model file declares no primitives of its own.

use super::Finding;
use super::source::{File, Role, Tree};

const PRIMITIVES: [&str; 4] = ["UnsafeCell", "Mutex", "Condvar", "RwLock"];
const SLUG: &str = "pure-model";

/// The models of the door itself have nothing else to model.
const DOOR: &str = "crates/mainspring-core/src/sync/tests/";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        if !is_model(file) && !stands_in_tests_of(file, "shuttle") {
            stray(file, &mut findings);
        }
    }
    for file in tree.rust().filter(|file| is_model(file)) {
        for at in 0..file.tokens().len() {
            let word = file.word(at);
            let is_primitive = file.is_ident(at)
                && (PRIMITIVES.contains(&word)
                    || word.starts_with("Atomic") && word != "AtomicWaker");
            let modules = file.outline.modules_of(file.outline.scope_of[at]);
            let is_door = file.path.starts_with(DOOR);
            if is_primitive && !is_door && !modules.contains(&"printed") {
                let text = format!(
                    "`{word}` in a model: assert through the shipped type or return it from \
                     `join`; a wrong form to be shown stands in `mod printed`"
                );
                findings.push(Finding::new(SLUG, &file.path, file.line(at), text));
            }
        }
        if !names_its_crate(file) {
            let text = "a model names the shipped type it runs: `use crate::…`";
            findings.push(Finding::new(SLUG, &file.path, 1, text));
        }
    }
    findings
}

/// Tests in `mod printed` are run by the stages of loom and shuttle alone, which do not see those
/// of other files.
fn stray(file: &File, findings: &mut Vec<Finding>) {
    for item in &file.outline.items {
        let is_test = item.attributes.iter().any(|attribute| attribute == "test");
        if is_test && file.outline.modules_of(item.scope).contains(&"printed") {
            let text = "nobody runs it: a test of a printed form stands outside of `mod printed`";
            findings.push(Finding::new(SLUG, &file.path, file.line(item.at), text));
        }
    }
}

/// `tests/loom.rs`, `tests/loom_x.rs`, `tests/loom/x.rs`.
pub(crate) fn is_model(file: &File) -> bool {
    stands_in_tests_of(file, "loom")
}

fn stands_in_tests_of(file: &File, tool: &str) -> bool {
    let parts: Vec<&str> = file.path.split('/').collect();
    let mut pairs = parts.windows(2);
    file.role == Role::Test && pairs.any(|pair| pair[0] == "tests" && pair[1].starts_with(tool))
}

fn names_its_crate(file: &File) -> bool {
    let package = file.package().unwrap_or("").replace('-', "_");
    (0..file.tokens().len()).any(|at| {
        let is_path = file.word(at + 1) == "::";
        let is_super = file.spells(at, &["super", "::", "super"]);
        is_path && (file.word(at) == "crate" || file.word(at) == package) || is_super
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::Tree;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("crates/a/src/b/tests/loom.rs", text)])).len()
    }

    #[test]
    fn model_of_a_shipped_type_passes() {
        assert_eq!(
            found("use crate::slot::Slot;\nuse crate::AtomicWaker;\nfn f() {}"),
            0
        );
        assert_eq!(found("use super::super::Slot;"), 0);
        assert_eq!(
            found("use crate::Slot;\nmod printed { use crate::sync::atomic::AtomicU8; }"),
            0
        );
    }

    #[test]
    fn copies_and_models_of_nothing_are_found() {
        assert_eq!(
            found("use crate::Slot;\nuse crate::sync::atomic::AtomicU8;"),
            1
        );
        assert_eq!(found("use crate::Slot;\nstruct Mine(UnsafeCell<u8>);"), 1);
        assert_eq!(found("use loom::thread;"), 1);
    }

    #[test]
    fn other_tests_may_have_primitives() {
        let tree = Tree::of(&[("crates/a/src/b/tests.rs", "use std::sync::Mutex;")]);
        assert_eq!(check(&tree).len(), 0);
    }

    #[test]
    fn printed_form_that_nobody_runs_is_found() {
        let text =
            "mod printed { fn pop() {} #[test] fn f() {} }\n#[test] fn printed_pop_loses() {}";
        let tree = Tree::of(&[("crates/a/src/b/tests.rs", text)]);
        assert_eq!(check(&tree).len(), 1);
        let tree = Tree::of(&[("crates/a/src/b/tests/shuttle.rs", text)]);
        assert_eq!(check(&tree).len(), 0);
    }
}

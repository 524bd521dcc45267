//! `star-graph` and the one door to atomics, cells and locks.

use super::Finding;
use super::source::{File, Tree};
use super::toml::entries;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, manifest) in tree.packages() {
        star(name, &manifest.path, &manifest.text, &mut findings);
    }
    for file in tree.rust() {
        if !is_behind_the_door(file) {
            door(file, &mut findings);
        }
    }
    findings
}

fn star(name: &str, path: &str, text: &str, findings: &mut Vec<Finding>) {
    if name == "mainspring" {
        return;
    }
    for entry in entries(text) {
        let is_dev = entry.section.ends_with("dev-dependencies");
        let is_family = entry.name() == "mainspring" || entry.name().starts_with("mainspring-");
        if !entry.section.ends_with("dependencies") || !is_family {
            continue;
        }
        let is_allowed = match entry.name() {
            "mainspring-core" => true,
            "mainspring-macros" => true,
            "mainspring-testkit" => is_dev,
            _ => false,
        };
        if !is_allowed {
            let other = entry.name();
            let text = format!("{name} depends on {other}: meet in a trait or type of core");
            findings.push(Finding::new("star-graph", path, entry.line, text));
        }
    }
}

/// The door itself, and the proc-macro crate, which runs inside the compiler.
fn is_behind_the_door(file: &File) -> bool {
    let path = file.path.as_str();
    path == "crates/mainspring-core/src/sync.rs"
        || path.starts_with("crates/mainspring-core/src/sync/")
        || path.starts_with("crates/mainspring-macros/")
}

/// A path below `std` or `core` that is written in the file, with the token of its last name.
struct Named {
    names: Vec<String>,
    at: usize,
}

fn door(file: &File, findings: &mut Vec<Finding>) {
    for at in 0..file.tokens().len() {
        let is_root = matches!(file.word(at), "std" | "core") && file.word(at + 1) == "::";
        let is_inner = at > 0 && file.word(at - 1) == "::" && (at < 2 || file.is_ident(at - 2));
        if !is_root || is_inner || !file.is_shipped(at) {
            continue;
        }
        let mut paths = Vec::new();
        tree_of_paths(file, at + 2, &[], &mut paths);
        for path in paths {
            let names: Vec<&str> = path.names.iter().map(String::as_str).collect();
            // An ordering by itself orders nothing that a model could miss.
            let is_ordering = names.get(2) == Some(&"Ordering");
            let is_primitive = matches!(
                names[..],
                ["sync", "atomic", ..]
                    | [
                        "sync",
                        "Mutex" | "Condvar" | "RwLock" | "MutexGuard" | "*",
                        ..
                    ]
                    | ["cell", "UnsafeCell" | "*", ..]
            );
            if is_primitive
                && !is_ordering
                && !file.is_excused(path.at, "DOOR:")
                && !file.is_excused(at, "DOOR:")
            {
                let name = names.join("::");
                let text = format!(
                    "`{name}` past the door: name it through `sync`, so that models see it, or \
                     say `// DOOR: reason`"
                );
                findings.push(Finding::new(
                    "one-door",
                    &file.path,
                    file.line(path.at),
                    text,
                ));
            }
        }
    }
}

/// Expands `a::{b, c::D}` from the token after `std::` on. Returns the token after the path.
fn tree_of_paths(file: &File, mut at: usize, above: &[String], out: &mut Vec<Named>) -> usize {
    let mut names = above.to_vec();
    loop {
        match file.word(at) {
            "{" => {
                at += 1;
                while at < file.tokens().len() && file.word(at) != "}" {
                    let next = tree_of_paths(file, at, &names, out);
                    at = next.max(at + 1);
                    if file.word(at) == "," {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "self" => {}
            word => names.push(word.to_owned()),
        }
        if file.word(at + 1) == "::" && (file.is_ident(at + 2) || "{*".contains(file.word(at + 2)))
        {
            at += 2;
            continue;
        }
        out.push(Named { names, at });
        at += 1;
        if file.word(at) == "as" {
            at += 2;
        }
        return at;
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::Tree;

    fn manifest(name: &str, text: &str) -> usize {
        let path = format!("crates/{name}/Cargo.toml");
        check(&Tree::of(&[(&path, text)])).len()
    }

    fn code(text: &str) -> usize {
        check(&Tree::of(&[("crates/a/src/b.rs", text)])).len()
    }

    #[test]
    fn core_alone_is_allowed() {
        let text = "[dependencies]\nmainspring-core.workspace = true\nmainspring-macros = \"1\"\n\
            [dev-dependencies]\nmainspring-testkit.path = \"..\"\n";
        assert_eq!(manifest("mainspring-timer", text), 0);
        let text = "[dependencies]\nmainspring-timer.workspace = true\n";
        assert_eq!(manifest("mainspring", text), 0);
    }

    #[test]
    fn sibling_is_found_in_every_section() {
        for section in [
            "dependencies",
            "dev-dependencies",
            "target.'cfg(x)'.dependencies",
        ] {
            let text = format!("[{section}]\nmainspring-sync.workspace = true\n");
            assert_eq!(manifest("mainspring-timer", &text), 1, "{section}");
        }
        assert_eq!(
            manifest(
                "mainspring-timer",
                "[dependencies.mainspring-sync]\npath = \"\"\n"
            ),
            1
        );
        assert_eq!(
            manifest(
                "mainspring-timer",
                "[dependencies]\nmainspring-testkit = \"1\"\n"
            ),
            1
        );
    }

    #[test]
    fn primitives_past_the_door_are_found() {
        assert_eq!(code("use std::sync::atomic::AtomicU8;"), 1);
        assert_eq!(code("use core::sync::atomic;"), 1);
        assert_eq!(code("use std::sync::{Arc, Mutex as M, Condvar};"), 2);
        assert_eq!(
            code("use std::{cell::{Cell, UnsafeCell}, sync::atomic::{self, fence}};"),
            3
        );
        assert_eq!(code("static A: ::std::sync::Mutex<u8> = x;"), 1);
        assert_eq!(code("fn f() { std::sync::atomic::fence(x) }"), 1);
    }

    #[test]
    fn door_tests_and_reasons_pass() {
        assert_eq!(
            code("use crate::sync::atomic::AtomicU8;\nuse std::sync::Arc;"),
            0
        );
        assert_eq!(
            code("use std::cell::Cell;\nuse mainspring_core::sync::Mutex;"),
            0
        );
        assert_eq!(
            code("// DOOR: a counter outside of every model.\nuse std::sync::atomic::A;"),
            0
        );
        assert_eq!(code("#[cfg(test)]\nmod tests { use std::sync::Mutex; }"), 0);
        let path = "crates/mainspring-core/src/sync/std.rs";
        assert_eq!(
            check(&Tree::of(&[(path, "pub use ::std::sync::atomic::A;")])).len(),
            0
        );
    }

    #[test]
    fn door_without_a_reason_is_found() {
        assert_eq!(code("// DOOR:\nuse std::sync::atomic::AtomicU8;"), 1);
    }
}

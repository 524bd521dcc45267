//! `gate-at-the-door`: `#[cfg]` stands on modules, uses and whole items, never in a body.

use super::Finding;
use super::outline::attributes;
use super::source::{File, Tree};
use super::toml::entries;

const FEATURES_MAX: usize = 4;
const FACADE_FEATURES_MAX: usize = 10;
const SLUG: &str = "gate-at-the-door";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        gates(file, &mut findings);
    }
    for (name, manifest) in tree.packages() {
        features(name, &manifest.path, &manifest.text, &mut findings);
    }
    findings
}

fn gates(file: &File, findings: &mut Vec<Finding>) {
    for at in 0..file.tokens().len() {
        let line = file.line(at);
        let is_crate = file.spells(at, &["cfg_if", "!"]) || file.spells(at, &["cfg_if", ";"]);
        if file.spells(at, &["cfg", "!"]) || is_crate {
            let text = "no cfg macros: gate two items of the same name instead";
            findings.push(Finding::new(SLUG, &file.path, line, text));
        }
        if file.spells(at, &["#", "[", "cfg", "("]) {
            let scope = &file.outline.scopes[file.outline.scope_of[at]];
            if scope.in_body {
                let text = "`#[cfg]` in a body: move the difference into two items";
                findings.push(Finding::new(SLUG, &file.path, line, text));
            } else if !gates_an_item(file, at) {
                let text = "`#[cfg]` on part of an item: gate the whole item";
                findings.push(Finding::new(SLUG, &file.path, line, text));
            }
        }
    }
}

/// Whether what follows the attributes at `at` is an item.
fn gates_an_item(file: &File, mut at: usize) -> bool {
    attributes(&file.text, file.tokens(), &mut at);
    let mut name = at;
    while file.word(name + 1) == "::" {
        name += 2;
    }
    let is_macro_call = file.is_ident(name) && file.word(name + 1) == "!";
    if file.word(at) == "pub" {
        at += 1;
        if file.word(at) == "(" {
            while at < file.tokens().len() && file.word(at) != ")" {
                at += 1;
            }
            at += 1;
        }
    }
    let starts = [
        "mod",
        "use",
        "fn",
        "struct",
        "enum",
        "union",
        "impl",
        "const",
        "static",
        "type",
        "trait",
        "macro_rules",
        "unsafe",
        "async",
        "extern",
        "macro",
    ];
    is_macro_call || starts.contains(&file.word(at))
}

fn features(name: &str, path: &str, text: &str, findings: &mut Vec<Finding>) {
    let entries = entries(text);
    let features = entries.iter().filter(|entry| entry.section == "features");
    let mut count = 0;
    for feature in features {
        // `default` adds nothing of its own.
        if feature.key == "default" {
            continue;
        }
        count += 1;
        if !feature.is_commented {
            let text = format!("say above feature `{}` what it adds", feature.key);
            findings.push(Finding::new(SLUG, path, feature.line, text));
        }
    }
    let max = if name == "mainspring" {
        FACADE_FEATURES_MAX
    } else {
        FEATURES_MAX
    };
    if count > max {
        let text = format!("{count} features, at most {max} are allowed: merge or drop some");
        findings.push(Finding::new(SLUG, path, 1, text));
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::Tree;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("crates/a/src/b.rs", text)])).len()
    }

    #[test]
    fn gates_on_items_pass() {
        assert_eq!(
            found("#![cfg(unix)]\n#[cfg(test)]\nmod tests;\n#[cfg(unix)]\npub use a::b;"),
            0
        );
        assert_eq!(
            found("#[cfg(unix)]\n#[inline]\npub(crate) const fn f() {}"),
            0
        );
        assert_eq!(
            found("impl A { #[cfg(unix)] fn f() {} #[cfg(x)] const B: u8 = 1; }"),
            0
        );
        assert_eq!(found("#[cfg(unix)] thread_local! { static A: u8 = 1; }"), 0);
        assert_eq!(
            found("#[cfg(unix)] a::lazy_static! { static ref A: u8 = 1; }"),
            0
        );
    }

    #[test]
    fn gates_on_statements_fields_arms_and_expressions_are_found() {
        assert_eq!(found("fn f() { #[cfg(unix)] let x = 1; }"), 1);
        assert_eq!(found("fn f() { #[cfg(unix)] fn g() {} }"), 1);
        assert_eq!(found("struct A { #[cfg(unix)] x: u8 }"), 1);
        assert_eq!(found("struct A { #[cfg(unix)] pub(crate) x: u8 }"), 1);
        assert_eq!(found("enum A { #[cfg(unix)] X }"), 1);
        assert_eq!(found("fn f() { match x { #[cfg(unix)] A => 1 } }"), 1);
        assert_eq!(found("fn f() -> bool { cfg!(unix) }"), 1);
        assert_eq!(found("cfg_if::cfg_if! {}"), 1);
    }

    #[test]
    fn features_need_a_comment_and_are_few() {
        let check = |text: &str| check(&Tree::of(&[("crates/a/Cargo.toml", text)])).len();
        assert_eq!(check("[features]\n# Adds b.\nb = []\ndefault = []\n"), 0);
        assert_eq!(check("[features]\nb = []\n"), 1);
        let many: String = (0..5).map(|n| format!("# Adds.\nf{n} = []\n")).collect();
        assert_eq!(check(&format!("[features]\n{many}")), 1);
    }
}

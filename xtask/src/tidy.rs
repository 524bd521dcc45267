//! Checks the rules of the house style that a program can check.
//!
//! Each rule is a function from a [`Tree`] of files to findings. A finding names the rule's slug,
//! the place, and what to do. The rules know nothing of the file system and are tested on strings.
//!
//! | rule | checks |
//! |---|---|
//! | [`size`] | lengths of files, functions and lines; `foo.rs` beside `foo/`; headers |
//! | [`layers`] | the star of crates; the one door to atomics, cells and locks |
//! | [`gates`] | where `#[cfg]` may stand; few features, each explained |
//! | [`claims`] | declared, used and witnessed ids; proofs at `unsafe`, partners at orderings |
//! | [`corrections`] | printed forms that are shown to fail, row by row |
//! | [`words`] | notes, names, stubs, panics, sleeps |
//! | [`manifest`] | what a published crate has |
//! | [`errors`] | error codes and their explanations |
//! | [`cancel_safety`] | futures say what their loss costs |
//! | [`pages`] | Markdown: lengths, links, paths |
//! | [`purity`] | loom models hold no copy of what they model |
//! | [`patches`] | mutants are small and about declared ids |

use crate::context::{Context, Outcome};
use std::collections::BTreeMap;
use std::fmt;

mod cancel_safety;
pub(crate) mod claims;
mod corrections;
mod errors;
mod gates;
mod layers;
pub(crate) mod lex;
mod manifest;
pub(crate) mod orderings;
pub(crate) mod outline;
mod pages;
pub(crate) mod patches;
pub(crate) mod purity;
mod size;
pub(crate) mod source;
pub(crate) mod toml;
mod words;

use self::source::Tree;

/// Something that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) slug: &'static str,
    pub(crate) text: String,
}

impl Finding {
    fn new(slug: &'static str, path: &str, line: usize, text: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            slug,
            text: text.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: [{}] {}",
            self.path, self.line, self.slug, self.text
        )
    }
}

/// The lengths that are allowed to be too long: `path what length`, one a line, `#` comments.
#[derive(Debug, Default)]
struct Ratchet {
    entries: BTreeMap<String, usize>,
}

impl Ratchet {
    const PATH: &str = "xtask/lists/size-ratchet.txt";

    fn parse(text: &str) -> Self {
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'));
        let entries = lines.filter_map(|line| {
            let (key, length) = line.rsplit_once(' ')?;
            Some((key.to_owned(), length.parse().ok()?))
        });
        Self {
            entries: entries.collect(),
        }
    }

    fn allowed(&self, key: &str) -> Option<usize> {
        self.entries.get(key).copied()
    }

    fn keys(&self) -> impl Iterator<Item = &String> {
        self.entries.keys()
    }
}

/// A rule: its name and what it finds.
type Rule = (&'static str, fn(&Tree) -> Vec<Finding>);

const RULES: [Rule; 12] = [
    ("size", |tree| {
        let list = tree
            .file(Ratchet::PATH)
            .map_or("", |file| file.text.as_str());
        size::check(tree, &Ratchet::parse(list))
    }),
    ("layers", layers::check),
    ("gates", gates::check),
    ("claims", claims::check),
    ("corrections", corrections::check),
    ("words", words::check),
    ("manifest", manifest::check),
    ("errors", errors::check),
    ("cancel_safety", cancel_safety::check),
    ("pages", pages::check),
    ("purity", purity::check),
    ("patches", patches::check),
];

/// Checks the workspace: one pass for each rule that finds nothing.
pub(crate) fn run(ctx: &Context) -> Outcome {
    let mut outcome = Outcome::new();
    let tree = match Tree::read(&ctx.root) {
        Ok(tree) => tree,
        Err(error) => {
            outcome.fail("tidy", format!("cannot read the workspace: {error}"));
            return outcome;
        }
    };
    for (name, rule) in RULES {
        let mut findings = rule(&tree);
        findings.sort();
        report(&mut outcome, name, &findings);
    }
    report(&mut outcome, "index", &crate::claims::stale(&tree));
    outcome
}

fn report(outcome: &mut Outcome, rule: &str, findings: &[Finding]) {
    if findings.is_empty() {
        return outcome.pass(1);
    }
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    outcome.fail(
        format!("tidy: {rule} ({})", findings.len()),
        lines.join("\n"),
    );
}

#[cfg(test)]
mod tests;

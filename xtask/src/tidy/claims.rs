//! `claim-ids`: what headers promise, what code relies on, and what tests witness, agree.
//!
//! A claim is an invariant or an edge in the header of a shipped file. It has an id that code and
//! tests name; [`collect()`] gathers both, and [`check`] says where they do not meet.

use super::Finding;
use super::orderings::sites;
use super::source::{File, Role, Tree};
use std::collections::{BTreeMap, BTreeSet};

mod collect;

pub(crate) use self::collect::{collect, module_of};

const SLUG: &str = "claim-ids";

/// Whether a claim is about state or about memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Invariant,
    Edge,
}

/// A promise in a header.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) id: String,
    pub(crate) what: What,
    pub(crate) text: String,
    pub(crate) package: String,
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// How code relies on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Safety,
    Ordering,
    Assertion,
    /// `// CLAIM: [id]`: safe code that upholds an invariant at this place.
    Upheld,
    /// Named in a test's SAFETY or ORDERING comment: has to exist, counts for nothing.
    Mention,
}

/// A place that names a claim.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) id: String,
    pub(crate) how: How,
    pub(crate) package: String,
    pub(crate) path: String,
    pub(crate) line: usize,
}

/// A test that names a claim.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    pub(crate) id: String,
    pub(crate) package: String,
    pub(crate) path: String,
    pub(crate) line: usize,
    /// The name of the test as its binary knows it: `slot::tests::loom::take_racing_put`.
    pub(crate) test: String,
    /// `None` for the unit tests, else the name of the integration test's binary.
    pub(crate) binary: Option<String>,
    pub(crate) tool: &'static str,
}

/// All claims of the workspace, and who names them.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    pub(crate) claims: Vec<Claim>,
    pub(crate) uses: Vec<Use>,
    pub(crate) witnesses: Vec<Witness>,
    /// What could not be read.
    pub(crate) findings: Vec<Finding>,
}

impl Claims {
    pub(crate) fn witnesses_of(&self, id: &str) -> impl Iterator<Item = &Witness> {
        self.witnesses
            .iter()
            .filter(move |witness| witness.id == id)
    }
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut claims = collect(tree);
    let mut findings = std::mem::take(&mut claims.findings);
    undeclared(&claims, &mut findings);
    unkept(&claims, &mut findings);
    for file in tree.rust().filter(|file| file.role == Role::Shipped) {
        unsafe_without_proof(file, &mut findings);
        ordering_without_partner(file, &mut findings);
    }
    findings
}

/// Ids that are named and not declared, or declared twice.
fn undeclared(claims: &Claims, findings: &mut Vec<Finding>) {
    let mut declared: BTreeMap<&str, &Claim> = BTreeMap::new();
    for claim in &claims.claims {
        if let Some(first) = declared.insert(&claim.id, claim) {
            let text = format!(
                "`{}` is also declared in {}: rename one",
                claim.id, first.path
            );
            findings.push(Finding::new(SLUG, &claim.path, claim.line, text));
        }
    }
    let is_visible = |id: &str, package: &str| {
        let claim = declared.get(id);
        claim.is_some_and(|c| c.package == package || c.package == "mainspring-core")
    };
    let uses = claims
        .uses
        .iter()
        .map(|u| (&u.id, &u.package, &u.path, u.line));
    let witnesses = claims
        .witnesses
        .iter()
        .map(|w| (&w.id, &w.package, &w.path, w.line));
    for (id, package, path, line) in uses.chain(witnesses) {
        if !is_visible(id, package) {
            let text = format!("`{id}` is declared in no header of {package} or core");
            findings.push(Finding::new(SLUG, path, line, text));
        }
    }
}

/// Claims that nothing relies on, edges with one end, claims without a witness.
fn unkept(claims: &Claims, findings: &mut Vec<Finding>) {
    let witnessed: BTreeSet<&str> = claims.witnesses.iter().map(|w| w.id.as_str()).collect();
    for claim in &claims.claims {
        let id = claim.id.as_str();
        let mut find = |text: String| {
            findings.push(Finding::new(SLUG, &claim.path, claim.line, text));
        };
        let uses = claims
            .uses
            .iter()
            .filter(|u| u.id == id && u.how != How::Mention);
        let ends = uses.clone().filter(|u| u.how == How::Ordering).count();
        if uses.count() == 0 {
            find(format!(
                "`{id}` is declared and nothing relies on it: use it, `// CLAIM: [id]` will do"
            ));
        } else if claim.what == What::Edge && ends < 2 {
            find(format!(
                "edge `{id}` has {ends} of two ends: name it in ORDERING at both"
            ));
        }
        if !witnessed.contains(id) {
            find(format!(
                "`{id}` has no witness: `// WITNESS: {id}` above a test that shows it"
            ));
        }
    }
}

fn unsafe_without_proof(file: &File, findings: &mut Vec<Finding>) {
    for at in 0..file.tokens().len() {
        let is_claim = file.word(at) == "unsafe" && matches!(file.word(at + 1), "{" | "impl");
        if !is_claim || !file.is_ident(at) || !file.is_shipped(at) {
            continue;
        }
        if !collect::names_claims(&file.remarks(at), "SAFETY:") {
            let text = "say above: `// SAFETY: [id] why every clause of the contract holds`";
            findings.push(Finding::new(
                "safety-is-a-proof",
                &file.path,
                file.line(at),
                text,
            ));
        }
    }
}

fn ordering_without_partner(file: &File, findings: &mut Vec<Finding>) {
    for site in sites(file) {
        if !file.is_shipped(site.token) {
            continue;
        }
        let mut find = |text: String| {
            let line = file.line(site.token);
            findings.push(Finding::new("ordering-two-sides", &file.path, line, text));
        };
        if !collect::names_claims(&file.remarks(site.token), "ORDERING:") {
            let name = site.ordering;
            find(format!(
                "{name}: say above: `// ORDERING: [id] …`, its partner, what breaks"
            ));
        }
        if site.ordering == "SeqCst" && !site.is_fence() {
            find("SeqCst stands in fences only: relaxed accesses and a fence pair".to_owned());
        }
    }
}

#[cfg(test)]
mod tests;

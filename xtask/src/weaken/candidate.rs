//! What can be weakened: every ordering token in shipped code, one step at a time.

use crate::tidy::claims::module_of;
use crate::tidy::orderings::sites;
use crate::tidy::source::{File, Role, Tree};
use std::collections::BTreeMap;

/// One ordering in one weaker form.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) package: String,
    pub(crate) path: String,
    /// `handshake::completion`, empty for the crate's root.
    pub(crate) module: String,
    pub(crate) line: usize,
    /// As it stands in the list of survivors.
    pub(crate) key: String,
    /// The whole file in the weaker form.
    pub(crate) text: String,
}

/// Everything that can be weakened in the packages that have models.
pub(crate) fn candidates(tree: &Tree, packages: &[String]) -> Vec<Candidate> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| file.role == Role::Shipped) {
        let package = file.package().unwrap_or("");
        if packages.iter().any(|name| name == package) && !is_out_of_models(&file.path) {
            in_file(file, package, &mut found);
        }
    }
    found
}

/// The half of the door that models do not go through.
fn is_out_of_models(path: &str) -> bool {
    path == "crates/mainspring-core/src/sync/std.rs"
}

fn in_file(file: &File, package: &str, found: &mut Vec<Candidate>) {
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for site in sites(file) {
        if !file.is_shipped(site.token) {
            continue;
        }
        let function = function_of(file, site.token);
        let number = count.entry(function.clone()).or_default();
        *number += 1;
        if is_gated_out(file, site.token) {
            continue;
        }
        for weaker in site.weaker() {
            let form = weaker.name();
            found.push(Candidate {
                package: package.to_owned(),
                path: file.path.clone(),
                module: module_of(&file.path).1.join("::"),
                line: file.line(site.token),
                key: format!("{} · {function} · {number} · {form}", file.path),
                text: site.apply(&file.text, *weaker),
            });
        }
    }
}

/// The name of the function around a token, with a number from the second of that name on.
fn function_of(file: &File, token: usize) -> String {
    let Some(item) = file.outline.function_of(token) else {
        return "file".to_owned();
    };
    let items = file.outline.items.iter();
    let earlier = items.filter(|i| i.keyword == "fn" && i.name == item.name && i.at < item.at);
    match earlier.count() {
        0 => item.name.clone(),
        count => format!("{}#{}", item.name, count + 1),
    }
}

/// Whether a token is compiled in no model.
fn is_gated_out(file: &File, token: usize) -> bool {
    let mut attributes = file.outline.around(token).flat_map(|item| &item.attributes);
    attributes.any(|attribute| {
        attribute.starts_with("cfg(not(all(mainspring_loom")
            || attribute.starts_with("cfg(not(mainspring_loom")
            || attribute.starts_with("cfg(mainspring_tsan")
            || attribute.starts_with("cfg(mainspring_shuttle")
    })
}

/// Chooses `count` of `all` by `seed`, in an order that the seed gives, too.
pub(crate) fn sample<T>(mut all: Vec<T>, count: usize, seed: u64) -> Vec<T> {
    let mut state = seed;
    for at in (1..all.len()).rev() {
        let other = usize::try_from(next(&mut state) % (at as u64 + 1)).unwrap_or(0);
        all.swap(at, other);
    }
    all.truncate(count);
    all
}

/// The next number of Steele, Lea and Flood's SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Models in the order in which they should be asked: those of the module itself, then those of
/// the modules around it, from the inside out, then all others.
pub(crate) fn nearest_first<T>(models: &mut [T], module: &str, name: impl Fn(&T) -> &str) {
    let parts: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    let distance = |model: &T| {
        let mut depth = parts.len();
        while depth > 0 {
            let prefix = format!("{}::", parts[..depth].join("::"));
            if name(model).starts_with(&prefix) {
                break;
            }
            depth -= 1;
        }
        parts.len() - depth
    };
    models.sort_by_key(distance);
}

#[cfg(test)]
mod tests {
    use super::{candidates, nearest_first, sample};
    use crate::tidy::source::Tree;

    const CODE: &str = "use crate::sync::atomic::Ordering::{AcqRel, Acquire};\n\
        impl A { fn f(&self) { self.x.swap(1, AcqRel); self.x.load(Acquire); } }\n\
        impl B { fn f(&self) { acquire_last(&self.x); } }\n\
        #[cfg(mainspring_tsan)]\nfn g() { x.load(Acquire); }\n\
        #[cfg(test)]\nmod t { fn h() { x.load(Acquire); } }\n";

    fn keys() -> Vec<String> {
        let tree = Tree::of(&[("crates/a/src/b/c.rs", CODE), ("crates/d/src/e.rs", CODE)]);
        let found = candidates(&tree, &["a".to_owned()]);
        found.into_iter().map(|candidate| candidate.key).collect()
    }

    #[test]
    fn each_token_is_a_candidate_in_each_weaker_form() {
        assert_eq!(
            keys(),
            [
                "crates/a/src/b/c.rs · f · 1 · Acquire",
                "crates/a/src/b/c.rs · f · 1 · Release",
                "crates/a/src/b/c.rs · f · 2 · Relaxed",
                "crates/a/src/b/c.rs · f#2 · 1 · none",
            ]
        );
    }

    #[test]
    fn sample_is_the_seed_s_and_has_no_doubles() {
        let tree = Tree::of(&[("crates/a/src/b/c.rs", CODE)]);
        let all = || candidates(&tree, &["a".to_owned()]);
        let keys = |seed| {
            let chosen = sample(all(), 3, seed).into_iter();
            chosen.map(|candidate| candidate.key).collect::<Vec<_>>()
        };
        assert_eq!(keys(7), keys(7));
        assert_eq!(keys(7).len(), 3);
        let mut whole: Vec<_> = sample(all(), 99, 7).into_iter().map(|c| c.key).collect();
        whole.sort();
        assert_eq!(whole, super::tests::keys());
    }

    #[test]
    fn nearest_models_are_asked_first() {
        let mut models = [
            "c::tests::loom::x",
            "a::tests::loom::x",
            "a::b::tests::loom::x",
        ];
        nearest_first(&mut models, "a::b", |model| model);
        assert_eq!(models[..2], ["a::b::tests::loom::x", "a::tests::loom::x"]);
    }
}

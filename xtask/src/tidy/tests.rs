use super::source::Tree;
use super::{RULES, Ratchet};
use std::path::Path;

#[test]
fn finding_reads_as_place_slug_advice() {
    let tree = Tree::of(&[("crates/a/src/b/mod.rs", "//! A.\n")]);
    let findings = super::size::check(&tree, &Ratchet::default());
    assert_eq!(
        findings[0].to_string(),
        "crates/a/src/b/mod.rs:1: [no-mod-rs] rename `foo/mod.rs` to `foo.rs` beside the folder"
    );
}

#[test]
fn ratchet_reads_keys_with_blanks_and_skips_comments() {
    let ratchet = Ratchet::parse("# why\na/b.rs fn c 75\na/b.rs file 510\n\n");
    assert_eq!(ratchet.allowed("a/b.rs fn c"), Some(75));
    assert_eq!(ratchet.allowed("a/b.rs file"), Some(510));
    assert_eq!(ratchet.keys().count(), 2);
}

/// The crates are the tidy stage's business: a fault of theirs is no fault of this package.
#[test]
fn automation_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let tree = Tree::read(&root).expect("the workspace can be read");
    let findings = RULES.iter().flat_map(|(_, rule)| rule(&tree));
    let own = findings.filter(|finding| finding.path.starts_with("xtask/src/"));
    let lines: Vec<String> = own.map(|finding| finding.to_string()).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

use super::{check, collect};
use crate::tidy::source::Tree;

const HEADER: &str = "//! A slot.\n//!\n//! # Invariants\n//!\n\
    //! - **slot.init** — `value` is live\n//!   while FULL.\n//!\n//! # Edges\n//!\n\
    //! | edge | release side | acquire side | carries |\n//! |---|---|---|---|\n\
    //! | `slot.publish` | [`put`] | [`take`] | the value |\n\n";

const CODE: &str = "use crate::sync::atomic::Ordering::{Acquire, Release};\nfn put() {\n\
    // SAFETY: [slot.init] only we.\nunsafe { x() };\n\
    // ORDERING: [slot.publish] pairs with take.\ny.swap(1, Release);\n}\n\
    fn take() {\n// ORDERING: [slot.publish] pairs\n// with put.\nlet a = y\n.load(Acquire);\n}\n";

const TEST: &str = "// WITNESS: slot.init,\n// slot.publish\n#[test]\nfn put_is_seen() {}\n";

fn found(header: &str, code: &str, test: &str) -> Vec<String> {
    let text = format!("{header}{code}");
    let files = [
        ("crates/a/src/slot.rs", text.as_str()),
        ("crates/a/src/slot/tests/loom.rs", test),
    ];
    let findings = check(&Tree::of(&files));
    findings.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn one(found: &[String], part: &str) {
    assert!(
        found.len() == 1 && found[0].contains(part),
        "{part}: {found:#?}"
    );
}

#[test]
fn whole_file_passes() {
    assert_eq!(found(HEADER, CODE, TEST), [""; 0]);
}

#[test]
fn statement_goes_over_lines_and_witnesses_have_paths() {
    let text = format!("{HEADER}{CODE}");
    let files = [
        ("crates/a/src/slot.rs", text.as_str()),
        ("crates/a/src/slot/tests/loom.rs", TEST),
        (
            "crates/a/tests/it/b.rs",
            "mod c {\n// WITNESS: slot.init\n#[test]\nfn d() {}\n}",
        ),
    ];
    let claims = collect(&Tree::of(&files));
    assert_eq!(claims.claims[0].text, "`value` is live while FULL.");
    assert_eq!(claims.claims[1].text, "[`put`] → [`take`]: the value");
    let witnesses = claims.witnesses.iter();
    let names: Vec<_> = witnesses
        .map(|w| (w.binary.as_deref(), w.test.as_str(), w.tool))
        .collect();
    assert_eq!(
        names,
        [
            (None, "slot::tests::loom::put_is_seen", "loom"),
            (None, "slot::tests::loom::put_is_seen", "loom"),
            (Some("it"), "b::c::d", "integration"),
        ]
    );
}

#[test]
fn unused_undeclared_and_unwitnessed_ids_are_found() {
    let code = CODE.replace("// SAFETY: [slot.init]", "// SAFETY: [slot.publish]");
    one(
        &found(HEADER, &code, TEST),
        "`slot.init` is declared and nothing relies",
    );
    let code = format!("{CODE}// SAFETY: [slot.gone] x.\n");
    one(
        &found(HEADER, &code, TEST),
        "`slot.gone` is declared in no header",
    );
    let test = TEST.replace(",\n// slot.publish", "");
    one(&found(HEADER, CODE, &test), "`slot.publish` has no witness");
    let test = format!("{TEST}// WITNESS: slot.gone\n#[test]\nfn x() {{}}\n");
    one(
        &found(HEADER, CODE, &test),
        "`slot.gone` is declared in no header",
    );
}

#[test]
fn assertion_message_counts_as_use() {
    let code = CODE.replace("// SAFETY: [slot.init]", "// SAFETY: [slot.publish]");
    let code = format!("{code}fn f() {{ debug_assert!(a, \"slot.init: {{}}\", 1); }}\n");
    assert_eq!(found(HEADER, &code, TEST), [""; 0]);
}

#[test]
fn long_argument_may_name_claims_as_it_goes() {
    let code = CODE.replace(
        "// ORDERING: [slot.publish] pairs\n// with put.\n",
        "// Ours. ORDERING: [slot.init] a\n// value is there; [slot.publish] with put.\n",
    );
    assert_eq!(found(HEADER, &code, TEST), [""; 0]);
    let code = format!("{CODE}// No mark before [slot.gone] here.\nfn f() {{}}\n");
    assert_eq!(found(HEADER, &code, TEST), [""; 0]);
}

#[test]
fn safe_code_may_say_what_it_upholds() {
    let code = CODE.replace("// SAFETY: [slot.init]", "// SAFETY: [slot.publish]");
    let code = format!("{code}fn f() {{\n    // CLAIM: [slot.init] kept by this.\n    g();\n}}\n");
    assert_eq!(found(HEADER, &code, TEST), [""; 0]);
}

#[test]
fn claims_in_the_docs_of_an_item_are_found() {
    let code = format!("{CODE}/// A.\n///\n/// # Invariants\nstruct A;\n");
    one(&found(HEADER, &code, TEST), "claims stand in the header");
}

#[test]
fn edge_with_one_end_is_found() {
    let code = CODE.replace(
        "// ORDERING: [slot.publish] pairs\n",
        "// ORDERING: [slot.init] pairs\n",
    );
    one(
        &found(HEADER, &code, TEST),
        "edge `slot.publish` has 1 of two ends",
    );
}

#[test]
fn unsafe_without_id_is_found() {
    let code = CODE.replace("// SAFETY: [slot.init] only we.\n", "// SAFETY: only we.\n");
    let code = format!("{code}fn f() {{ debug_assert!(a, \"slot.init: x\"); }}\n");
    one(&found(HEADER, &code, TEST), "[safety-is-a-proof]");
    let code = format!("{CODE}unsafe impl Send for A {{}}\n");
    one(&found(HEADER, &code, TEST), "[safety-is-a-proof]");
    let code = format!(
        "{CODE}unsafe fn f() {{}}\nunsafe trait T {{}}\n#[cfg(test)]\nmod t {{\n\
         fn f() {{ unsafe {{ x }} }} }}"
    );
    assert_eq!(found(HEADER, &code, TEST), [""; 0]);
}

#[test]
fn ordering_without_comment_is_found() {
    for call in [
        "y.load(Acquire)",
        "fence(Ordering::SeqCst)",
        "acquire_last(&y)",
    ] {
        let code = format!("{CODE}fn f() {{\n    // Why.\n    {call};\n}}\n");
        one(&found(HEADER, &code, TEST), "[ordering-two-sides]");
        let code = code.replace("// Why.", "// ORDERING: [slot.publish] why.");
        assert_eq!(found(HEADER, &code, TEST), [""; 0]);
    }
}

#[test]
fn comment_belongs_to_its_own_statement_only() {
    let code = format!(
        "{CODE}fn f() {{\n    // ORDERING: [slot.publish] why.\n    y.load(Acquire);\n    \
         y.load(Acquire);\n}}\n"
    );
    one(&found(HEADER, &code, TEST), "[ordering-two-sides]");
}

#[test]
fn sequentially_consistent_access_is_found() {
    let code = format!(
        "{CODE}fn f() {{\n    // ORDERING: [slot.publish] why.\n    y.load(Ordering::SeqCst);\n}}\n"
    );
    one(&found(HEADER, &code, TEST), "SeqCst stands in fences only");
}

#[test]
fn malformed_entries_and_stray_witnesses_are_found() {
    let header = HEADER.replace(
        "//!\n//! # Edges",
        "//! - slot.other is bare\n//!\n//! # Edges",
    );
    one(&found(&header, CODE, TEST), "write invariants as");
    let header = HEADER.replace("| the value |", "|");
    assert!(found(&header, CODE, TEST)[0].contains("write edges as"));
    one(
        &found(
            HEADER,
            CODE,
            &format!("{TEST}// WITNESS: slot.init\nfn f() {{}}\n"),
        ),
        "stands above",
    );
    let test = format!("{TEST}mod printed {{\n// WITNESS: slot.init\n#[test]\nfn f() {{}}\n}}\n");
    one(&found(HEADER, CODE, &test), "witnesses nothing");
}

#[test]
fn id_declared_twice_is_found() {
    let files = [
        ("crates/a/src/slot.rs", format!("{HEADER}{CODE}")),
        ("crates/b/src/other.rs", format!("{HEADER}{CODE}")),
        ("crates/a/src/slot/tests.rs", TEST.to_owned()),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let findings = check(&Tree::of(&files));
    assert!(
        findings
            .iter()
            .any(|f| f.text.contains("is also declared in"))
    );
}

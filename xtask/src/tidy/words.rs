//! Words and calls that do not belong into the code.

use super::Finding;
use super::source::{File, Role, Tree};

/// Notes to oneself. Spelt apart, so that this file has none.
const NOTES: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

/// Names with a forbidden prefix that the standard library has taught everybody.
const KNOWN_GETTERS: [&str; 7] = [
    "get_mut",
    "get_or_init",
    "get_or_try_init",
    "get_ref",
    "get_pin_mut",
    "get_unchecked",
    "get_unchecked_mut",
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        notes(file, &mut findings);
        names(file, &mut findings);
        calls(file, &mut findings);
        let stem = file.path.rsplit('/').next().unwrap_or("");
        if matches!(stem, "utils.rs" | "util.rs" | "helpers.rs" | "misc.rs") {
            let text = "name the file after the one noun it holds";
            findings.push(Finding::new("names", &file.path, 1, text));
        }
    }
    findings
}

fn notes(file: &File, findings: &mut Vec<Finding>) {
    for comment in &file.lexed.comments {
        for (offset, line) in comment.text.lines().enumerate() {
            let is_note = |word: &str| NOTES.contains(&word);
            let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let has_issue = line.split('#').skip(1).any(|rest| {
                let mut chars = rest.chars();
                chars.next().is_some_and(|c| c.is_ascii_digit())
            });
            if words.any(is_note) && !has_issue {
                let text = "a note to oneself without an issue number: do it now or file it";
                findings.push(Finding::new(
                    "notes",
                    &file.path,
                    comment.line + offset,
                    text,
                ));
            }
        }
    }
}

fn names(file: &File, findings: &mut Vec<Finding>) {
    for item in &file.outline.items {
        let mut find = |slug, text: String| {
            findings.push(Finding::new(slug, &file.path, file.line(item.at), text));
        };
        let name = item.name.as_str();
        if item.keyword == "fn" {
            let awaited = name.strip_suffix("_blocking").unwrap_or(name);
            let is_getter = name.starts_with("get_") && !KNOWN_GETTERS.contains(&awaited);
            if is_getter || name.starts_with("do_") {
                find(
                    "names",
                    format!("`fn {name}`: drop the prefix, say what it gives or does"),
                );
            }
            let is_test = item.attributes.iter().any(|attribute| attribute == "test");
            if is_test && name.starts_with("test_") {
                find(
                    "names",
                    format!("`fn {name}`: `subject_condition_outcome`, no `test_`"),
                );
            }
        }
        let is_type = matches!(item.keyword, "struct" | "enum" | "trait" | "type");
        if is_type && name.ends_with("Manager") {
            find("names", format!("`{name}`: say what it holds or decides"));
        }
        let is_ignored =
            |attribute: &String| attribute == "ignore" || attribute.starts_with("ignore=");
        if item.attributes.iter().any(is_ignored) {
            find(
                "no-ignored-test",
                format!("`{name}` is ignored: mend it or delete it"),
            );
        }
    }
}

fn calls(file: &File, findings: &mut Vec<Finding>) {
    for at in 0..file.tokens().len() {
        let mut find = |slug, text: &str| {
            findings.push(Finding::new(slug, &file.path, file.line(at), text));
        };
        if file.spells(at + 1, &["!"]) && matches!(file.word(at), "todo" | "unimplemented") {
            find("no-stub", "a stub: write it or take the item out");
        }
        let is_test = file.role == Role::Test || file.outline.is_test(at);
        let is_sleep = is_test && file.spells(at, &["thread", "::", "sleep"]);
        if is_sleep && !file.is_excused(at, "SLEEP:") {
            find(
                "seeded",
                "order events by barriers, channels or joins, or say `// SLEEP: reason`",
            );
        }
        if file.is_shipped(at) && may_panic(file) {
            let is_unwrap = file.spells(at, &[".", "unwrap", "(", ")"]);
            let is_panic = file.spells(at, &["panic", "!"]) && file.is_ident(at);
            if (is_unwrap || is_panic) && !file.is_excused(at, "PANIC:") {
                find(
                    "no-panic",
                    "return an error, use `expect` with the invariant, or say `// PANIC: reason`",
                );
            }
        }
    }
}

/// The test kit's business is to panic: it is part of what users run, in their tests.
fn may_panic(file: &File) -> bool {
    file.package() != Some("mainspring-testkit")
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::Tree;

    fn found(path: &str, text: &str) -> Vec<&'static str> {
        let findings = check(&Tree::of(&[(path, text)]));
        findings.iter().map(|finding| finding.slug).collect()
    }

    const SHIPPED: &str = "crates/a/src/b.rs";
    const TEST: &str = "crates/a/src/b/tests.rs";

    #[test]
    fn notes_need_an_issue() {
        let note = super::NOTES[0];
        assert_eq!(found(SHIPPED, &format!("// {note}: later")), ["notes"]);
        assert_eq!(found(SHIPPED, &format!("/* a\n {note} */")), ["notes"]);
        assert_eq!(found(SHIPPED, &format!("// {note}(#12): later")), [""; 0]);
        assert_eq!(found(SHIPPED, &format!("// {note}S are fine")), [""; 0]);
    }

    #[test]
    fn names_are_checked() {
        assert_eq!(
            found(SHIPPED, "fn get_x() {}\nfn do_y() {}"),
            ["names", "names"]
        );
        assert_eq!(
            found(SHIPPED, "fn get_mut() {}\nfn getter() {}\nfn done() {}"),
            [""; 0]
        );
        assert_eq!(found(TEST, "#[test]\nfn test_x() {}"), ["names"]);
        assert_eq!(found(TEST, "fn test_kit() {}"), [""; 0]);
        assert_eq!(
            found("crates/a/src/utils.rs", "struct TaskManager;"),
            ["names", "names"]
        );
    }

    #[test]
    fn stubs_ignored_tests_and_sleeps_are_found() {
        assert_eq!(
            found(TEST, "fn f() { todo!() }\nfn g() { unimplemented!(); }").len(),
            2
        );
        assert_eq!(
            found(TEST, "#[test]\n#[ignore = \"slow\"]\nfn f() {}"),
            ["no-ignored-test"]
        );
        assert_eq!(found(TEST, "fn f() { std::thread::sleep(d); }"), ["seeded"]);
        assert_eq!(found(SHIPPED, "fn f() { std::thread::sleep(d); }"), [""; 0]);
        assert_eq!(
            found(
                TEST,
                "fn f() {\n    // SLEEP: the clock itself is tested.\n    thread::sleep(d);\n}"
            ),
            [""; 0]
        );
    }

    #[test]
    fn panics_in_shipped_code_need_a_reason() {
        assert_eq!(
            found(SHIPPED, "fn f() { a.unwrap(); panic!() }"),
            ["no-panic"; 2]
        );
        assert_eq!(
            found(
                SHIPPED,
                "fn f() {\n    // PANIC: documented.\n    a.unwrap();\n}"
            ),
            [""; 0]
        );
        assert_eq!(
            found(SHIPPED, "fn f() { panic!() } // PANIC: documented."),
            [""; 0]
        );
        assert_eq!(
            found(
                SHIPPED,
                "/// a.unwrap()\nfn f() { a.unwrap_or(1); b.expect(\"c\") }"
            ),
            [""; 0]
        );
        assert_eq!(found(TEST, "fn f() { a.unwrap(); panic!() }"), [""; 0]);
        assert_eq!(
            found(SHIPPED, "#[cfg(test)]\nmod tests { fn f() { a.unwrap() } }"),
            [""; 0]
        );
        assert_eq!(
            found("crates/a/examples/b.rs", "fn f() { a.unwrap() }"),
            [""; 0]
        );
    }
}

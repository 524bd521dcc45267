//! `one-noun-one-file`, `no-mod-rs` and the header: the shape of files.

use super::lex::Kind;
use super::source::{File, Role, Tree};
use super::{Finding, Ratchet};
use std::ops::RangeInclusive;

pub(crate) const FILE_LINES_MAX: usize = 500;
pub(crate) const FN_LINES_MAX: usize = 70;
pub(crate) const LINE_COLUMNS_MAX: usize = 100;

/// Checks every Rust file. The ratchet holds `path what length` and may only shrink: an entry that
/// no longer applies, or that could be lower, is a finding as well.
pub(crate) fn check(tree: &Tree, ratchet: &Ratchet) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen = Vec::new();
    for file in tree.rust() {
        shape(file, &mut findings);
        for (what, line, length, max) in lengths(file) {
            let key = format!("{} {what}", file.path);
            let allowed = ratchet.allowed(&key);
            seen.push(key.clone());
            if length > max && allowed.is_none_or(|allowed| length > allowed) {
                let advice = "split it where a second noun begins";
                let text =
                    format!("{what} has {length} lines, at most {max} are allowed: {advice}");
                findings.push(Finding::new("one-noun-one-file", &file.path, line, text));
            } else if allowed.is_some_and(|allowed| length < allowed) {
                let entry = if length > max {
                    length.to_string()
                } else {
                    "nothing".to_owned()
                };
                let text = format!("{what} has shrunk: lower `{key}` to {entry}");
                findings.push(Finding::new("one-noun-one-file", Ratchet::PATH, 1, text));
            }
        }
    }
    for key in ratchet
        .keys()
        .filter(|key| !seen.iter().any(|other| other == *key))
    {
        let text = format!("`{key}` is gone: take it off the list");
        findings.push(Finding::new("one-noun-one-file", Ratchet::PATH, 1, text));
    }
    findings
}

fn shape(file: &File, findings: &mut Vec<Finding>) {
    if file.path.ends_with("/mod.rs") {
        let text = "rename `foo/mod.rs` to `foo.rs` beside the folder";
        findings.push(Finding::new("no-mod-rs", &file.path, 1, text));
    }
    if file.role == Role::Shipped && !file.text.starts_with("//!") {
        let text = "begin the file with `//!`: one line that says what it is";
        findings.push(Finding::new("header", &file.path, 1, text));
    }
    let data = data_lines(file);
    for (index, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        let is_fixed = line.contains("://") || data.iter().any(|data| data.contains(&(index + 1)));
        if columns > LINE_COLUMNS_MAX && !is_fixed {
            let text =
                format!("{columns} columns, at most {LINE_COLUMNS_MAX} are allowed: break it");
            findings.push(Finding::new(
                "one-noun-one-file",
                &file.path,
                index + 1,
                text,
            ));
        }
    }
}

/// The lines of raw strings, and those of other strings that end in a line break of their own:
/// data that somebody else has formatted.
fn data_lines(file: &File) -> Vec<RangeInclusive<usize>> {
    let mut found = Vec::new();
    for token in file
        .tokens()
        .iter()
        .filter(|token| token.kind == Kind::Text)
    {
        let text = &file.text[token.start..token.end];
        let last = token.line + text.matches('\n').count();
        if !text.starts_with(['"', 'c']) {
            found.push(token.line..=last);
            continue;
        }
        let lines = text.lines().enumerate().skip(1);
        let data = lines.filter(|(at, line)| token.line + at < last && !line.ends_with('\\'));
        found.extend(data.map(|(at, _)| token.line + at..=token.line + at));
    }
    found
}

/// The file and its functions: name, line, length, limit.
fn lengths(file: &File) -> Vec<(String, usize, usize, usize)> {
    let mut found = vec![(
        "file".to_owned(),
        1,
        file.text.lines().count(),
        FILE_LINES_MAX,
    )];
    for item in file
        .outline
        .items
        .iter()
        .filter(|item| item.keyword == "fn")
    {
        let line = file.line(item.at);
        let length = file.line(item.last) + 1 - line;
        found.push((format!("fn {}", item.name), line, length, FN_LINES_MAX));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::Ratchet;
    use crate::tidy::source::Tree;

    fn slugs(path: &str, text: &str, ratchet: &str) -> Vec<String> {
        let findings = check(&Tree::of(&[(path, text)]), &Ratchet::parse(ratchet));
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn short_file_passes() {
        let text = "//! What.\n\nfn f() {\n    1;\n}\n";
        assert_eq!(slugs("crates/a/src/b.rs", text, ""), [""; 0]);
    }

    #[test]
    fn long_file_function_and_line_are_found() {
        let text = format!("//! What.\nfn f() {{\n{}}}\n", "    1;\n".repeat(69));
        assert!(slugs("crates/a/src/b.rs", &text, "")[0].contains("fn f has 71 lines"));
        let text = format!("//! What.\n{}", "\n".repeat(500));
        assert!(slugs("crates/a/src/b.rs", &text, "")[0].contains("file has 501 lines"));
        let text = format!("//! {}\n//! https://{}\n", "x".repeat(97), "x".repeat(100));
        assert_eq!(slugs("crates/a/src/b.rs", &text, "").len(), 1);
        let data = format!(
            "//! What.\nconst A: &str = r#\"\n{}\n\"#;\n",
            "x".repeat(101)
        );
        assert_eq!(slugs("crates/a/src/b.rs", &data, ""), [""; 0]);
        let data = data.replace("r#", "").replace("\"#", "\"");
        assert_eq!(slugs("crates/a/src/b.rs", &data, ""), [""; 0]);
        let continued = data.replace("x\n", "x\\\n");
        assert_eq!(slugs("crates/a/src/b.rs", &continued, "").len(), 1);
    }

    #[test]
    fn ratchet_allows_what_it_lists_and_only_shrinks() {
        let text = format!("//! What.\n{}", "\n".repeat(500));
        let path = "crates/a/src/b.rs";
        assert_eq!(slugs(path, &text, "crates/a/src/b.rs file 501\n"), [""; 0]);
        assert!(slugs(path, &text, "crates/a/src/b.rs file 510\n")[0].contains("to 501"));
        assert!(slugs(path, "//! x\n", "crates/a/src/b.rs file 510\n")[0].contains("to nothing"));
        assert!(slugs(path, "//! x\n", "crates/a/src/c.rs file 510\n")[0].contains("is gone"));
    }

    #[test]
    fn mod_rs_and_missing_header_are_found() {
        assert_eq!(slugs("crates/a/src/b/mod.rs", "fn f() {}\n", "").len(), 2);
        assert_eq!(slugs("crates/a/src/b/tests.rs", "fn f() {}\n", ""), [""; 0]);
    }
}

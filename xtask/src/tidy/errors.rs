//! Error codes: each `MSnnnn` of the code is explained in docs/errors.md, and nothing else is.

use super::Finding;
use super::source::{File, Tree};
use std::collections::BTreeMap;

const PAGE: &str = "docs/errors.md";
const SLUG: &str = "error-codes";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut used: BTreeMap<String, (&File, usize)> = BTreeMap::new();
    for file in tree.rust().filter(|file| file.path.starts_with("crates/")) {
        for (line, code) in codes(&file.text) {
            used.entry(code).or_insert((file, line));
        }
    }
    let mut explained = BTreeMap::new();
    let page = tree.file(PAGE).map_or("", |page| page.text.as_str());
    for (line, text) in page
        .lines()
        .enumerate()
        .filter(|(_, text)| text.starts_with("## "))
    {
        for (_, code) in codes(text) {
            explained.insert(code, line + 1);
        }
    }
    let mut findings = Vec::new();
    for (code, (file, line)) in &used {
        if !explained.contains_key(code) {
            let text = format!("explain {code} in {PAGE}: `## {code}`, why, what to do");
            findings.push(Finding::new(SLUG, &file.path, *line, text));
        }
    }
    for (code, line) in &explained {
        if !used.contains_key(code) {
            let text = format!("{code} is explained and nothing reports it: delete the section");
            findings.push(Finding::new(SLUG, PAGE, *line, text));
        }
    }
    findings
}

/// The codes in a text, with their lines.
fn codes(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in line.match_indices("MS") {
            let before = line[..at].chars().next_back();
            let digits: String = line[at + 2..].chars().take(5).collect();
            let is_code = digits.chars().take_while(char::is_ascii_digit).count() == 4;
            if is_code && !before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                found.push((index + 1, line[at..at + 6].to_owned()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::Tree;

    fn found(code: &str, page: &str) -> usize {
        check(&Tree::of(&[
            ("crates/a/src/b.rs", code),
            ("docs/errors.md", page),
        ]))
        .len()
    }

    #[test]
    fn codes_and_sections_agree() {
        assert_eq!(
            found(
                "const A: &str = \"MS0001\";",
                "# Errors\n\n## MS0001\n\nWhy."
            ),
            0
        );
        assert_eq!(found("// XMS0001, MS00012 and MSx are no codes\n", ""), 0);
    }

    #[test]
    fn either_without_the_other_is_found() {
        assert_eq!(found("/// MS0001\nfn f() {}", ""), 1);
        assert_eq!(found("", "## MS0001\n"), 1);
        assert_eq!(found("\"MS0002\"", "## MS0001\n"), 2);
    }
}

//! `// CORRECTION: n` markers and the table of docs/corrections.md agree.
//!
//! Each row of a table there begins with its number. Its last cell says where the test stands that
//! shows the printed form failing; then a marker with that number must exist. A dash says that
//! there is none: the row states a fact, or the crate that owes it is not built yet. A marker takes
//! the dash away.

use super::Finding;
use super::lex::Doc;
use super::source::{OUTSIDE, Tree};
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "docs/corrections.md";
const SLUG: &str = "corrections";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let page = tree.file(PAGE).map_or("", |page| page.text.as_str());
    let rows = rows(page);
    let mut shown = BTreeSet::new();
    for file in tree.rust() {
        if file.package().is_none_or(|name| OUTSIDE.contains(&name)) {
            continue;
        }
        for comment in file.lexed.comments.iter().filter(|c| c.doc == Doc::No) {
            let Some(list) = comment.text.strip_prefix("CORRECTION:") else {
                continue;
            };
            for word in list.split(',').map(str::trim) {
                let number = word.parse::<u32>().ok().filter(|n| rows.contains_key(n));
                shown.extend(number);
                if number.is_none() {
                    let text = format!("`{word}` is no row of {PAGE}");
                    findings.push(Finding::new(SLUG, &file.path, comment.line, text));
                }
            }
        }
    }
    for (number, row) in &rows {
        let text = match (row.is_tested, shown.contains(number)) {
            (true, true) | (false, false) => continue,
            (true, false) => {
                format!("row {number} claims a test: write one with `// CORRECTION: {number}`")
            }
            (false, true) => format!("row {number} has a test: say where, in its last cell"),
        };
        findings.push(Finding::new(SLUG, PAGE, row.line, text));
    }
    findings
}

struct Row {
    line: usize,
    is_tested: bool,
}

fn rows(page: &str) -> BTreeMap<u32, Row> {
    let mut found = BTreeMap::new();
    for (index, line) in page
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with('|'))
    {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let Ok(number) = cells[0].parse() else {
            continue;
        };
        let test = cells.last().copied().unwrap_or("");
        let row = Row {
            line: index + 1,
            is_tested: !matches!(test, "" | "-" | "–" | "—"),
        };
        found.insert(number, row);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::Tree;

    const PAGE: &str = "| # | printed | test |\n|---|---|---|\n| 1 | a | core `slot` |\n\
        | 2 | b | – |\n| 3 | c | – |\n";

    fn found(code: &str) -> usize {
        let files = [
            ("crates/a/src/b/tests.rs", code),
            ("docs/corrections.md", PAGE),
        ];
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn markers_and_rows_agree() {
        assert_eq!(found("// CORRECTION: 1\n#[test] fn f() {}"), 0);
        assert_eq!(found("// CORRECTION: 1, 1"), 0);
    }

    #[test]
    fn marker_whose_row_has_a_dash_is_found() {
        assert_eq!(found("// CORRECTION: 1, 2"), 1);
        assert_eq!(found("// CORRECTION: 1, 2, 3"), 2);
    }

    #[test]
    fn marker_without_row_and_row_without_marker_are_found() {
        assert_eq!(found(""), 1);
        assert_eq!(found("// CORRECTION: 1\n// CORRECTION: 9"), 1);
        assert_eq!(found("// CORRECTION: one"), 2);
    }
}

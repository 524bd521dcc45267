//! Markdown: short READMEs, links that lead somewhere, no paths of anybody's machine.

use super::Finding;
use super::source::{File, Tree};

const README_LINES_MAX: usize = 150;

/// Beginnings of paths that exist on one machine only, spelt apart so that this file has none.
const PLACES: [&str; 5] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/Us", "ers/"),
    concat!("C:", "\\"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        places(file, &mut findings);
        if !file.path.ends_with(".md") {
            continue;
        }
        let lines = file.text.lines().count();
        let is_readme = file.path == "README.md" || file.path.ends_with("/README.md");
        if is_readme && lines > README_LINES_MAX {
            let text = format!("{lines} lines, at most {README_LINES_MAX} are allowed");
            findings.push(Finding::new("readme", &file.path, 1, text));
        }
        for (line, target) in links(&file.text) {
            if !leads_somewhere(tree, file, target) {
                let text = format!("`{target}` leads nowhere");
                findings.push(Finding::new("links", &file.path, line, text));
            }
        }
    }
    findings
}

fn places(file: &File, findings: &mut Vec<Finding>) {
    for (index, line) in file.text.lines().enumerate() {
        let starts_a_path = |(at, _): (usize, &str)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "._-}$~*/".contains(c))
        };
        if PLACES
            .iter()
            .any(|place| line.match_indices(place).any(starts_a_path))
        {
            let text = "a path of one machine: write it from the root of the workspace";
            findings.push(Finding::new("machine-path", &file.path, index + 1, text));
        }
    }
}

/// The targets of inline links and link definitions outside of code, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        for (at, _) in line.match_indices("](") {
            let is_code = line[..at].matches('`').count() % 2 == 1;
            let rest = &line[at + 2..];
            let end = rest.find([')', ' ']).unwrap_or(rest.len());
            if !is_code {
                found.push((index + 1, &rest[..end]));
            }
        }
        if let Some((_, target)) = line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]: "))
        {
            found.push((index + 1, target.split(' ').next().unwrap_or(target)));
        }
    }
    found
}

fn leads_somewhere(tree: &Tree, from: &File, target: &str) -> bool {
    let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
    // rustdoc resolves names of items by itself, and complains by itself.
    let is_item = target.contains("::");
    if is_elsewhere || is_item || target.is_empty() {
        return is_elsewhere || is_item;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let mut parts: Vec<&str> = from.path.split('/').collect();
    if !path.is_empty() {
        parts.pop();
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return false;
                }
            }
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let page = tree.file(&path).filter(|page| page.path.ends_with(".md"));
    match page {
        Some(page) if !anchor.is_empty() => anchors(&page.text).any(|other| other == anchor),
        _ => tree.has(&path),
    }
}

/// The anchors of the headings of a page, formed as the usual renderers form them.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::Tree;

    fn found(path: &str, text: &str) -> Vec<&'static str> {
        let files = [
            (path, text),
            ("docs/tour.md", "# The tour\n## A `stop`, or two\n"),
            ("crates/a/src/b.rs", ""),
        ];
        let findings = check(&Tree::of(&files));
        findings.iter().map(|finding| finding.slug).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let text = "# Here\n[a](docs/tour.md) [b](docs/tour.md#a-stop-or-two) [c](https://x.y)\n\
            [d](crates/a) [e](#here) [f](./docs/)\n`[g](nowhere)`\n```\n[h](nowhere)\n```\n";
        assert_eq!(found("README.md", text), [""; 0]);
        assert_eq!(
            found("docs/x.md", "[a](../crates/a/src/b.rs) [b](tour.md)"),
            [""; 0]
        );
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        assert_eq!(
            found("README.md", "[a](tour.md) [b](docs/tour.md#c) [d](../x)").len(),
            3
        );
        assert_eq!(found("README.md", "[a]: docs/none.md\n"), ["links"]);
    }

    #[test]
    fn long_readme_and_machine_paths_are_found() {
        assert_eq!(found("README.md", &"x\n".repeat(151)), ["readme"]);
        let place = super::PLACES[0];
        assert_eq!(
            found("docs/x.md", &format!("in `{place}me/x`")),
            ["machine-path"]
        );
        assert_eq!(found("docs/x.md", &format!("in `a{place}me/x`")), [""; 0]);
    }
}

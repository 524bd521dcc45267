//! Gathers claims, uses and witnesses from the files.

use super::{Claim, Claims, How, SLUG, Use, What, Witness};
use crate::tidy::Finding;
use crate::tidy::lex::{Comment, Doc, Kind};
use crate::tidy::source::{File, OUTSIDE, Role, Tree};

/// Gathers everything that names a claim.
pub(crate) fn collect(tree: &Tree) -> Claims {
    let mut claims = Claims::default();
    for file in tree.rust() {
        let Some(package) = file.package().filter(|name| !OUTSIDE.contains(name)) else {
            continue;
        };
        if file.role == Role::Shipped {
            header(file, package, &mut claims);
            misplaced(file, &mut claims);
            assertions(file, package, &mut claims);
        }
        reliance(file, package, &mut claims);
        witnesses(file, package, &mut claims);
    }
    claims
}

/// Whether `text` looks like `word.word`, lower case, with hyphens.
fn is_id(text: &str) -> bool {
    let mut parts = text.split('.');
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
    };
    text.contains('.') && parts.all(is_part)
}

const MARKS: [(&str, How); 3] = [
    ("SAFETY:", How::Safety),
    ("ORDERING:", How::Ordering),
    ("CLAIM:", How::Upheld),
];

/// The ids in brackets after a mark, with the numbers of their lines. A mark holds until the next
/// one or the end of the block, so that a long argument may name an edge where it comes to it.
fn named<'a>(block: &[&'a str]) -> Vec<(usize, How, &'a str)> {
    let mut found = Vec::new();
    let mut mark = None;
    for (number, line) in block.iter().enumerate() {
        for (at, _) in line.char_indices() {
            let rest = &line[at..];
            if let Some((_, how)) = MARKS.iter().find(|(text, _)| rest.starts_with(text)) {
                mark = Some(*how);
            }
            let list = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let (Some(how), Some((list, _))) = (mark, list) else {
                continue;
            };
            let ids = list.split(',').map(str::trim);
            if ids.clone().all(is_id) {
                found.extend(ids.map(|id| (number, how, id)));
            }
        }
    }
    found
}

/// Whether one of the comments, or all of them together, say `MARK: [id] reason`.
pub(super) fn names_claims(comments: &[&Comment], mark: &str) -> bool {
    let lines = comments.iter().map(|comment| comment.text.trim());
    let text: String = lines.flat_map(|line| [line, " "]).collect();
    let mut marks = text.match_indices(mark);
    marks.any(|(at, _)| {
        let rest = text[at + mark.len()..].trim_start();
        let bracket = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        bracket.is_some_and(|(ids, why)| {
            ids.split(',').map(str::trim).all(is_id) && why.trim().len() > 2
        })
    })
}

fn header(file: &File, package: &str, claims: &mut Claims) {
    let mut section = String::new();
    let mut last_blank = true;
    let lines = file
        .header()
        .flat_map(|c| c.text.lines().map(move |line| (c.line, line)));
    let lines: Vec<(usize, String)> = lines.map(|(line, text)| (line, text.to_owned())).collect();
    let whole = file
        .header()
        .filter(|c| c.text.is_empty())
        .map(|c| (c.line, String::new()));
    let mut lines: Vec<(usize, String)> = lines.into_iter().chain(whole).collect();
    lines.sort();
    for (line, text) in lines {
        if let Some(title) = text.strip_prefix("# ") {
            section = title.trim().to_lowercase();
        }
        let claim = |id: &str, what, text: &str| Claim {
            id: id.to_owned(),
            what,
            text: text.trim().to_owned(),
            package: package.to_owned(),
            path: file.path.clone(),
            line,
        };
        match section.as_str() {
            "invariants" if text.starts_with("- ") => match invariant(&text) {
                Some((id, text)) => claims.claims.push(claim(id, What::Invariant, text)),
                None => {
                    let text = "write invariants as `- **module.name** — statement`";
                    claims
                        .findings
                        .push(Finding::new(SLUG, &file.path, line, text));
                }
            },
            "invariants" if text.starts_with("  ") && !last_blank => {
                if let Some(last) = claims
                    .claims
                    .last_mut()
                    .filter(|last| last.path == file.path)
                {
                    last.text = format!("{} {}", last.text, text.trim());
                }
            }
            "edges" if text.starts_with('|') => match edge(&text) {
                Ok(Some((id, text))) => claims.claims.push(claim(id, What::Edge, &text)),
                Ok(None) => {}
                Err(text) => claims
                    .findings
                    .push(Finding::new(SLUG, &file.path, line, text)),
            },
            _ => {}
        }
        last_blank = text.is_empty();
    }
}

/// Claims in the docs of an item are read by nobody: say so.
fn misplaced(file: &File, claims: &mut Claims) {
    let docs = file.lexed.comments.iter().filter(|c| c.doc == Doc::Outer);
    for comment in docs.filter(|c| matches!(c.text.trim(), "# Invariants" | "# Edges")) {
        let text = "claims stand in the header of the file (`//!`), not in the docs of an item";
        let finding = Finding::new(SLUG, &file.path, comment.line, text);
        claims.findings.push(finding);
    }
}

/// `- **id** — statement`.
fn invariant(line: &str) -> Option<(&str, &str)> {
    let (id, rest) = line.strip_prefix("- **")?.split_once("**")?;
    let text = rest.trim_start_matches([' ', '—', '–', '-', ':']);
    (is_id(id) && !text.is_empty()).then_some((id, text))
}

/// A row of the table of edges; `None` for its head and its rule.
fn edge(line: &str) -> Result<Option<(&str, String)>, &'static str> {
    let cells: Vec<&str> = line
        .trim()
        .trim_matches('|')
        .split('|')
        .map(str::trim)
        .collect();
    let is_rule = cells
        .iter()
        .all(|cell| cell.chars().all(|c| "-: ".contains(c)));
    if is_rule || cells[0] == "edge" {
        return Ok(None);
    }
    let id = cells[0]
        .strip_prefix('`')
        .and_then(|cell| cell.strip_suffix('`'));
    match (id.filter(|id| is_id(id)), &cells[1..]) {
        (Some(id), [release, acquire, carries]) if !carries.is_empty() => {
            Ok(Some((id, format!("{release} → {acquire}: {carries}"))))
        }
        _ => Err("write edges as a row: `` `module.name` `` | release | acquire | carries"),
    }
}

/// SAFETY and ORDERING comments, block by block.
fn reliance(file: &File, package: &str, claims: &mut Claims) {
    let comments = file.lexed.comments.iter().filter(|c| c.doc == Doc::No);
    let comments: Vec<&Comment> = comments.collect();
    let goes_on = |a: &&Comment, b: &&Comment| a.alone && b.alone && b.line == a.end_line + 1;
    for block in comments.chunk_by(goes_on) {
        let lines: Vec<&str> = block.iter().map(|comment| comment.text.as_str()).collect();
        let tokens = file.tokens();
        let next = tokens.partition_point(|token| token.start < block[0].start);
        let is_shipped = file.is_shipped(next.min(tokens.len().saturating_sub(1)));
        for (number, how, id) in named(&lines) {
            claims.uses.push(Use {
                id: id.to_owned(),
                how: if is_shipped { how } else { How::Mention },
                package: package.to_owned(),
                path: file.path.clone(),
                line: block[number].line,
            });
        }
    }
}

/// Messages of assertions in shipped code that begin with an id.
fn assertions(file: &File, package: &str, claims: &mut Claims) {
    let mut at = 0;
    while at < file.tokens().len() {
        let name = file
            .word(at)
            .strip_prefix("debug_")
            .unwrap_or(file.word(at));
        let is_assertion = matches!(name, "assert" | "assert_eq" | "assert_ne");
        if !is_assertion || file.word(at + 1) != "!" || !file.is_shipped(at) {
            at += 1;
            continue;
        }
        let mut depth = 0_usize;
        at += 2;
        while at < file.tokens().len() {
            match file.word(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                text if file.tokens()[at].kind == Kind::Text => {
                    let message = text.trim_matches('"').split_once(": ");
                    if let Some((id, _)) = message.filter(|(id, _)| is_id(id)) {
                        claims.uses.push(Use {
                            id: id.to_owned(),
                            how: How::Assertion,
                            package: package.to_owned(),
                            path: file.path.clone(),
                            line: file.line(at),
                        });
                    }
                }
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
    }
}

fn witnesses(file: &File, package: &str, claims: &mut Claims) {
    let mut comments = file
        .lexed
        .comments
        .iter()
        .filter(|c| c.doc == Doc::No)
        .peekable();
    while let Some(comment) = comments.next() {
        let Some(first) = comment.text.strip_prefix("WITNESS:") else {
            continue;
        };
        let mut list = first.trim().to_owned();
        while list.ends_with(',') {
            let Some(more) = comments.next() else { break };
            list = format!("{list} {}", more.text.trim());
        }
        let next = file
            .tokens()
            .partition_point(|token| token.start < comment.start);
        let mut items = file.outline.items.iter();
        let test = items.find(|item| {
            let stands_here = item.first <= next && next <= item.at;
            item.keyword == "fn" && stands_here && item.attributes.iter().any(|a| is_test(a))
        });
        let Some(test) = test else {
            let text = "a witness stands above a `#[test]`";
            claims
                .findings
                .push(Finding::new(SLUG, &file.path, comment.line, text));
            continue;
        };
        let (binary, mut path) = module_of(&file.path);
        path.extend(
            file.outline
                .modules_of(test.scope)
                .into_iter()
                .map(str::to_owned),
        );
        // A printed form is wrong: it is a witness of nothing.
        let is_red_model = tool_of(&file.path) == "loom" && test.name.starts_with("printed_");
        if is_red_model || path.iter().any(|part| part == "printed") {
            let text = "a printed form witnesses nothing: `// CORRECTION: n` names its row";
            claims
                .findings
                .push(Finding::new(SLUG, &file.path, comment.line, text));
            continue;
        }
        path.push(test.name.clone());
        for id in list.split(',').map(str::trim).filter(|id| !id.is_empty()) {
            claims.witnesses.push(Witness {
                id: id.to_owned(),
                package: package.to_owned(),
                path: file.path.clone(),
                line: comment.line,
                test: path.join("::"),
                binary: binary.clone(),
                tool: tool_of(&file.path),
            });
        }
    }
}

fn is_test(attribute: &str) -> bool {
    let name = attribute.split('(').next().unwrap_or(attribute);
    name == "test" || name.ends_with("::test")
}

/// The test binary that a file is part of (`None`: the unit tests), and its module path.
pub(crate) fn module_of(path: &str) -> (Option<String>, Vec<String>) {
    let mut parts: Vec<&str> = path.split('/').skip(2).collect();
    let stem = parts.pop().and_then(|name| name.strip_suffix(".rs"));
    parts.extend(stem);
    let mut parts = parts.into_iter();
    let binary = match parts.next() {
        Some("tests") => parts.next().map(str::to_owned),
        _ => None,
    };
    let names = parts.filter(|name| !matches!(*name, "lib" | "main"));
    (binary, names.map(str::to_owned).collect())
}

fn tool_of(path: &str) -> &'static str {
    let tests = path.split("/tests/").nth(1).unwrap_or("");
    let name = tests.split(['/', '.']).next().unwrap_or("");
    match name {
        _ if name.starts_with("loom") => "loom",
        _ if name.starts_with("shuttle") => "shuttle",
        "props" | "prop" | "model" => "property",
        _ if path.split('/').nth(2) == Some("tests") => "integration",
        _ => "unit",
    }
}

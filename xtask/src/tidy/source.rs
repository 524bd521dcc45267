//! The files that the rules look at.
//!
//! The rules are functions over a [`Tree`], so that their tests can make one from strings.

use super::lex::{Comment, Doc, Kind as TokenKind, Lexed, Token, lex};
use super::outline::{Outline, outline};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// What a file is for, told from where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// `crates/*/src`, tests excepted: what users run.
    Shipped,
    /// Compiled for tests only.
    Test,
    /// Examples and benchmarks.
    Example,
    /// xtask, build scripts, and the workspaces of their own.
    Tool,
    /// Not Rust.
    Other,
}

/// Workspaces of their own below `crates/`: they compare or connect, and are not published.
pub(crate) const OUTSIDE: [&str; 2] = ["mainspring-bench", "mainspring-interop"];

/// A file of the workspace.
#[derive(Debug)]
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) role: Role,
    pub(crate) lexed: Lexed,
    pub(crate) outline: Outline,
}

impl File {
    pub(crate) fn new(path: &str, text: String) -> Self {
        let role = role(path);
        let lexed = if role == Role::Other {
            Lexed::default()
        } else {
            lex(&text)
        };
        let outline = outline(&text, &lexed, role == Role::Test);
        Self {
            path: path.to_owned(),
            text,
            role,
            lexed,
            outline,
        }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.role != Role::Other
    }

    pub(crate) fn tokens(&self) -> &[Token] {
        &self.lexed.tokens
    }

    /// The text of a token, empty outside the file.
    pub(crate) fn word(&self, token: usize) -> &str {
        let token = self.lexed.tokens.get(token);
        token.map_or("", |token| &self.text[token.start..token.end])
    }

    pub(crate) fn line(&self, token: usize) -> usize {
        self.lexed.tokens.get(token).map_or(0, |token| token.line)
    }

    /// Whether the tokens from `at` on spell `words`.
    pub(crate) fn spells(&self, at: usize, words: &[&str]) -> bool {
        let mut words = words.iter().enumerate();
        words.all(|(offset, word)| self.word(at + offset) == *word)
    }

    pub(crate) fn is_ident(&self, token: usize) -> bool {
        let token = self.lexed.tokens.get(token);
        token.is_some_and(|token| token.kind == TokenKind::Ident)
    }

    /// Whether a token is part of what users run.
    pub(crate) fn is_shipped(&self, token: usize) -> bool {
        self.role == Role::Shipped && !self.outline.is_test(token)
    }

    /// The name of the folder below `crates/`, if the file stands in one.
    pub(crate) fn package(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// The text of the header: the leading inner doc comments, one line each.
    pub(crate) fn header(&self) -> impl Iterator<Item = &Comment> {
        let first = self.lexed.tokens.first().map_or(usize::MAX, |t| t.start);
        let comments = self.lexed.comments.iter();
        comments.filter(move |c| c.doc == Doc::Inner && c.start < first)
    }

    /// The block of ordinary comments that ends on the line above `line`, first line first.
    pub(crate) fn block_above(&self, line: usize) -> Vec<&Comment> {
        let mut block = Vec::new();
        let mut wanted = line.saturating_sub(1);
        for comment in self.lexed.comments.iter().rev() {
            if comment.end_line > wanted {
                continue;
            }
            if comment.end_line < wanted || !comment.alone || comment.doc != Doc::No {
                break;
            }
            block.push(comment);
            wanted = comment.line.saturating_sub(1);
        }
        block.reverse();
        block
    }

    /// The comments that speak about a token: the block above its line, the block above its
    /// statement, and whatever stands between the statement's beginning and the end of its line.
    pub(crate) fn remarks(&self, token: usize) -> Vec<&Comment> {
        let line = self.line(token);
        let mut found = Vec::new();
        let mut head = token;
        // A closure's or a loop's first statement is the concern of what stands around it, too,
        // only where both begin on one line.
        loop {
            let next = self.outline.head_of.get(head).copied().unwrap_or(head);
            let begins = self.line(next);
            found.extend(self.block_above(begins));
            let between = self.lexed.comments.iter();
            found
                .extend(between.filter(|c| c.doc == Doc::No && begins <= c.line && c.line <= line));
            let before = next.saturating_sub(1);
            if next == 0 || self.line(before) != begins || before == head {
                break;
            }
            head = before;
        }
        found.extend(self.block_above(line));
        found.sort_by_key(|comment| comment.start);
        found.dedup_by_key(|comment| comment.start);
        found
    }

    /// Whether a remark about a token begins with `mark` and says something after it.
    pub(crate) fn is_excused(&self, token: usize, mark: &str) -> bool {
        let mut remarks = self.remarks(token).into_iter();
        remarks.any(|c| {
            c.text
                .strip_prefix(mark)
                .is_some_and(|why| why.trim().len() > 2)
        })
    }
}

fn role(path: &str) -> Role {
    if !path.ends_with(".rs") {
        return Role::Other;
    }
    let parts: Vec<&str> = path.split('/').collect();
    let is_outside = matches!(parts[..], ["crates", package, ..] if OUTSIDE.contains(&package));
    let has = |name: &str| parts.contains(&name);
    if has("tests") || has("tests.rs") {
        Role::Test
    } else if has("examples") || has("benches") {
        Role::Example
    } else if matches!(parts[..], ["crates", _, "src", ..]) && !is_outside {
        Role::Shipped
    } else {
        Role::Tool
    }
}

/// All files of the workspace that somebody may have an opinion about, by path.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, File>,
    /// Files that are there but not read: pictures, locks, binaries.
    unread: Vec<String>,
}

/// The endings of the files that are read.
const READ: [&str; 6] = [".rs", ".toml", ".md", ".txt", ".patch", "/run"];

impl Tree {
    /// Reads the workspace at `root`.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.walk(root, "")?;
        Ok(tree)
    }

    fn walk(&mut self, dir: &Path, below: &str) -> io::Result<()> {
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{below}{name}");
            if entry.file_type()?.is_dir() {
                let is_hidden = name.starts_with('.') && name != ".ci" && name != ".cargo";
                if name != "target" && !is_hidden {
                    self.walk(&entry.path(), &format!("{path}/"))?;
                }
            } else if READ.iter().any(|ending| path.ends_with(ending)) {
                let text = std::fs::read_to_string(entry.path())?;
                self.insert(&path, text);
            } else {
                self.unread.push(path);
            }
        }
        Ok(())
    }

    pub(crate) fn insert(&mut self, path: &str, text: String) {
        self.files.insert(path.to_owned(), File::new(path, text));
    }

    /// A tree made of strings.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let mut tree = Self::default();
        for (path, text) in files {
            tree.insert(path, (*text).to_owned());
        }
        tree
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.values()
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.values().filter(|file| file.is_rust())
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// Whether a file or a directory stands at `path`.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        let below = |other: &String| other == path || other.starts_with(&folder);
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.keys().any(below)
            || self.unread.iter().any(below)
    }

    /// The folders below `crates/` that have a manifest, with it; not the workspaces of their own.
    pub(crate) fn packages(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.values().filter_map(|file| {
            let name = file
                .path
                .strip_prefix("crates/")?
                .strip_suffix("/Cargo.toml")?;
            let is_inside = !name.contains('/') && !OUTSIDE.contains(&name);
            is_inside.then_some((name, file))
        })
    }
}

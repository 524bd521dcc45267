//! Splits Rust source into tokens and comments, which is all that the rules need of the language.
//!
//! It knows line and nested block comments, the string forms (plain, byte, C, raw), character
//! literals and lifetimes. It never fails: whatever it does not know is a one-byte token, because
//! the compiler, which runs beside tidy, says better what is wrong with a file.
//!
//! # Rejected
//!
//! A real parser (`syn`): it drops ordinary comments, which is where the claims stand, and it
//! would be the only third-party code that a build of the automation has to wait for.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or keyword.
    Ident,
    /// `'a`.
    Lifetime,
    /// A string in any of its forms.
    Text,
    /// A character or a number.
    Plain,
    /// Punctuation: one byte, or one of `::`, `->`, `=>`.
    Punct,
}

/// A piece of code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Counted from one.
    pub(crate) line: usize,
}

/// Whom a comment documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doc {
    /// Nobody.
    No,
    /// What follows: `///`.
    Outer,
    /// What it stands in: `//!`.
    Inner,
}

/// A comment without its markers.
#[derive(Clone, Debug)]
pub(crate) struct Comment {
    pub(crate) doc: Doc,
    pub(crate) text: String,
    pub(crate) start: usize,
    pub(crate) line: usize,
    pub(crate) end_line: usize,
    /// Nothing but blanks stands before it on its line.
    pub(crate) alone: bool,
}

/// A file taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    pub(crate) comments: Vec<Comment>,
}

/// Takes `source` apart.
pub(crate) fn lex(source: &str) -> Lexed {
    let mut lexer = Lexer {
        source,
        bytes: source.as_bytes(),
        at: 0,
        line: 1,
        line_start: 0,
        out: Lexed::default(),
    };
    while lexer.at < lexer.bytes.len() {
        lexer.step();
    }
    lexer.out
}

struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: usize,
    line_start: usize,
    out: Lexed,
}

impl Lexer<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn step(&mut self) {
        let byte = self.byte(0);
        match byte {
            b'\n' => self.bump(1),
            _ if byte.is_ascii_whitespace() => self.bump(1),
            b'/' if self.byte(1) == b'/' => self.line_comment(),
            b'/' if self.byte(1) == b'*' => self.block_comment(),
            b'"' => self.token(Kind::Text, |lexer| lexer.quoted(b'"')),
            b'\'' => self.quote(),
            b'0'..=b'9' => self.token(Kind::Plain, Self::number),
            _ if is_name(byte) => self.name(),
            _ => self.punct(),
        }
    }

    /// Moves over `count` bytes and counts the lines among them.
    fn bump(&mut self, count: usize) {
        for _ in 0..count {
            if self.byte(0) == b'\n' {
                self.line += 1;
                self.line_start = self.at + 1;
            }
            self.at += 1;
        }
        self.at = self.at.min(self.bytes.len());
    }

    fn token(&mut self, kind: Kind, body: impl FnOnce(&mut Self)) {
        let (start, line) = (self.at, self.line);
        body(self);
        self.out.tokens.push(Token {
            kind,
            start,
            end: self.at,
            line,
        });
    }

    fn comment(&mut self, doc: Doc, from: usize, line: usize, alone: bool, until: usize) {
        let skip = if doc == Doc::No { 2 } else { 3 };
        let body = self.source.get(from + skip..until).unwrap_or("");
        self.out.comments.push(Comment {
            doc,
            text: body.strip_prefix(' ').unwrap_or(body).to_owned(),
            start: from,
            line,
            end_line: self.line,
            alone,
        });
    }

    fn alone(&self) -> bool {
        self.bytes[self.line_start..self.at]
            .iter()
            .all(u8::is_ascii_whitespace)
    }

    fn line_comment(&mut self) {
        let (from, line, alone) = (self.at, self.line, self.alone());
        while self.at < self.bytes.len() && self.byte(0) != b'\n' {
            self.at += 1;
        }
        let text = &self.source[from..self.at];
        let doc = if text.starts_with("//!") {
            Doc::Inner
        } else if text.starts_with("///") && !text.starts_with("////") {
            Doc::Outer
        } else {
            Doc::No
        };
        self.comment(doc, from, line, alone, self.at);
    }

    fn block_comment(&mut self) {
        let (from, line, alone) = (self.at, self.line, self.alone());
        let mut depth = 0_usize;
        while self.at < self.bytes.len() {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.bump(2);
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.bump(2);
                    if depth == 0 {
                        break;
                    }
                }
                _ => self.bump(1),
            }
        }
        let text = &self.source[from..self.at];
        let doc = if text.starts_with("/*!") {
            Doc::Inner
        } else if text.starts_with("/**") && !text.starts_with("/***") && text != "/**/" {
            Doc::Outer
        } else {
            Doc::No
        };
        self.comment(doc, from, line, alone, self.at.saturating_sub(2));
    }

    /// Moves over what stands between two `mark`s, with backslash escapes.
    fn quoted(&mut self, mark: u8) {
        self.bump(1);
        while self.at < self.bytes.len() {
            match self.byte(0) {
                b'\\' => self.bump(2),
                byte if byte == mark => return self.bump(1),
                _ => self.bump(1),
            }
        }
    }

    /// Moves over a raw string that starts here with `#`s or a quote. Whether it was one.
    fn raw(&mut self) -> bool {
        let mut hashes = 0;
        while self.byte(hashes) == b'#' {
            hashes += 1;
        }
        if self.byte(hashes) != b'"' {
            return false;
        }
        self.bump(hashes + 1);
        while self.at < self.bytes.len() {
            let closes = self.byte(0) == b'"' && (1..=hashes).all(|at| self.byte(at) == b'#');
            self.bump(1);
            if closes {
                self.bump(hashes);
                break;
            }
        }
        true
    }

    /// A character literal or a lifetime.
    fn quote(&mut self) {
        let rest = &self.source[self.at + 1..];
        let mut chars = rest.chars();
        let first = chars.next().unwrap_or(' ');
        if first == '\\' || chars.next() == Some('\'') {
            return self.token(Kind::Plain, |lexer| lexer.quoted(b'\''));
        }
        self.token(Kind::Lifetime, |lexer| {
            lexer.bump(1);
            lexer.word();
        });
    }

    fn number(&mut self) {
        self.word();
        if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.bump(1);
            self.word();
        }
    }

    fn word(&mut self) {
        while is_name(self.byte(0)) {
            self.at += 1;
        }
    }

    /// A name, or a string with a prefix.
    fn name(&mut self) {
        let (start, line) = (self.at, self.line);
        self.word();
        let kind = match &self.source[start..self.at] {
            "b" | "c" if self.byte(0) == b'"' => {
                self.quoted(b'"');
                Kind::Text
            }
            "b" if self.byte(0) == b'\'' => {
                self.quoted(b'\'');
                Kind::Plain
            }
            "r" | "br" | "cr" if self.raw() => Kind::Text,
            "r" if self.byte(0) == b'#' && is_name(self.byte(1)) => {
                self.bump(1);
                self.word();
                Kind::Ident
            }
            _ => Kind::Ident,
        };
        self.out.tokens.push(Token {
            kind,
            start,
            end: self.at,
            line,
        });
    }

    fn punct(&mut self) {
        let pair = [self.byte(0), self.byte(1)];
        let length = if matches!(&pair, b"::" | b"->" | b"=>") {
            2
        } else {
            1
        };
        self.token(Kind::Punct, |lexer| lexer.bump(length));
    }
}

fn is_name(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
}

#[cfg(test)]
mod tests;

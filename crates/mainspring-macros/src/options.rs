//! What stands between the parentheses of an attribute.

use crate::token::{Bracket, Problem, Token, Tree};

/// Which of the attributes it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attribute {
    Main,
    Test,
}

impl Attribute {
    /// What messages call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Main => "`#[mainspring::main]`",
            Self::Test => "`#[mainspring::test]`",
        }
    }

    /// The options that it has, for messages.
    fn options(self) -> &'static str {
        match self {
            Self::Main => {
                "`workers = 4`, `flavor = \"multi\" | \"local\"` and \
                 `backend = \"auto\" | \"uring\" | \"poll\"`"
            }
            Self::Test => {
                "`paused`, `workers = 4`, `flavor = \"multi\" | \"local\"` and \
                 `backend = \"auto\" | \"uring\" | \"poll\"`"
            }
        }
    }
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) flavor: Flavor,
    /// How many workers, if it was said.
    pub(crate) workers: Option<usize>,
    /// One of [`BACKENDS`].
    pub(crate) backend: Option<&'static str>,
    /// Whether time stands still.
    pub(crate) paused: bool,
}

/// On how many threads it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavor {
    /// On one, which is the caller's.
    Local,
    /// On several workers.
    Multi,
}

impl Options {
    /// What is meant when nothing is said.
    pub(crate) fn of(attribute: Attribute) -> Self {
        Self {
            flavor: match attribute {
                Attribute::Main => Flavor::Multi,
                Attribute::Test => Flavor::Local,
            },
            workers: None,
            backend: None,
            paused: false,
        }
    }
}

const BACKENDS: [&str; 3] = ["auto", "uring", "poll"];

/// The most workers that a runtime may have.
const WORKERS_MAX: usize = 4096;

/// Reads the options, as far as they can be read, and all that is wrong with them.
pub(crate) fn parse<S: Copy>(
    attribute: Attribute,
    tokens: &[Token<S>],
) -> (Options, Vec<Problem<S>>) {
    let mut reader = Reader {
        attribute,
        options: Options::of(attribute),
        flavor: None,
        workers: None,
        seen: Vec::new(),
        problems: Vec::new(),
    };
    for option in tokens.split(|token| token.is_sign(',')) {
        reader.option(option);
    }
    reader.agree();
    (reader.options, reader.problems)
}

struct Reader<S> {
    attribute: Attribute,
    options: Options,
    /// What was asked for, and where.
    flavor: Option<(Flavor, S)>,
    workers: Option<S>,
    seen: Vec<String>,
    problems: Vec<Problem<S>>,
}

impl<S: Copy> Reader<S> {
    /// Reads one option: `name` or `name = "value"`. Nothing is what a trailing comma leaves.
    fn option(&mut self, tokens: &[Token<S>]) {
        let Some((first, rest)) = tokens.split_first() else {
            return;
        };
        let Tree::Word(name) = &first.tree else {
            let message = format!(
                "expected an option, found `{}`: there are {}",
                first.text(),
                self.attribute.options()
            );
            return self.wrong(first.span, message);
        };
        if self.seen.contains(name) {
            return self.wrong(first.span, format!("`{name}` is given twice"));
        }
        self.seen.push(name.clone());
        match name.as_str() {
            "backend" => self.backend(first, rest),
            "flavor" => self.flavor(first, rest),
            "paused" => self.paused(first, rest),
            "workers" => self.workers(first, rest),
            _ => {
                let there_are = self.attribute.options();
                let message = format!("there is no option `{name}`: there are {there_are}");
                self.wrong(first.span, message);
            }
        }
    }

    fn backend(&mut self, name: &Token<S>, rest: &[Token<S>]) {
        let Some((value, span)) = self.value(name, rest) else {
            return;
        };
        match BACKENDS.into_iter().find(|backend| *backend == value) {
            Some(backend) => self.options.backend = Some(backend),
            None => {
                let message = format!(
                    "there is no backend {value:?}: there are \"auto\", \"uring\" and \"poll\""
                );
                self.wrong(span, message);
            }
        }
    }

    fn flavor(&mut self, name: &Token<S>, rest: &[Token<S>]) {
        let Some((value, span)) = self.value(name, rest) else {
            return;
        };
        match value.as_str() {
            "local" => self.flavor = Some((Flavor::Local, span)),
            "multi" => self.flavor = Some((Flavor::Multi, span)),
            _ => self.wrong(
                span,
                format!("there is no flavor {value:?}: there are \"multi\" and \"local\""),
            ),
        }
    }

    fn workers(&mut self, name: &Token<S>, rest: &[Token<S>]) {
        let [equals, value] = rest else {
            let span = rest.get(2).unwrap_or(name).span;
            return self.wrong(span, "`workers` has a value: `workers = 4`");
        };
        self.workers = Some(name.span);
        match number(value).filter(|_| equals.is_sign('=')) {
            Some(workers @ 1..=WORKERS_MAX) => self.options.workers = Some(workers),
            Some(workers) => {
                let message = format!("there are 1 to {WORKERS_MAX} workers, not {workers}");
                self.wrong(value.span, message);
            }
            None => self.wrong(value.span, "the value is a number: `workers = 4`"),
        }
    }

    /// Everything was read: what does not go together?
    fn agree(&mut self) {
        let flavor = match (self.flavor, self.workers) {
            (Some((Flavor::Local, _)), Some(workers)) => {
                let message = "`flavor = \"local\"` is one thread: leave `workers` out, or the \
                               flavor";
                self.wrong(workers, message);
                Flavor::Local
            }
            (Some((flavor, _)), _) => flavor,
            (None, Some(_)) => Flavor::Multi,
            (None, None) => self.options.flavor,
        };
        self.options.flavor = flavor;
    }

    fn paused(&mut self, name: &Token<S>, rest: &[Token<S>]) {
        if self.attribute == Attribute::Main {
            let message = "time is paused in tests only: `paused` belongs to `#[mainspring::test]`";
            return self.wrong(name.span, message);
        }
        match rest.first() {
            None => self.options.paused = true,
            Some(token) => self.wrong(token.span, "`paused` has no value: it stands alone"),
        }
    }

    /// The string after `name =`, and its place.
    fn value(&mut self, name: &Token<S>, rest: &[Token<S>]) -> Option<(String, S)> {
        let [equals, value] = rest else {
            let span = rest.get(2).unwrap_or(name).span;
            self.wrong(
                span,
                format!("`{0}` has a value: `{0} = \"..\"`", name.text()),
            );
            return None;
        };
        match string(value).filter(|_| equals.is_sign('=')) {
            Some(text) => Some((text, value.span)),
            None => {
                let message = format!("the value is a string: `{} = \"..\"`", name.text());
                self.wrong(value.span, message);
                None
            }
        }
    }

    fn wrong(&mut self, span: S, message: impl Into<String>) {
        self.problems.push(Problem::new(Some(span), message));
    }
}

/// What a string literal says, if it says it without escapes: no option's value needs one.
fn string<S>(token: &Token<S>) -> Option<String> {
    match &token.tree {
        Tree::Literal(literal) => {
            let inside = literal.strip_prefix('"')?.strip_suffix('"')?;
            Some(inside.to_owned())
        }
        Tree::Group(Bracket::Invisible, inside) => match &inside[..] {
            [only] => string(only),
            _ => None,
        },
        _ => None,
    }
}

/// The number that a literal without a type says. A bigger one is too big for every option.
fn number<S>(token: &Token<S>) -> Option<usize> {
    match &token.tree {
        Tree::Literal(literal) => {
            let is_digits = literal
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'_'));
            let digits = Some(literal.replace('_', "")).filter(|_| is_digits)?;
            Some(digits.parse().unwrap_or(usize::MAX))
        }
        Tree::Group(Bracket::Invisible, inside) => match &inside[..] {
            [only] => number(only),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;

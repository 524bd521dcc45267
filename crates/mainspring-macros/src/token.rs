//! Token trees as plain data.
//!
//! The compiler's own exist only while a macro runs. These carry a span of any type, so that the
//! parsers run in unit tests too.

/// Which brackets a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bracket {
    /// `( )`
    Round,
    /// `[ ]`
    Square,
    /// `{ }`
    Curly,
    /// None that can be seen: what a declarative macro passed on as one piece.
    Invisible,
}

/// One token tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree<S> {
    Word(String),
    Sign(char),
    /// As it is written, with its quotes.
    Literal(String),
    Group(Bracket, Vec<Token<S>>),
}

/// One token tree and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<S> {
    pub(crate) tree: Tree<S>,
    pub(crate) span: S,
}

impl<S> Token<S> {
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(&self.tree, Tree::Word(this) if this == word)
    }

    pub(crate) fn is_sign(&self, sign: char) -> bool {
        matches!(self.tree, Tree::Sign(this) if this == sign)
    }

    pub(crate) fn group(&self, bracket: Bracket) -> Option<&[Token<S>]> {
        match &self.tree {
            Tree::Group(this, inside) if *this == bracket => Some(inside),
            _ => None,
        }
    }

    /// As it would be written, groups shortened: for messages.
    pub(crate) fn text(&self) -> String {
        match &self.tree {
            Tree::Word(text) | Tree::Literal(text) => text.clone(),
            Tree::Sign(sign) => sign.to_string(),
            Tree::Group(Bracket::Round, _) => "(..)".to_owned(),
            Tree::Group(Bracket::Square, _) => "[..]".to_owned(),
            Tree::Group(Bracket::Curly, _) => "{..}".to_owned(),
            Tree::Group(Bracket::Invisible, inside) => {
                inside.iter().map(Self::text).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// What is wrong with the user's code, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem<S> {
    /// `None`: at the attribute itself.
    pub(crate) span: Option<S>,
    pub(crate) message: String,
}

impl<S> Problem<S> {
    pub(crate) fn new(span: Option<S>, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

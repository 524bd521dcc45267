//! Which item or body each token of a file stands in, and what the items are called.
//!
//! One pass over the tokens keeps a stack of open braces. What stands between the last boundary
//! (`;`, `,`, `{` or `}` at brace level) and an opening brace decides what the brace opens.

use super::lex::{Kind, Lexed, Token};

/// What a pair of braces belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    /// The whole file.
    File,
    /// An item with this keyword: `fn`, `mod`, `impl`, `struct`, …
    Item(&'static str),
    /// Anything else: a block, a match, a literal, a macro.
    Block,
}

/// A pair of braces, or the file.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) opens: Opens,
    pub(crate) parent: usize,
    /// Inside a function's body, at any depth.
    pub(crate) in_body: bool,
    /// Inside something that is compiled for tests only.
    pub(crate) test: bool,
    /// The item that opened it, as an index into [`Outline::items`].
    pub(crate) item: Option<usize>,
}

/// An item.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) keyword: &'static str,
    pub(crate) name: String,
    /// Exactly `pub`, without a restriction.
    pub(crate) is_public: bool,
    pub(crate) is_async: bool,
    /// The first token, attributes included.
    pub(crate) first: usize,
    /// The token of the keyword.
    pub(crate) at: usize,
    /// The token of the brace that opens its body, or of the semicolon that ends it.
    pub(crate) open: usize,
    /// The last token.
    pub(crate) last: usize,
    /// Its attributes, without blanks: `cfg(test)`.
    pub(crate) attributes: Vec<String>,
    /// The scope in which it stands.
    pub(crate) scope: usize,
}

/// The scopes and items of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) items: Vec<Item>,
    /// For each token, the scope in which it stands; a brace stands in the one it opens or closes.
    pub(crate) scope_of: Vec<usize>,
    /// For each token, the first one of its statement, field, arm or item.
    pub(crate) head_of: Vec<usize>,
}

impl Outline {
    /// The innermost function around a token.
    pub(crate) fn function_of(&self, token: usize) -> Option<&Item> {
        let mut scope = *self.scope_of.get(token)?;
        while scope != 0 {
            let here = &self.scopes[scope];
            if let Some(item) = here.item.map(|item| &self.items[item]) {
                if item.keyword == "fn" {
                    return Some(item);
                }
            }
            scope = here.parent;
        }
        None
    }

    /// The inline modules around a scope, outermost first.
    pub(crate) fn modules_of(&self, mut scope: usize) -> Vec<&str> {
        let mut path = Vec::new();
        while scope != 0 {
            let here = &self.scopes[scope];
            if let Some(item) = here.item.map(|item| &self.items[item]) {
                if item.keyword == "mod" {
                    path.push(item.name.as_str());
                }
            }
            scope = here.parent;
        }
        path.reverse();
        path
    }

    /// The items around a token, innermost first.
    pub(crate) fn around(&self, token: usize) -> impl Iterator<Item = &Item> {
        let mut scope = self.scope_of.get(token).copied().unwrap_or(0);
        std::iter::from_fn(move || {
            while scope != 0 {
                let here = &self.scopes[scope];
                scope = here.parent;
                if let Some(item) = here.item {
                    return Some(&self.items[item]);
                }
            }
            None
        })
    }

    /// Whether a token is compiled for tests only.
    pub(crate) fn is_test(&self, token: usize) -> bool {
        let scope = self.scope_of.get(token).copied().unwrap_or(0);
        self.scopes[scope].test
    }
}

const KEYWORDS: [&str; 14] = [
    "fn",
    "mod",
    "impl",
    "struct",
    "enum",
    "union",
    "trait",
    "use",
    "type",
    "static",
    "const",
    "macro_rules",
    "extern",
    "macro",
];

/// Outlines a file. `test` says that the whole file is compiled for tests only.
pub(crate) fn outline(source: &str, lexed: &Lexed, test: bool) -> Outline {
    let mut walk = Walk {
        source,
        tokens: &lexed.tokens,
        out: Outline::default(),
        stack: vec![Open {
            scope: 0,
            parens: 0,
            head: 0,
        }],
        head: 0,
    };
    walk.out.scopes.push(Scope {
        opens: Opens::File,
        parent: 0,
        in_body: false,
        test,
        item: None,
    });
    walk.run();
    walk.out
}

struct Open {
    scope: usize,
    /// Round and square brackets that are open inside the braces.
    parens: usize,
    /// The beginning of the statement that the braces are part of.
    head: usize,
}

struct Walk<'a> {
    source: &'a str,
    tokens: &'a [Token],
    out: Outline,
    stack: Vec<Open>,
    head: usize,
}

/// What stands at the beginning of an item.
struct Head {
    keyword: &'static str,
    name: String,
    at: usize,
    is_public: bool,
    is_async: bool,
    attributes: Vec<String>,
}

impl Walk<'_> {
    fn text(&self, token: usize) -> &str {
        self.tokens
            .get(token)
            .map_or("", |token| &self.source[token.start..token.end])
    }

    fn run(&mut self) {
        for token in 0..self.tokens.len() {
            let (scope, parens) = self.stack.last().map_or((0, 0), |o| (o.scope, o.parens));
            self.out.scope_of.push(scope);
            self.out.head_of.push(self.head);
            if self.tokens[token].kind != Kind::Punct {
                continue;
            }
            match (self.text(token), parens) {
                ("(" | "[", _) => self.nest(parens + 1),
                (")" | "]", _) => {
                    self.nest(parens.saturating_sub(1));
                    let is_inner = self.text(self.head) == "#" && self.text(self.head + 1) == "!";
                    if is_inner && self.text(token) == "]" {
                        self.head = token + 1;
                    }
                }
                ("{", _) => self.open(token),
                ("}", _) => self.close(token),
                (";", 0) => {
                    self.declare(token);
                    self.head = token + 1;
                }
                (",", 0) => self.head = token + 1,
                _ => {}
            }
        }
    }

    fn nest(&mut self, parens: usize) {
        if let Some(open) = self.stack.last_mut() {
            open.parens = parens;
        }
    }

    fn open(&mut self, token: usize) {
        let parent = self.stack.last().map_or(0, |open| open.scope);
        let in_parens = self.stack.last().is_some_and(|open| open.parens > 0);
        let head = if in_parens { None } else { self.item_head() };
        let outer = &self.out.scopes[parent];
        let mut scope = Scope {
            opens: Opens::Block,
            parent,
            in_body: outer.in_body,
            test: outer.test,
            item: None,
        };
        if let Some(head) = head {
            scope.opens = Opens::Item(head.keyword);
            scope.in_body |= head.keyword == "fn";
            scope.test |= is_test_only(&head.attributes);
            scope.item = Some(self.out.items.len());
            self.push_item(head, parent, token, token);
        }
        let index = self.out.scopes.len();
        self.out.scopes.push(scope);
        self.out.scope_of[token] = index;
        self.stack.push(Open {
            scope: index,
            parens: 0,
            head: self.head,
        });
        self.head = token + 1;
    }

    fn close(&mut self, token: usize) {
        if self.stack.len() == 1 {
            return;
        }
        let Some(open) = self.stack.pop() else { return };
        let scope = &self.out.scopes[open.scope];
        if let Some(item) = scope.item {
            self.out.items[item].last = token;
        }
        // `use a::{b, c};` goes on after its braces, and so does a call around a closure.
        let goes_on = scope.opens == Opens::Item("use")
            || self.stack.last().is_some_and(|open| open.parens > 0);
        self.out.scope_of[token] = open.scope;
        self.head = if goes_on { open.head } else { token + 1 };
    }

    /// Notes an item that ends in a semicolon, or the end of a use that began before its braces.
    fn declare(&mut self, token: usize) {
        if let Some(item) = self.out.items.last_mut().filter(|i| i.first == self.head) {
            item.last = token;
            return;
        }
        let scope = self.stack.last().map_or(0, |open| open.scope);
        if let Some(head) = self.item_head() {
            self.push_item(head, scope, token, token);
        }
    }

    fn push_item(&mut self, head: Head, scope: usize, open: usize, last: usize) {
        self.out.items.push(Item {
            keyword: head.keyword,
            name: head.name,
            is_public: head.is_public,
            is_async: head.is_async,
            first: self.head,
            at: head.at,
            open,
            last,
            attributes: head.attributes,
            scope,
        });
    }

    fn item_head(&self) -> Option<Head> {
        item_head(self.source, self.tokens, self.head)
    }
}

/// Whether attributes keep an item out of every build but that of tests.
fn is_test_only(attributes: &[String]) -> bool {
    attributes.iter().any(|attribute| {
        attribute == "test"
            || attribute == "cfg(test)"
            || attribute.starts_with("cfg(all(test,") && !attribute.contains("any(")
    })
}

/// Moves over the attributes at `at` and returns them without blanks.
pub(crate) fn attributes(source: &str, tokens: &[Token], at: &mut usize) -> Vec<String> {
    let text = |token: usize| {
        let token: Option<&Token> = tokens.get(token);
        token.map_or("", |token| &source[token.start..token.end])
    };
    let mut found = Vec::new();
    while text(*at) == "#" && text(*at + 1) == "[" {
        let mut depth = 0_usize;
        let mut words = String::new();
        *at += 1;
        while *at < tokens.len() {
            let word = text(*at);
            *at += 1;
            match word {
                "[" => depth += 1,
                "]" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            words.push_str(word);
        }
        found.push(words.split_off(1));
    }
    found
}

/// Reads the beginning of an item at `first`, attributes included.
fn item_head(source: &str, tokens: &[Token], first: usize) -> Option<Head> {
    let text = |token: usize| {
        let token: Option<&Token> = tokens.get(token);
        token.map_or("", |token| &source[token.start..token.end])
    };
    let mut at = first;
    let attributes = attributes(source, tokens, &mut at);
    let mut is_public = false;
    let mut is_async = false;
    if text(at) == "pub" {
        at += 1;
        is_public = text(at) != "(";
        if !is_public {
            while at < tokens.len() && text(at) != ")" {
                at += 1;
            }
            at += 1;
        }
    }
    loop {
        let next = tokens.get(at + 1);
        let qualifies = match text(at) {
            "async" | "unsafe" | "safe" | "default" | "auto" => true,
            "const" => matches!(text(at + 1), "fn" | "unsafe" | "async" | "extern"),
            "extern" => {
                next.is_some_and(|next| next.kind == Kind::Text) && text(at + 2) == "fn"
                    || text(at + 1) == "fn"
            }
            _ if tokens.get(at).is_some_and(|token| token.kind == Kind::Text) => true,
            _ => false,
        };
        if !qualifies {
            break;
        }
        is_async |= text(at) == "async";
        at += 1;
    }
    let keyword = KEYWORDS.into_iter().find(|keyword| *keyword == text(at))?;
    let name_at = if keyword == "macro_rules" {
        at + 2
    } else {
        at + 1
    };
    let has_name = tokens
        .get(name_at)
        .is_some_and(|token| token.kind == Kind::Ident);
    let needs_name = !matches!(keyword, "impl" | "use" | "extern");
    if needs_name && !has_name {
        return None;
    }
    Some(Head {
        keyword,
        name: if needs_name {
            text(name_at).to_owned()
        } else {
            String::new()
        },
        at,
        is_public,
        is_async,
        attributes,
    })
}

#[cfg(test)]
mod tests;

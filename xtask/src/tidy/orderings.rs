//! Finds every memory ordering that is not relaxed, and says what one step weaker is.

use super::source::File;

/// What an ordering is given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Load,
    Store,
    /// A read-modify-write, or the success side of a compare-exchange.
    Modify,
    /// The failure side of a compare-exchange.
    Failure,
    Fence,
    /// A constant, or a function of ours.
    Unknown,
}

/// An ordering in the code.
#[derive(Clone, Debug)]
pub(crate) struct Site<'a> {
    /// The token of the ordering's name, or of the fence's.
    pub(crate) token: usize,
    pub(crate) ordering: &'a str,
    pub(crate) call: Call,
    /// The bytes to replace by another ordering.
    pub(crate) bytes: (usize, usize),
    /// The bytes of the whole fence.
    fence_bytes: (usize, usize),
}

/// One step weaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weaker {
    To(&'static str),
    /// A fence that is left out.
    Gone,
}

impl Weaker {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::To(name) => name,
            Self::Gone => "none",
        }
    }
}

impl Site<'_> {
    pub(crate) fn is_fence(&self) -> bool {
        self.call == Call::Fence
    }

    /// Every form that is one step weaker and still compiles.
    pub(crate) fn weaker(&self) -> &'static [Weaker] {
        use Weaker::{Gone, To};
        match (self.call, self.ordering) {
            (Call::Load | Call::Failure, "SeqCst") => &[To("Acquire")],
            (Call::Store, "SeqCst") => &[To("Release")],
            (_, "SeqCst") => &[To("AcqRel")],
            (_, "AcqRel") => &[To("Acquire"), To("Release")],
            (Call::Fence, _) => &[Gone],
            _ => &[To("Relaxed")],
        }
    }

    /// The text of the file with this ordering replaced.
    pub(crate) fn apply(&self, text: &str, weaker: Weaker) -> String {
        let ((start, end), new) = match weaker {
            Weaker::Gone => (self.fence_bytes, "()".to_owned()),
            Weaker::To(name) => (
                self.bytes,
                format!("::core::sync::atomic::Ordering::{name}"),
            ),
        };
        format!("{}{new}{}", &text[..start], &text[end..])
    }
}

const NAMES: [&str; 4] = ["Acquire", "Release", "AcqRel", "SeqCst"];

/// The orderings of a file that are not relaxed, in order. The last half of a reference count,
/// `acquire_last`, counts as the fence that it is.
pub(crate) fn sites(file: &File) -> Vec<Site<'_>> {
    let imports = imports(file);
    let mut found = Vec::new();
    for token in 0..file.tokens().len() {
        if !file.is_ident(token) || is_in_use(file, token) {
            continue;
        }
        let word = file.word(token);
        if word == "acquire_last" && file.word(token + 1) == "(" && !is_definition(file, token) {
            let bytes = fence_bytes(file, token);
            found.push(Site {
                token,
                ordering: "Acquire",
                call: Call::Fence,
                bytes,
                fence_bytes: bytes,
            });
        }
        if NAMES.contains(&word) && is_ordering(file, token, &imports) {
            found.push(site(file, token));
        }
    }
    found
}

fn is_definition(file: &File, token: usize) -> bool {
    token > 0 && file.word(token - 1) == "fn"
}

fn is_in_use(file: &File, token: usize) -> bool {
    let mut head = file.outline.head_of[token];
    // Inside the braces of a use, the head is the name itself: look at what opened them.
    let scope = &file.outline.scopes[file.outline.scope_of[token]];
    if let Some(item) = scope.item {
        head = file.outline.items[item].first.min(head);
        if file.outline.items[item].keyword == "use" {
            return true;
        }
    }
    let around = file.outline.around(token).any(|item| item.keyword == "use");
    around || file.word(head) == "use" || file.spells(head, &["pub", "use"])
}

/// The bare names that the file imports, and `*` if a glob may bring others.
fn imports(file: &File) -> Vec<&str> {
    let mut found = Vec::new();
    for item in file
        .outline
        .items
        .iter()
        .filter(|item| item.keyword == "use")
    {
        // The use goes on after its braces: look as far as the semicolon.
        let mut at = item.at;
        let mut after_ordering = false;
        while at < file.tokens().len() && file.word(at) != ";" {
            after_ordering |= file.spells(at, &["Ordering", "::"]);
            if after_ordering && NAMES.contains(&file.word(at)) {
                found.push(file.word(at));
            }
            if after_ordering && file.word(at) == "*" {
                found.extend(NAMES);
            } else if file.word(at) == "*" {
                found.push("*");
            }
            at += 1;
        }
    }
    found
}

fn is_ordering(file: &File, token: usize, imports: &[&str]) -> bool {
    let before = if token == 0 { "" } else { file.word(token - 1) };
    if before == "::" {
        return token >= 2 && file.word(token - 2) == "Ordering";
    }
    let is_argument = matches!(before, "(" | ",") && matches!(file.word(token + 1), ")" | ",");
    imports.contains(&file.word(token)) || imports.contains(&"*") && is_argument
}

fn site(file: &File, token: usize) -> Site<'_> {
    let start = path_start(file, token);
    let bytes = (file.tokens()[start].start, file.tokens()[token].end);
    let (callee, argument) = call_around(file, start);
    let name = callee.map_or("", |callee| file.word(callee));
    let call = match (name, argument) {
        ("load", _) => Call::Load,
        ("store", _) => Call::Store,
        ("fence" | "compiler_fence", _) => Call::Fence,
        ("compare_exchange" | "compare_exchange_weak", 3) => Call::Failure,
        ("fetch_update" | "try_update", 1) => Call::Failure,
        ("compare_exchange" | "compare_exchange_weak" | "swap", _) => Call::Modify,
        _ if name.starts_with("fetch_") => Call::Modify,
        _ => Call::Unknown,
    };
    let fence_bytes = match callee {
        Some(callee) if call == Call::Fence => fence_bytes(file, callee),
        _ => bytes,
    };
    Site {
        token,
        ordering: file.word(token),
        call,
        bytes,
        fence_bytes,
    }
}

/// The first token of the path that ends at `token`.
fn path_start(file: &File, mut token: usize) -> usize {
    while token >= 2 && file.word(token - 1) == "::" && file.is_ident(token - 2) {
        token -= 2;
    }
    if token >= 1 && file.word(token - 1) == "::" {
        token -= 1;
    }
    token
}

/// The name of the function whose argument begins at `token`, and the argument's number.
fn call_around(file: &File, token: usize) -> (Option<usize>, usize) {
    let mut depth = 0_usize;
    let mut argument = 0;
    for at in (0..token).rev() {
        match file.word(at) {
            ")" | "]" | "}" => depth += 1,
            "(" if depth == 0 => {
                let is_call = at > 0 && file.is_ident(at - 1);
                return (is_call.then(|| at - 1), argument);
            }
            "(" | "[" | "{" if depth > 0 => depth -= 1,
            "{" | "[" | ";" if depth == 0 => return (None, 0),
            "," if depth == 0 => argument += 1,
            _ => {}
        }
    }
    (None, 0)
}

/// The bytes of a call from the beginning of its path to its closing bracket.
fn fence_bytes(file: &File, callee: usize) -> (usize, usize) {
    let start = file.tokens()[path_start(file, callee)].start;
    let mut depth = 0_usize;
    for at in callee + 1..file.tokens().len() {
        match file.word(at) {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (start, file.tokens()[at].end);
        }
    }
    (start, file.tokens()[callee].end)
}

#[cfg(test)]
mod tests {
    use super::{Call, Weaker, sites};
    use crate::tidy::source::File;

    fn found(text: &str) -> Vec<(String, Call)> {
        let file = File::new("crates/a/src/b.rs", text.to_owned());
        let sites = sites(&file);
        sites
            .iter()
            .map(|site| (site.ordering.to_owned(), site.call))
            .collect()
    }

    fn weakened(text: &str) -> Vec<String> {
        let file = File::new("crates/a/src/b.rs", text.to_owned());
        let sites = sites(&file);
        let all = sites
            .iter()
            .flat_map(|site| site.weaker().iter().map(|weaker| site.apply(text, *weaker)));
        all.collect()
    }

    #[test]
    fn qualified_and_imported_orderings_are_found() {
        let text = "use crate::sync::atomic::{A, Ordering::{self, Acquire, Release}, fence};\n\
            fn f() { x.load(Acquire); y.store(1, Ordering::Release); z.swap(1, Ordering::AcqRel);\n\
            w.compare_exchange(A, B, Acquire, Ordering::Acquire); fence(Ordering::SeqCst);\n\
            v.fetch_or(1, Ordering::Relaxed); our(Release); }";
        let calls: Vec<Call> = found(text).into_iter().map(|(_, call)| call).collect();
        use Call::{Failure, Fence, Load, Modify, Store, Unknown};
        assert_eq!(
            calls,
            [Load, Store, Modify, Modify, Failure, Fence, Unknown]
        );
    }

    #[test]
    fn other_things_of_the_same_name_are_not() {
        assert_eq!(
            found("struct Acquire; fn f() -> Acquire { Acquire { x }.go(Acquire) }"),
            []
        );
        assert_eq!(found("fn f() { g(State::Release) }"), []);
        assert_eq!(
            found("use super::*;\nfn f() -> Acquire { x.load(Acquire) }").len(),
            1
        );
    }

    #[test]
    fn weaker_forms_replace_exactly_the_ordering() {
        let path = "::core::sync::atomic::Ordering";
        let text = "fn f() { x.swap(1, atomic::Ordering::AcqRel) }";
        assert_eq!(
            weakened(text),
            [
                format!("fn f() {{ x.swap(1, {path}::Acquire) }}"),
                format!("fn f() {{ x.swap(1, {path}::Release) }}")
            ]
        );
        assert_eq!(
            weakened("fn f() { a::fence(Ordering::Acquire); acquire_last(&self.count()); }"),
            [
                "fn f() { (); acquire_last(&self.count()); }",
                "fn f() { a::fence(Ordering::Acquire); (); }"
            ]
        );
        let text = "fn f() { x.load(Ordering::SeqCst) }";
        assert_eq!(
            weakened(text),
            [format!("fn f() {{ x.load({path}::Acquire) }}")]
        );
    }

    #[test]
    fn weaker_names_are_stable() {
        assert_eq!(
            (Weaker::To("Relaxed").name(), Weaker::Gone.name()),
            ("Relaxed", "none")
        );
    }
}

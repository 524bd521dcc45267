//! From what was written to what is compiled.
//!
//! `async fn name() -> R { body }` becomes
//!
//! ```text
//! fn name() -> R {
//!     async fn name() -> R { body }
//!     ::mainspring::__private::main(options, name())
//! }
//! ```
//!
//! The function inside is the user's, token for token, so that whatever the compiler has to say
//! about its body or its return type it says there.
//!
//! When something is wrong, the message stands beside what can be made of the function all the
//! same: one mistake, one message, and none about a `main` that is missing.

use crate::item::{self, Function};
use crate::options::{self, Attribute, Flavor, Options};
use crate::token::{Bracket, Problem, Token, Tree};
use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Expands one attribute on one item.
pub(crate) fn expand(attribute: Attribute, options: TokenStream, item: TokenStream) -> TokenStream {
    let (options, mut problems) = options::parse(attribute, &read(options));
    let trees: Vec<TokenTree> = item.into_iter().collect();
    let tokens: Vec<_> = trees.iter().cloned().map(token).collect();
    if attribute == Attribute::Test {
        if let Some(span) = item::second_test(&tokens) {
            let message = "`#[mainspring::test]` makes it a test: leave out `#[test]`, which would \
                           make it a second one";
            problems.push(Problem::new(Some(span), message));
        }
    }
    let function = match item::parse(attribute.name(), &tokens) {
        Ok(function) => assemble(attribute, &options, &trees, &function),
        Err(problem) => {
            problems.push(problem);
            stand_in(attribute, trees, &tokens)
        }
    };
    let errors = problems.into_iter().map(compile_error);
    errors.chain([function]).collect()
}

/// The function outside, with the one inside.
fn assemble(
    attribute: Attribute,
    options: &Options,
    trees: &[TokenTree],
    function: &Function,
) -> TokenStream {
    let signature = &trees[function.fn_at..function.body_at];
    let body = &trees[function.body_at];
    let inside = [&trees[function.async_at]]
        .into_iter()
        .chain(signature)
        .chain([body])
        .cloned();
    // The call stands where the name does, for what the compiler says about the future.
    let name = &trees[function.fn_at + 1];
    let call = call(attribute, options, name);
    let mut outside = Group::new(Delimiter::Brace, inside.chain(call).collect());
    outside.set_span(body.span());

    let mut whole = TokenStream::new();
    if attribute == Attribute::Test {
        whole.extend(stream("#[::core::prelude::v1::test]"));
    }
    let qualifiers = trees[..function.fn_at].iter().enumerate();
    whole.extend(
        qualifiers
            .filter(|(at, _)| *at != function.async_at)
            .map(|(_, tree)| tree.clone()),
    );
    whole.extend(signature.iter().cloned());
    whole.extend([TokenTree::Group(outside)]);
    whole
}

/// `::mainspring::__private::main(options, name())`.
fn call(attribute: Attribute, options: &Options, name: &TokenTree) -> TokenStream {
    let flavor = match options.flavor {
        Flavor::Local => "local",
        Flavor::Multi => "multi",
    };
    let mut asked = format!("::mainspring::__private::Options::{flavor}()");
    if let Some(workers) = options.workers {
        asked.push_str(&format!(".workers({workers})"));
    }
    if let Some(backend) = options.backend {
        asked.push_str(&format!(".backend({backend:?})"));
    }
    if options.paused {
        asked.push_str(".paused()");
    }
    let mut arguments = stream(&asked);
    arguments.extend([
        TokenTree::Punct(Punct::new(',', Spacing::Alone)),
        name.clone(),
        TokenTree::Group(Group::new(Delimiter::Parenthesis, TokenStream::new())),
    ]);
    let mut call = stream(match attribute {
        Attribute::Main => "::mainspring::__private::main",
        Attribute::Test => "::mainspring::__private::test",
    });
    let arguments = Group::new(Delimiter::Parenthesis, arguments);
    call.extend([TokenTree::Group(arguments)]);
    call
}

/// What stands in for an item that cannot be run: itself, if the compiler takes it as it is, so
/// that its other mistakes show too; for a `main` that it would not take, an empty one.
fn stand_in(attribute: Attribute, trees: Vec<TokenTree>, tokens: &[Token<Span>]) -> TokenStream {
    let is_async = tokens.iter().any(|token| token.is_word("async"));
    match attribute {
        Attribute::Main if is_async => stream("fn main() {}"),
        Attribute::Main | Attribute::Test => trees.into_iter().collect(),
    }
}

/// `::core::compile_error! { "message" }`, at the place of the problem.
fn compile_error(problem: Problem<Span>) -> TokenStream {
    let span = problem.span.unwrap_or_else(Span::call_site);
    let message = TokenTree::Literal(Literal::string(&problem.message));
    let path = [
        punct(':', Spacing::Joint),
        punct(':', Spacing::Alone),
        TokenTree::Ident(Ident::new("core", span)),
        punct(':', Spacing::Joint),
        punct(':', Spacing::Alone),
        TokenTree::Ident(Ident::new("compile_error", span)),
        punct('!', Spacing::Alone),
        TokenTree::Group(Group::new(Delimiter::Brace, message.into())),
    ];
    let placed = path.into_iter().map(|mut tree| {
        tree.set_span(span);
        tree
    });
    placed.collect()
}

fn punct(sign: char, spacing: Spacing) -> TokenTree {
    TokenTree::Punct(Punct::new(sign, spacing))
}

/// The tokens of text that this file wrote.
fn stream(text: &str) -> TokenStream {
    // PANIC: only for text in this file that is no Rust, which every use would show.
    text.parse().expect("the text of a macro is Rust")
}

/// The compiler's token trees as the parsers read them.
fn read(stream: TokenStream) -> Vec<Token<Span>> {
    stream.into_iter().map(token).collect()
}

fn token(tree: TokenTree) -> Token<Span> {
    let span = tree.span();
    let tree = match tree {
        TokenTree::Ident(ident) => Tree::Word(ident.to_string()),
        TokenTree::Punct(punct) => Tree::Sign(punct.as_char()),
        TokenTree::Literal(literal) => Tree::Literal(literal.to_string()),
        TokenTree::Group(group) => {
            let bracket = match group.delimiter() {
                Delimiter::Parenthesis => Bracket::Round,
                Delimiter::Bracket => Bracket::Square,
                Delimiter::Brace => Bracket::Curly,
                Delimiter::None => Bracket::Invisible,
            };
            Tree::Group(bracket, read(group.stream()))
        }
    };
    Token { tree, span }
}

//! The parts of the function that an attribute stands on.
//!
//! What is looked for is a name, parentheses, what stands between them and the body, and the body;
//! all of it is taken over as it was written. What can stand before `fn` is taken over as well, but
//! for `async`.

use crate::token::{Bracket, Problem, Token};

/// Where the parts of an `async fn` stand among the token trees of the item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// The token `async`.
    pub(crate) async_at: usize,
    /// The token `fn`; the name follows.
    pub(crate) fn_at: usize,
    /// The parentheses; what is between them and the body is the return type.
    pub(crate) parameters_at: usize,
    /// The body.
    pub(crate) body_at: usize,
}

/// Finds the parts, or says what is not as it has to be. `attribute` is what messages call it.
pub(crate) fn parse<S: Copy>(attribute: &str, item: &[Token<S>]) -> Result<Function, Problem<S>> {
    let Some(fn_at) = item.iter().position(|token| token.is_word("fn")) else {
        let span = item.first().map(|token| token.span);
        return Err(Problem::new(
            span,
            format!("{attribute} stands on an `async fn`"),
        ));
    };
    let qualifiers = &item[..fn_at];
    let Some(async_at) = qualifiers.iter().position(|token| token.is_word("async")) else {
        let message = format!(
            "the function has to be `async`: {attribute} runs it on a runtime; without one, leave \
             the attribute out"
        );
        return Err(Problem::new(Some(item[fn_at].span), message));
    };
    for word in ["unsafe", "extern", "const"] {
        if let Some(token) = qualifiers.iter().find(|token| token.is_word(word)) {
            let message = format!("the function cannot be `{word}` under {attribute}");
            return Err(Problem::new(Some(token.span), message));
        }
    }
    let parameters_at = fn_at + 2;
    if let Some(token) = item.get(parameters_at).filter(|token| token.is_sign('<')) {
        let message = "the function cannot be generic: nobody would say for which types it is run";
        return Err(Problem::new(Some(token.span), message));
    }
    let parameters = item.get(parameters_at);
    match parameters.and_then(|token| token.group(Bracket::Round)) {
        Some([]) => {}
        Some([first, ..]) => {
            let message = "the function cannot have arguments: nobody would pass them";
            return Err(Problem::new(Some(first.span), message));
        }
        None => return Err(not_a_function(attribute, item, fn_at)),
    }
    let body_at = item.len() - 1;
    if body_at <= parameters_at || item[body_at].group(Bracket::Curly).is_none() {
        return Err(not_a_function(attribute, item, fn_at));
    }
    Ok(Function {
        async_at,
        fn_at,
        parameters_at,
        body_at,
    })
}

fn not_a_function<S: Copy>(attribute: &str, item: &[Token<S>], at: usize) -> Problem<S> {
    let message = format!("{attribute} stands on an `async fn` with a body");
    Problem::new(Some(item[at].span), message)
}

/// Where another attribute `#[test]` stands, which would make two tests of one function.
pub(crate) fn second_test<S: Copy>(item: &[Token<S>]) -> Option<S> {
    let mut pairs = item.windows(2);
    let found = pairs.find(|pair| {
        let inside = pair[1].group(Bracket::Square);
        pair[0].is_sign('#') && matches!(inside, Some([only]) if only.is_word("test"))
    });
    found.map(|pair| pair[0].span)
}

#[cfg(test)]
mod tests;

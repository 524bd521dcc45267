use super::{Function, parse, second_test};
use crate::token::tests::read;

#[test]
fn parts_are_found_whatever_stands_around_them() {
    let plain = Function {
        async_at: 0,
        fn_at: 1,
        parameters_at: 3,
        body_at: 4,
    };
    assert_eq!(parse("it", &read("async fn main() {}")), Ok(plain));
    let rich = "#[allow(unused)] pub(crate) async fn main() -> Result<(), Box<dyn Error>> { body }";
    let function = parse("it", &read(rich)).expect("a function");
    assert_eq!((function.async_at, function.fn_at), (4, 5));
    let item = read(rich);
    assert!(item[function.parameters_at + 1].is_sign('-'));
    assert_eq!(item[function.body_at].text(), "{..}");
}

/// The message for `text`, and the token at which it stands.
fn problem(text: &str) -> (String, Option<String>) {
    let item = read(text);
    let problem = parse("`#[mainspring::main]`", &item).expect_err("a problem");
    let at = flat(&item)
        .into_iter()
        .find(|(span, _)| Some(*span) == problem.span);
    (problem.message, at.map(|(_, text)| text))
}

fn flat(tokens: &[crate::token::Token<usize>]) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for token in tokens {
        all.push((token.span, token.text()));
        if let crate::token::Tree::Group(_, inside) = &token.tree {
            all.extend(flat(inside));
        }
    }
    all
}

#[test]
fn problems_say_what_is_wrong_and_stand_where_it_is() {
    let cases = [
        ("fn main() {}", "has to be `async`", "fn"),
        ("async fn main(a: u8) {}", "cannot have arguments", "a"),
        ("async fn main<T>() {}", "cannot be generic", "<"),
        ("async unsafe fn main() {}", "cannot be `unsafe`", "unsafe"),
        ("async extern fn main() {}", "cannot be `extern`", "extern"),
        ("struct Main;", "stands on an `async fn`", "struct"),
        ("async fn main();", "with a body", "fn"),
        ("async fn", "with a body", "fn"),
        ("async fn main {}", "with a body", "fn"),
    ];
    for (text, message, at) in cases {
        let (found, place) = problem(text);
        assert!(found.contains(message), "{text}: {found}");
        assert_eq!(place.as_deref(), Some(at), "{text}");
    }
    assert_eq!(problem("").1, None);
}

#[test]
fn second_test_is_found_and_others_are_let_be() {
    assert!(second_test(&read("#[test] async fn a() {}")).is_some());
    assert!(second_test(&read("#[ignore] #[test] async fn a() {}")).is_some());
    assert!(second_test(&read("#[cfg(test)] async fn test() {}")).is_none());
}

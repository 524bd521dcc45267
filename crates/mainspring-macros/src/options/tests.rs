use super::{Attribute, Options, parse};
use crate::token::tests::read;
use crate::token::{Bracket, Token, Tree};

#[test]
fn every_option_is_understood() {
    let (options, problems) = parse(Attribute::Test, &read("paused, backend = \"poll\","));
    assert_eq!(problems, []);
    let expected = Options {
        backend: Some("poll"),
        paused: true,
    };
    assert_eq!(options, expected);
    let (options, problems) = parse(Attribute::Main, &read("flavor = \"local\""));
    assert_eq!((options, problems), (Options::default(), vec![]));
    let nothing = parse::<usize>(Attribute::Main, &[]);
    assert_eq!(nothing, (Options::default(), vec![]));
}

#[test]
fn value_that_a_macro_passed_on_is_understood() {
    let mut tokens = read("backend = \"auto\"");
    let value = tokens.pop().expect("a value");
    let span = value.span;
    tokens.push(Token {
        tree: Tree::Group(Bracket::Invisible, vec![value]),
        span,
    });
    let (options, problems) = parse(Attribute::Main, &tokens);
    assert_eq!((options.backend, problems), (Some("auto"), vec![]));
}

#[test]
fn problems_say_what_is_wrong_and_stand_where_it_is() {
    // The options, a part of the message, the number of the token at which it stands.
    let cases = [
        ("speed = 3", "no option `speed`: there are `paused`", 0),
        ("workers = 4", "the work-stealing pool is not built yet", 0),
        (
            "flavor = \"multi\"",
            "the work-stealing pool is not built yet",
            2,
        ),
        ("flavor = \"fast\"", "no flavor \"fast\"", 2),
        (
            "backend = \"epoll\"",
            "there are \"auto\", \"uring\" and \"poll\"",
            2,
        ),
        ("backend = poll", "the value is a string", 2),
        ("backend + \"poll\"", "the value is a string", 2),
        ("backend", "`backend` has a value: `backend = \"..\"`", 0),
        ("backend = \"poll\" \"auto\"", "`backend` has a value", 3),
        ("paused = \"yes\"", "`paused` has no value", 1),
        ("paused, paused", "`paused` is given twice", 2),
        ("\"poll\"", "expected an option, found `\"poll\"`", 0),
    ];
    for (text, message, at) in cases {
        let (_, problems) = parse(Attribute::Test, &read(text));
        let [problem] = &problems[..] else {
            panic!("{text}: {problems:?}");
        };
        assert!(
            problem.message.contains(message),
            "{text}: {}",
            problem.message
        );
        assert_eq!(problem.span, Some(at), "{text}");
    }
}

#[test]
fn paused_is_refused_in_main_and_all_problems_are_told_at_once() {
    let (_, problems) = parse(Attribute::Main, &read("paused, workers = 2"));
    assert_eq!(problems.len(), 2);
    assert!(problems[0].message.contains("in tests only"));
}

use super::{Attribute, Flavor, Options, parse};
use crate::token::tests::read;
use crate::token::{Bracket, Token, Tree};

#[test]
fn every_option_is_understood() {
    let (options, problems) = parse(Attribute::Test, &read("paused, backend = \"poll\","));
    assert_eq!(problems, []);
    let expected = Options {
        flavor: Flavor::Local,
        workers: None,
        backend: Some("poll"),
        paused: true,
    };
    assert_eq!(options, expected);
    let (options, problems) = parse(Attribute::Test, &read("workers = 1_0, backend = \"auto\""));
    assert_eq!(problems, []);
    let expected = Options {
        flavor: Flavor::Multi,
        workers: Some(10),
        backend: Some("auto"),
        paused: false,
    };
    assert_eq!(options, expected);
}

#[test]
fn flavor_is_what_was_said_or_goes_with_the_workers_or_is_the_attributes_own() {
    use Attribute::{Main, Test};
    let cases = [
        (Main, "", Flavor::Multi),
        (Test, "", Flavor::Local),
        (Main, "flavor = \"local\"", Flavor::Local),
        (Test, "flavor = \"multi\"", Flavor::Multi),
        (Test, "workers = 2", Flavor::Multi),
        (Main, "workers = 2, flavor = \"multi\"", Flavor::Multi),
        (Test, "flavor = \"local\", paused", Flavor::Local),
        (Test, "workers = 4, paused", Flavor::Multi),
        (Test, "paused, flavor = \"multi\"", Flavor::Multi),
    ];
    for (attribute, text, flavor) in cases {
        let (options, problems) = parse(attribute, &read(text));
        assert_eq!((options.flavor, problems), (flavor, vec![]), "{text}");
    }
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
        ("workers = 0", "there are 1 to 4096 workers, not 0", 2),
        ("workers = 4097", "there are 1 to 4096 workers, not 4097", 2),
        ("workers = 99999999999999999999", "there are 1 to 4096", 2),
        ("workers = \"4\"", "the value is a number: `workers = 4`", 2),
        ("workers = 4usize", "the value is a number", 2),
        ("workers = many", "the value is a number", 2),
        ("workers + 4", "the value is a number", 2),
        ("workers", "`workers` has a value: `workers = 4`", 0),
        ("workers = 4 4", "`workers` has a value", 3),
        (
            "workers = 4, flavor = \"local\"",
            "`flavor = \"local\"` is one thread",
            0,
        ),
        (
            "flavor = \"fast\"",
            "no flavor \"fast\": there are \"multi\" and \"local\"",
            2,
        ),
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
    let (_, problems) = parse(Attribute::Main, &read("paused, workers = 0"));
    assert_eq!(problems.len(), 2);
    assert!(problems[0].message.contains("in tests only"));
}

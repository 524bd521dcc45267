use super::{Asked, parse_ci};
use crate::ci::Selection;
use crate::context::Context;
use std::path::PathBuf;

fn parse(options: &[&str]) -> (Result<Asked, String>, Context) {
    let mut ctx = Context::new(PathBuf::from("/w"));
    (parse_ci(options, &mut ctx), ctx)
}

#[test]
fn options_of_ci_are_understood_in_both_spellings() {
    let (asked, ctx) = parse(&[
        "--only",
        "fmt,test",
        "--only=deny",
        "-p",
        "a",
        "--package=b",
    ]);
    let only = ["fmt", "test", "deny"].map(str::to_owned).to_vec();
    assert_eq!(asked, Ok(Asked::Run(Selection { only })));
    assert_eq!(ctx.packages, ["a", "b"]);
    let (asked, ctx) = parse(&["--quick", "--install", "--strict"]);
    assert!(asked.is_ok() && ctx.quick && ctx.install && ctx.strict && !ctx.ci);
    assert_eq!(parse(&["--list"]).0, Ok(Asked::List));
}

#[test]
fn unknown_options_and_missing_values_are_refused() {
    for options in [&["--fast"][..], &["--quick=yes"], &["--only"], &["fmt"]] {
        assert!(parse(options).0.is_err(), "{options:?}");
    }
}

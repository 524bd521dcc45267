use super::{Asked, Candidate, Fate, Scope, judge, parse, survivors::Survivors, today};
use crate::context::Outcome;

#[test]
fn command_line_is_read() {
    let seed = today();
    let asked = Asked {
        scope: Scope::Full,
        file: None,
        seed,
    };
    assert_eq!(parse(&[]), Ok(asked.clone()));
    let asked = Asked {
        scope: Scope::Sample,
        file: Some("park.rs".to_owned()),
        seed: 7,
    };
    let args = ["--file", "park.rs", "--sample", "--seed", "7"];
    assert_eq!(parse(&args), Ok(asked));
    assert!(parse(&["--seed"]).is_err());
    assert!(parse(&["--seed", "x"]).is_err());
    assert!(parse(&["park.rs"]).is_err());
}

fn failures(list: &str, fate: &Fate) -> u32 {
    let candidate = Candidate {
        package: "a".to_owned(),
        path: "crates/a/src/b.rs".to_owned(),
        module: "b".to_owned(),
        line: 1,
        key: "crates/a/src/b.rs · f · 1 · Relaxed".to_owned(),
        text: String::new(),
    };
    let mut outcome = Outcome::new();
    judge(
        &mut outcome,
        &Survivors::parse(list).unwrap(),
        &candidate,
        fate,
    );
    outcome.failed()
}

#[test]
fn survivors_must_be_listed_and_killed_ones_must_not() {
    let listed = "crates/a/src/b.rs · f · 1 · Relaxed — the lock orders it already\n";
    let killed = Fate::Killed("b::tests::loom::x".to_owned());
    let survived = Fate::Survived {
        asked: 3,
        broken: Vec::new(),
    };
    assert_eq!(failures("", &killed), 0);
    assert_eq!(failures(listed, &killed), 1);
    assert_eq!(failures("", &survived), 1);
    assert_eq!(failures(listed, &survived), 0);
    assert_eq!(failures(listed, &Fate::Invalid("error".to_owned())), 1);
}

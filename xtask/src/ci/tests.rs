use super::allowed::Allowed;
use super::report::Report;
use super::{STAGES, Selection, Skips, Stage, judge_skips, select};
use crate::context::{Context, Outcome};
use std::path::PathBuf;
use std::time::Duration;

fn context() -> Context {
    Context::new(PathBuf::from("/w"))
}

fn nothing(_: &Context) -> Outcome {
    Outcome::new()
}

fn names(ctx: &Context, only: &[&str]) -> Result<Vec<&'static str>, String> {
    let selection = Selection {
        only: only.iter().map(|name| (*name).to_owned()).collect(),
    };
    Ok(select(ctx, &selection)?
        .iter()
        .map(|stage| stage.name)
        .collect())
}

fn skipped(reason: &str) -> Outcome {
    let mut outcome = Outcome::new();
    outcome.skip("asan", reason);
    outcome
}

#[test]
fn only_selects_what_it_names_even_with_quick() {
    let mut ctx = context();
    ctx.quick = true;
    assert_eq!(names(&ctx, &["deny", "fmt"]), Ok(vec!["fmt", "deny"]));
    assert!(names(&ctx, &["fmr"]).is_err_and(|why| why.contains("clippy")));
    assert_eq!(
        names(&context(), &[]).map(|all| all.len()),
        Ok(STAGES.len())
    );
}

#[test]
fn stage_names_are_different() {
    for (at, stage) in STAGES.iter().enumerate() {
        assert!(STAGES[..at].iter().all(|other| other.name != stage.name));
    }
}

#[test]
fn budgets_together_stay_under_forty_minutes_and_under_five_for_a_commit() {
    let sum = |stages: &mut dyn Iterator<Item = &Stage>| stages.map(|s| s.budget_s).sum::<u64>();
    assert!(sum(&mut STAGES.iter()) <= 40 * 60);
    let quick = sum(&mut STAGES.iter().filter(|stage| stage.is_quick));
    assert!(quick <= 5 * 60, "{quick} s");
}

#[test]
fn unlisted_skip_fails_only_when_strict() {
    let stage = Stage::new("asan", 1, nothing, "");
    let allowed = Allowed::parse("asan: no nightly*").unwrap_or_default();
    let mut ctx = context();
    for (strict, reason, failed) in [
        (false, "no linker", 0),
        (true, "no linker", 1),
        (true, "no nightly toolchain", 0),
    ] {
        ctx.strict = strict;
        let mut outcome = skipped(reason);
        judge_skips(&ctx, &stage, &allowed, &mut outcome);
        assert_eq!(outcome.failed(), failed, "strict {strict}, {reason}");
        assert_eq!(outcome.skipped().len(), 1);
    }
}

#[test]
fn no_list_forgives_a_skip_in_a_stage_that_must_run() {
    let allowed = Allowed::parse("loom: *").unwrap_or_default();
    let mut ctx = context();
    for (strict, skips, failed) in [
        (false, Skips::Never, 1),
        (true, Skips::Never, 1),
        (false, Skips::Locally, 0),
        (true, Skips::Locally, 1),
    ] {
        ctx.strict = strict;
        let stage = Stage::new("loom", 1, nothing, "").skips(skips);
        let mut outcome = skipped("the models are slow today");
        judge_skips(&ctx, &stage, &allowed, &mut outcome);
        assert_eq!(outcome.failed(), failed, "strict {strict}, {skips:?}");
    }
}

#[test]
fn closing_line_is_alone_on_the_last_line() {
    let mut report = Report::new();
    let mut outcome = skipped("no nightly toolchain");
    outcome.pass(7);
    outcome.fail("core::a", "reason");
    report.add(
        &Stage::new("asan", 1, nothing, ""),
        Duration::from_secs(2),
        outcome,
    );
    report.add(
        &Stage::new("newcomer", 1, nothing, ""),
        Duration::ZERO,
        Outcome::new(),
    );
    let text = report.text();
    assert_eq!(text.lines().last(), Some("7 passed, 1 failed, 1 skipped"));
    assert!(text.contains("over budget"), "{text}");
    assert!(text.contains("does not apply"), "{text}");
    assert!(text.contains("failed in asan: core::a"), "{text}");
    assert!(!report.is_green());
}

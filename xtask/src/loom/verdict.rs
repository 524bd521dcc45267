//! What a model's process said.

use crate::run::{Ending, Output};
use std::fmt;

/// What came of one run of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every execution is right.
    Green,
    /// An execution is wrong.
    Red(Red),
    /// Neither was shown, for this reason.
    Broken(String),
}

/// What is wrong with an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Red {
    /// Accesses that nothing orders.
    Causality,
    /// Every thread waits.
    Deadlock,
    /// Something that loom counts is still there at the end.
    Leak,
    /// An assertion of the test or of the shipped code, with its message.
    Assertion(String),
}

impl fmt::Display for Red {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Causality => f.pad("causality"),
            Self::Deadlock => f.pad("deadlock"),
            Self::Leak => f.pad("leak"),
            Self::Assertion(message) => f.pad(&format!("assertion: {message}")),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Green => f.pad("green"),
            Self::Red(Red::Assertion(_)) => f.pad("assertion"),
            Self::Red(red) => red.fmt(f),
            Self::Broken(_) => f.pad("broken"),
        }
    }
}

/// loom's own verdicts and shuttle's, as they word them.
#[rustfmt::skip]
const VERDICTS: [(&str, Red); 10] = [
    ("Causality violation", Red::Causality),
    ("currently writing to cell", Red::Causality),
    ("currently reading from cell", Red::Causality),
    ("deadlock; threads", Red::Deadlock),
    ("Arc leaked", Red::Leak),
    ("Allocation leaked", Red::Leak),
    ("Messages leaked", Red::Leak),
    ("Arc is already released", Red::Causality),
    ("deadlock! blocked tasks", Red::Deadlock),
    ("tried to acquire a Mutex it already holds", Red::Deadlock),
];

/// Judges what one model's process left.
pub(crate) fn judge(output: &Output) -> Verdict {
    let broken = |why: &str| Verdict::Broken(why.to_owned());
    match &output.ending {
        Ending::Success => {
            let mut lines = output.stdout.lines();
            let has_run = lines.any(|line| line.starts_with("test result: ok. 1 passed"));
            return if has_run {
                Verdict::Green
            } else {
                broken("no test ran")
            };
        }
        Ending::Code(_) | Ending::Signal(_) => {}
        other => return Verdict::Broken(format!("it {other}")),
    }
    if output
        .stdout
        .contains("exceeded maximum number of branches")
    {
        return broken("it gave up at loom's limit of branches");
    }
    match first_panic(&output.stdout) {
        Some((place, message)) => judge_panic(place, message),
        None => Verdict::Broken(format!("it {} without a message", output.ending)),
    }
}

fn judge_panic(place: &str, message: &str) -> Verdict {
    // Packages of the workspace are compiled with paths from its root; loom is not one of them,
    // and neither is the standard library. An assertion may say what a verdict of loom says.
    let is_ours = !place.starts_with('/');
    let mut verdicts = VERDICTS.iter();
    let of_loom = verdicts.find(|(words, _)| !is_ours && message.contains(words));
    if let Some((_, red)) = of_loom {
        return Verdict::Red(red.clone());
    }
    let first = message.lines().map(str::trim).find(|line| !line.is_empty());
    let first = first.unwrap_or("").to_owned();
    if is_ours {
        Verdict::Red(Red::Assertion(first))
    } else {
        Verdict::Broken(format!("a panic at {place}: {first}"))
    }
}

/// Where the first panic happened, and what it said.
fn first_panic(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once("panicked at ")?;
    let (place, message) = rest.split_once('\n').unwrap_or((rest, ""));
    let end = ["\nnote: ", "\nstack backtrace:", "\nthread '"].iter();
    let end = end.filter_map(|mark| message.find(mark)).min();
    Some((place, &message[..end.unwrap_or(message.len())]))
}

#[cfg(test)]
mod tests {
    use super::{Red, Verdict, judge};
    use crate::run::{Ending, Output};
    use std::time::Duration;

    fn of(ending: Ending, text: &str) -> Verdict {
        judge(&Output {
            ending,
            elapsed: Duration::ZERO,
            stdout: text.to_owned(),
            stderr: String::new(),
        })
    }

    fn panic(place: &str, message: &str) -> Verdict {
        let text = format!("\nthread 'a::b' (7) panicked at {place}:1:2:\n{message}\nnote: run\n");
        of(Ending::Code(101), &text)
    }

    const LOOM: &str = "/registry/src/loom-0.7.3/src/rt/location.rs";

    #[test]
    fn success_counts_only_if_the_test_ran() {
        let ran = "test result: ok. 1 passed; 0 failed";
        assert_eq!(of(Ending::Success, ran), Verdict::Green);
        let none = of(Ending::Success, "test result: ok. 0 passed");
        assert!(matches!(none, Verdict::Broken(_)));
    }

    #[test]
    fn verdicts_of_loom_are_red() {
        let of = |message| panic(LOOM, message);
        let causality = "\nCausality violation: Concurrent write accesses to `UnsafeCell`.";
        assert_eq!(of(causality), Verdict::Red(Red::Causality));
        assert_eq!(
            of("deadlock; threads = [(..)]"),
            Verdict::Red(Red::Deadlock)
        );
        assert_eq!(of("Arc leaked.\n  Index: 3"), Verdict::Red(Red::Leak));
    }

    #[test]
    fn verdicts_of_shuttle_are_red() {
        let of = |message| panic("/registry/src/shuttle-engine-0.1.8/src/a.rs", message);
        let deadlock = "deadlock! blocked tasks: [main-thread(0)]";
        assert_eq!(of(deadlock), Verdict::Red(Red::Deadlock));
        let steps = "exceeded max_steps bound 100000. this might be caused by an unfair schedule";
        assert!(matches!(of(steps), Verdict::Broken(_)));
        let random = "possible nondeterminism: current execution ended earlier than expected";
        assert!(matches!(of(random), Verdict::Broken(_)));
    }

    #[test]
    fn verdict_followed_by_an_abort_is_red() {
        let text = format!(
            "thread 'a' panicked at {LOOM}:1:2:\ndeadlock; threads = [..]\n\
            thread 'a' panicked at library/core: in a destructor\n"
        );
        assert_eq!(of(Ending::Signal(6), &text), Verdict::Red(Red::Deadlock));
    }

    #[test]
    fn assertions_of_the_workspace_are_red() {
        let red = panic(
            "crates/a/src/b/tests/loom.rs",
            "assertion failed: x\n  left: 1",
        );
        assert_eq!(
            red,
            Verdict::Red(Red::Assertion("assertion failed: x".to_owned()))
        );
    }

    #[test]
    fn everything_else_proves_nothing() {
        let branches = "Model exceeded maximum number of branches. This is often";
        assert!(matches!(panic(LOOM, branches), Verdict::Broken(_)));
        assert!(matches!(
            panic(LOOM, "[loom internal bug]"),
            Verdict::Broken(_)
        ));
        let limit = Duration::from_secs(1);
        assert!(matches!(
            of(Ending::TimedOut(limit), ""),
            Verdict::Broken(_)
        ));
        assert!(matches!(
            of(Ending::Signal(11), "running 1 test"),
            Verdict::Broken(_)
        ));
        assert!(matches!(
            of(Ending::Code(101), "error: x"),
            Verdict::Broken(_)
        ));
    }
}

//! Runs pairs in processes of their own, as often as it takes to tell what they come to.
//!
//! One outcome is not enough where threads race, where a peer draws, or where the machine is busy
//! and a limit of time runs out. An outcome that the table does not list is therefore asked for
//! again, with another seed and more time, and the majority of three counts: what happens every
//! time is found at once, what happens often is found soon, and what happens once is a note.

use crate::table::{Expect, Peer};
use mainspring_testkit::SEED_VARIABLE;
use mainspring_testkit::conformance::{Case, Luck};
use std::env;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Names the pair that a child runs: `peer case`.
pub(crate) const PAIR: &str = "MAINSPRING_CONFORMANCE_PAIR";

/// How many seconds its case may take.
pub(crate) const SECONDS: &str = "MAINSPRING_CONFORMANCE_SECONDS";

/// What a child's last line begins with.
pub(crate) const WORD: &str = "the outcome is ";

/// What a note begins with: `cargo xtask ci` passes such lines on.
const NOTE: &str = "noted: ";

/// How long a case may take before it counts as hung: much longer than any does.
pub(crate) const PATIENT: Duration = Duration::from_secs(30);

/// Where it is known to hang, which is not worth waiting for. One that really does is still there
/// after it, however busy the machine.
const IMPATIENT: Duration = Duration::from_secs(2);

/// When it is asked for again: for a machine that is so busy that half a minute was not enough.
const VERY_PATIENT: Duration = Duration::from_secs(120);

/// How long its process may take besides, to start and to end.
const CHILD_LIMIT: Duration = Duration::from_secs(60);

/// One run of one pair.
struct Run {
    /// `passed`, `skipped`, `failed`, `hung` or `aborted`.
    word: String,
    /// What it printed, for whoever has to find out more.
    text: String,
    seed: u64,
}

/// What several runs come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// As the table says, at once.
    Agrees,
    /// As the table says, and otherwise once.
    AgreesMostly,
    /// Not as the table says.
    Differs,
}

/// What runs come to of which each was as expected or not; `None` if another one has to tell.
fn verdict(as_expected: &[bool]) -> Option<Verdict> {
    let agree = as_expected.iter().filter(|agrees| **agrees).count();
    match (as_expected.first()?, agree, as_expected.len() - agree) {
        (true, ..) => Some(Verdict::Agrees),
        (false, _, 2..) => Some(Verdict::Differs),
        (false, 2.., _) => Some(Verdict::AgreesMostly),
        (false, ..) => None,
    }
}

fn is_met(expected: &Expect, word: &str) -> bool {
    match expected {
        Expect::Holds => matches!(word, "passed" | "skipped"),
        Expect::Misses(expected) => word == *expected,
        Expect::Varies => true,
    }
}

/// Runs a pair until it is told what it comes to. An error says that the table is wrong about it.
pub(crate) fn judge(peer: &Peer, case: &Case, seed: u64) -> Result<(), String> {
    let expected = peer.expected(case.name);
    let (mut limit, again) = match expected {
        Expect::Misses("hung") => (IMPATIENT, IMPATIENT),
        _ => (PATIENT, VERY_PATIENT),
    };
    let (mut runs, mut as_expected) = (Vec::new(), Vec::new());
    let verdict = loop {
        let seed = seed.wrapping_add(runs.len() as u64);
        let run = run(peer.name, case.name, seed, limit);
        as_expected.push(is_met(&expected, &run.word));
        runs.push(run);
        if let Some(verdict) = verdict(&as_expected) {
            break verdict;
        }
        limit = again;
    };
    match verdict {
        Verdict::Agrees => Ok(()),
        Verdict::AgreesMostly => {
            note(peer, case, &runs[0]);
            Ok(())
        }
        Verdict::Differs => Err(tell(peer, case, &runs)),
    }
}

/// Says what was found once, where a test's own output is not kept back.
fn note(peer: &Peer, case: &Case, found: &Run) {
    let by = match (case.luck, &*found.word) {
        (Luck::Races, _) => "by a race",
        (Luck::Draws, _) => "by a draw",
        (Luck::Steps, "hung") => "once, perhaps on a busy machine",
        (Luck::Steps, _) => "once, by a draw of the peer's own",
    };
    let (name, case, word) = (peer.name, case.name, &found.word);
    let mut text = format!("\n{NOTE}{name} {case}: {word}, found {by}, not in the table\n");
    let said = found.text.lines().filter(|line| line.contains(case));
    for line in said {
        let _ = writeln!(text, "{NOTE}    {}", line.trim());
    }
    let _ = writeln!(text, "{NOTE}    {}", replay(name, case, found.seed));
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// What was found, in full.
fn tell(peer: &Peer, case: &Case, runs: &[Run]) -> String {
    let words: Vec<_> = runs.iter().map(|run| &*run.word).collect();
    let mut text = format!("{} {}: {}\n", peer.name, case.name, words.join(", then "));
    for run in runs {
        text += &format!("{}\n{}\n", replay(peer.name, case.name, run.seed), run.text);
    }
    text
}

/// The command that runs it again. A seed replays what was drawn, not the order of threads.
fn replay(peer: &str, case: &str, seed: u64) -> String {
    format!(
        "{SEED_VARIABLE}={seed} {PAIR}=\"{peer} {case}\" \
         cargo test --test conformance -- --exact child --nocapture"
    )
}

/// Runs one pair in a process of its own.
fn run(peer: &str, case: &str, seed: u64, limit: Duration) -> Run {
    let mut child = Command::new(env::current_exe().expect("this binary has a path"))
        .args(["--exact", "child", "--nocapture"])
        .env(PAIR, format!("{peer} {case}"))
        .env(SECONDS, limit.as_secs().to_string())
        .env(SEED_VARIABLE, seed.to_string())
        .env_remove("RUST_BACKTRACE")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this binary can be run");
    let began = Instant::now();
    let mut stdout = child.stdout.take().expect("it is piped");
    let mut stderr = child.stderr.take().expect("it is piped");
    let said = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stdout.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let cried = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stderr.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let ended = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break Some(status);
        }
        if began.elapsed() > limit + CHILD_LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        // SLEEP: between two looks at a process that has ended or not.
        thread::sleep(Duration::from_millis(2));
    };
    let text = said.join().unwrap_or_default();
    let text = text + &cried.join().unwrap_or_default();
    let word = text.lines().find_map(|line| line.strip_prefix(WORD));
    let word = match (word, ended) {
        (Some(word), _) => word.to_owned(),
        (None, None) => "hung".to_owned(),
        (None, Some(_)) => "aborted".to_owned(),
    };
    Run { word, text, seed }
}

#[test]
fn one_outcome_of_three_is_a_note_and_two_are_a_verdict() {
    assert_eq!(verdict(&[]), None);
    assert_eq!(verdict(&[true]), Some(Verdict::Agrees));
    assert_eq!(verdict(&[false]), None);
    assert_eq!(verdict(&[false, false]), Some(Verdict::Differs));
    assert_eq!(verdict(&[false, true]), None);
    assert_eq!(verdict(&[false, true, false]), Some(Verdict::Differs));
    assert_eq!(verdict(&[false, true, true]), Some(Verdict::AgreesMostly));
}

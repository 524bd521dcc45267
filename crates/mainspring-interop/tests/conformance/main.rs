//! The conformance suite of mainspring-testkit on the primitives of other crates.
//!
//! Each pair of a primitive and a case runs in a child process of its own, this binary again: what
//! deadlocks, spins or aborts there takes nothing along. What was found is in `table.rs`, and for
//! readers in `docs/conformance.md`; both are asserted, so that a crate that mends something in a
//! later version turns a test red here, and the table is brought up to date.

mod channels;
mod peers;
mod table;

use mainspring_testkit::CountingAlloc;
use mainspring_testkit::conformance::{Outcome, Suite};
use std::collections::BTreeMap;
use std::env;
use std::io::Read;
use std::process::{Command, Stdio, exit};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};
use table::{Expect, PEERS, Peer};

#[global_allocator]
static ALLOC: CountingAlloc = CountingAlloc;

/// Names the pair that a child runs: `peer case`.
const PAIR: &str = "MAINSPRING_CONFORMANCE_PAIR";

/// What a child's last line begins with.
const WORD: &str = "the outcome is ";

/// How long a case may take before it counts as hung: much longer than any does on a busy machine;
/// but where it is known to hang, which is not worth waiting for.
const CASE_LIMIT: Duration = Duration::from_secs(30);
const HUNG_LIMIT: Duration = Duration::from_secs(2);

/// How long the process of a case may take.
const CHILD_LIMIT: Duration = Duration::from_secs(60);

/// The other side: runs one pair if the environment names one, and is nothing otherwise.
#[test]
fn child() {
    let Ok(pair) = env::var(PAIR) else { return };
    let (peer, case) = pair.split_once(' ').expect("a peer and a case");
    let peer = Peer::named(peer);
    let limit = match peer.expected(case) {
        Expect::Misses("hung") => HUNG_LIMIT,
        _ => CASE_LIMIT,
    };
    let report = (peer.suite)().only(case).limit(limit).run();
    println!("{report}");
    let (_, outcome) = &report.outcomes[0];
    println!("{WORD}{}", outcome.word());
    // A case that hangs has left a thread behind.
    exit(0);
}

/// Runs one pair in a process of its own. What it printed is for whoever has to find out more.
fn run(peer: &str, case: &str) -> (String, String) {
    let mut child = Command::new(env::current_exe().expect("this binary has a path"))
        .args(["--exact", "child", "--nocapture"])
        .env(PAIR, format!("{peer} {case}"))
        .env_remove("RUST_BACKTRACE")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this binary can be run");
    let began = Instant::now();
    let mut stdout = child.stdout.take().expect("it is piped");
    let mut stderr = child.stderr.take().expect("it is piped");
    let said = thread::spawn(move || {
        let mut text = String::new();
        let _ = stdout.read_to_string(&mut text);
        text
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
        if began.elapsed() > CHILD_LIMIT {
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
    (word, text)
}

/// Runs every case on one peer, a few at a time: those that hang only wait.
fn run_all(peer: &Peer) -> BTreeMap<&'static str, (String, String)> {
    const AT_ONCE: usize = 4;
    let cases: Mutex<Vec<_>> = Mutex::new((peer.suite)().names().collect());
    let found = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(case) = cases.lock().unwrap().pop() else {
                        return;
                    };
                    let outcome = run(peer.name, case);
                    found.lock().unwrap().insert(case, outcome);
                }
            });
        }
    });
    found.into_inner().unwrap()
}

fn check(name: &str) {
    let peer = Peer::named(name);
    let found = run_all(peer);
    let mut wrong = String::new();
    for (case, (word, text)) in found {
        let is_miss = !matches!(&*word, "passed" | "skipped");
        let agrees = match peer.expected(case) {
            Expect::Holds => !is_miss,
            Expect::Misses(expected) => word == expected,
            Expect::Varies => true,
        };
        if !agrees {
            wrong += &format!("{name} {case}: {word}\n{text}\n");
        }
    }
    assert!(wrong.is_empty(), "the table says otherwise:\n{wrong}");
}

macro_rules! peers {
    ($($test:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                check(stringify!($test));
            }
        )*

        #[test]
        fn no_peer_is_missing() {
            let names: Vec<_> = PEERS.iter().map(|peer| peer.name).collect();
            assert_eq!(names, [$(stringify!($test)),*]);
        }
    };
}

peers! {
    tokio_semaphore, tokio_mutex, tokio_notify, tokio_mpsc_send, tokio_watch, tokio_set_once,
    async_lock_mutex, async_lock_semaphore, event_listener, async_channel_recv,
    async_channel_send, flume_recv, kanal_recv, thingbuf_send, futures_mutex, tokio_mpsc_values,
    async_channel_values, flume_values, kanal_values, futures_mpsc_values,
}

/// What a reader is told is what is asserted above, with the versions of the lock file.
#[test]
fn the_page_says_what_was_found() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conformance.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    for peer in PEERS {
        let row = peer.row();
        assert!(page.contains(&row), "docs/conformance.md lacks\n{row}");
    }
}

/// A suite is what a peer's entry makes, each time anew.
type MakeSuite = fn() -> Suite;

#[test]
fn outcomes_have_the_words_of_the_table() {
    assert_eq!(Outcome::Passed.word(), "passed");
    assert_eq!(Outcome::Hung(String::new()).word(), "hung");
    assert_eq!(Outcome::Failed(String::new()).word(), "failed");
}

//! The conformance suite of mainspring-testkit on the primitives of other crates.
//!
//! Each pair of a primitive and a case runs in a child process of its own, this binary again: what
//! deadlocks, spins or aborts there takes nothing along. What was found is in `table.rs`, and for
//! readers in `docs/conformance.md`; both are asserted, so that a crate that mends something in a
//! later version turns a test red here, and the table is brought up to date.

mod channels;
mod peers;
mod runs;
mod table;

use mainspring_testkit::conformance::{Case, Outcome, Suite};
use mainspring_testkit::{CountingAlloc, seed};
use runs::{PAIR, PATIENT, SECONDS, WORD, judge};
use std::env;
use std::process::exit;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use table::{PEERS, Peer};

#[global_allocator]
static ALLOC: CountingAlloc = CountingAlloc;

/// The other side: runs one pair if the environment names one, and is nothing otherwise.
#[test]
fn child() {
    let Ok(pair) = env::var(PAIR) else { return };
    let (peer, case) = pair.split_once(' ').expect("a peer and a case");
    let limit = env::var(SECONDS).map_or(PATIENT, |text| {
        Duration::from_secs(text.parse().expect("a number of seconds"))
    });
    let suite = (Peer::named(peer).suite)();
    let report = suite.only(case).limit(limit).run();
    println!("{report}");
    let (_, outcome) = &report.outcomes[0];
    println!("{WORD}{}", outcome.word());
    // A case that hangs has left a thread behind.
    exit(0);
}

/// Runs every case on one peer, a few at a time: those that hang only wait.
fn check(name: &str) {
    const AT_ONCE: usize = 4;
    let (peer, seed) = (Peer::named(name), seed());
    let cases: Mutex<Vec<Case>> = Mutex::new((peer.suite)().cases().to_vec());
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(case) = cases.lock().unwrap().pop() else {
                        return;
                    };
                    if let Err(found) = judge(peer, &case, seed) {
                        wrong.lock().unwrap().push(found);
                    }
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    let wrong = wrong.concat();
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
    async_channel_values, flume_values, kanal_values, futures_mpsc_values, tokio_mpsc_sends,
    async_channel_sends, flume_sends, kanal_sends,
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

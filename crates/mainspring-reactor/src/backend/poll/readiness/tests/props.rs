//! The word against a model that keeps every report in a list.

use crate::backend::poll::readiness::{Half, OnClear, Readiness, Report, Snapshot};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Report(bool, bool),
    Look,
    Clear(Half),
    Leave,
    Fasten,
}

fn step() -> impl Strategy<Value = Step> {
    let half = prop_oneof![Just(Half::Read), Just(Half::Write)];
    prop_oneof![
        4 => (any::<bool>(), any::<bool>()).prop_map(|(read, write)| Step::Report(read, write)),
        4 => Just(Step::Look),
        4 => half.prop_map(Step::Clear),
        1 => Just(Step::Leave),
        2 => Just(Step::Fasten),
    ]
}

/// What a source knows, said plainly: is each half ready, how many reports, and does nobody report.
struct Naive {
    ready: [bool; 2],
    reports: usize,
    loose: bool,
}

proptest! {
    // WITNESS: readiness.newer, readiness.loose
    #[test]
    fn any_order_of_reports_and_clears_is_like_the_naive_model(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let word = Readiness::new();
        let mut naive = Naive { ready: [true, true], loose: true, reports: 0 };
        let mut seen: (Snapshot, usize, bool) = (word.snapshot(), 0, true);
        for step in steps {
            match step {
                Step::Report(read, write) => {
                    word.report(Report { read, write });
                    naive.ready[0] |= read;
                    naive.ready[1] |= write;
                    naive.reports += 1;
                }
                Step::Look => seen = (word.snapshot(), naive.reports, naive.loose),
                Step::Clear(half) => {
                    let ready = &mut naive.ready[half as usize];
                    let is_newer = naive.reports != seen.1;
                    *ready &= is_newer;
                    let expected = match (naive.loose, seen.2) {
                        (true, true) => OnClear::Loose,
                        (true, false) => OnClear::Retry,
                        _ if *ready => OnClear::Retry,
                        _ => OnClear::Wait,
                    };
                    prop_assert_eq!(word.clear(seen.0, half), expected);
                }
                Step::Leave => {
                    word.leave();
                    naive.loose = true;
                    naive.ready = [true; 2];
                    naive.reports += 1;
                }
                Step::Fasten => {
                    word.fasten();
                    naive.loose = false;
                    naive.reports += 1;
                }
            }
            let now = word.snapshot();
            prop_assert_eq!(now.is_loose(), naive.loose);
            prop_assert_eq!(now.is_ready(Half::Read), naive.ready[0] || naive.loose);
            prop_assert_eq!(now.is_ready(Half::Write), naive.ready[1] || naive.loose);
        }
    }
}

// WITNESS: readiness.newer
#[test]
fn clear_after_a_newer_report_leaves_it() {
    let word = Readiness::new();
    word.fasten();
    let seen = word.snapshot();
    word.report(Report {
        read: true,
        write: false,
    });
    assert_eq!(word.clear(seen, Half::Read), OnClear::Retry);
    assert!(word.snapshot().is_ready(Half::Read));
    assert_eq!(word.clear(word.snapshot(), Half::Read), OnClear::Wait);
    assert!(!word.snapshot().is_ready(Half::Read));
    assert!(word.snapshot().is_ready(Half::Write));
}

/// The printed form: readiness without a tick.
mod printed {
    pub(super) struct Flag(pub(super) bool);

    impl Flag {
        pub(super) fn clear(&mut self) {
            self.0 = false;
        }
    }
}

// WITNESS: readiness.newer
#[test]
fn without_a_tick_the_newer_event_is_erased() {
    let mut flag = printed::Flag(true);
    flag.0 = true; // the event, between the dry call and its clear
    flag.clear();
    assert!(!flag.0, "the printed form loses the event");

    let word = Readiness::new();
    word.fasten();
    let seen = word.snapshot();
    word.report(Report::BOTH);
    let _ = word.clear(seen, Half::Read);
    assert!(word.snapshot().is_ready(Half::Read), "ours keeps it");
}

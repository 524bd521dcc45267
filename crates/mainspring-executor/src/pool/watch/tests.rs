use super::{Verdict, Watch};
use mainspring_core::time::Nanos;
use mainspring_testkit::seeded;
use std::time::Duration;

const THRESHOLD: Duration = Duration::from_nanos(100);

fn watch() -> Watch {
    Watch::new(THRESHOLD, 1, Nanos(1_000))
}

/// One round that looks at one thread.
fn round(watch: &mut Watch, now: u64, beats: u64) -> (Verdict, bool) {
    watch.begin_round(Nanos(now));
    let verdict = watch.look(0, beats);
    (verdict, watch.end_round())
}

// WITNESS: watch.threshold, watch.once
#[test]
fn poll_that_outlasts_the_threshold_is_stuck_once_and_back_once() {
    let mut watch = watch();
    let mut look = |now, beats| round(&mut watch, now, beats).0;
    assert_eq!(look(1_050, 7), Verdict::Fine);
    assert_eq!(look(1_100, 7), Verdict::Fine, "watch.threshold: half of it");
    assert_eq!(look(1_151, 7), Verdict::Stuck(Duration::from_nanos(101)));
    assert_eq!(look(1_200, 7), Verdict::StillStuck, "watch.once");
    assert_eq!(look(1_250, 9), Verdict::Back(Duration::from_nanos(200)));
    assert_eq!(look(1_300, 9), Verdict::Fine, "watch.once");
    // Another poll of the same thread begins anew.
    assert_eq!(look(1_350, 9), Verdict::Stuck(THRESHOLD));
}

// WITNESS: pulse.odd
#[test]
fn thread_that_waits_in_its_driver_is_never_stuck() {
    let mut watch = watch();
    for n in 1..100 {
        let (verdict, is_quiet) = round(&mut watch, 1_000 + 50 * n, 8);
        assert_eq!(verdict, Verdict::Fine, "pulse.odd");
        assert_eq!(is_quiet, n > 1);
    }
}

// WITNESS: watch.late
#[test]
fn look_that_comes_late_begins_the_count_anew() {
    let mut watch = watch();
    let mut look = |now, beats| round(&mut watch, now, beats).0;
    assert_eq!(look(1_050, 7), Verdict::Fine);
    assert_eq!(look(1_150, 7), Verdict::Fine, "watch.late");
    assert_eq!(look(1_200, 7), Verdict::Fine, "watch.late: from there on");
    assert_eq!(look(1_250, 7), Verdict::Stuck(THRESHOLD));
    // Who is stuck stays so: its pulse says it.
    assert_eq!(look(9_000, 7), Verdict::StillStuck);
    assert_eq!(look(99_000, 8), Verdict::Back(Duration::from_nanos(97_850)));
}

// WITNESS: watch.late
#[test]
fn pause_that_is_wanted_begins_the_count_anew() {
    let mut watch = watch();
    let _ = round(&mut watch, 1_050, 7);
    watch.begin_anew();
    assert_eq!(round(&mut watch, 1_150, 7).0, Verdict::Fine);
    assert_eq!(round(&mut watch, 1_200, 7).0, Verdict::Fine);
    assert_eq!(round(&mut watch, 1_250, 7).0, Verdict::Stuck(THRESHOLD));
}

/// Whether the last of these looks ends a run of equal ones, all in a poll, that spans the
/// threshold: the looks before one that is late do not count.
fn is_stuck(looks: &[(u64, u64)]) -> bool {
    let [.., (now, beats)] = looks else {
        return false;
    };
    let mut first = *now;
    for (n, (when, seen)) in looks.iter().enumerate().rev() {
        // In the first round, nobody knows since when.
        let is_late = n == 0 || when - looks[n - 1].0 >= 100;
        if seen != beats || beats % 2 == 0 {
            break;
        }
        first = *when;
        if is_late {
            break;
        }
    }
    now - first >= 100
}

// WITNESS: watch.threshold, watch.late, watch.once
#[test]
fn any_looks_give_the_verdicts_of_the_plain_rule() {
    for _ in 0..500 {
        seeded(|random| {
            let mut watch = watch();
            let (mut now, mut beats) = (1_000, 0_u64);
            let mut looks = Vec::new();
            let mut was_stuck = false;
            for _ in 0..60 {
                now += u64::from(match random.below(8) {
                    0 => 100 + random.below(200),
                    _ => 50 + random.below(40),
                });
                beats += u64::from(match random.below(4) {
                    0 => 1 + random.below(4),
                    _ => 0,
                });
                looks.push((now, beats));
                let is_same = looks.len() > 1 && looks[looks.len() - 2].1 == beats;
                // A look that is late ends no stall.
                let stuck = is_stuck(&looks) || (was_stuck && is_same);
                let (verdict, _) = round(&mut watch, now, beats);
                match (was_stuck, stuck) {
                    (false, false) => assert_eq!(verdict, Verdict::Fine),
                    (true, true) => assert_eq!(verdict, Verdict::StillStuck),
                    (false, true) => assert!(matches!(verdict, Verdict::Stuck(_)), "{looks:?}"),
                    (true, false) => assert!(matches!(verdict, Verdict::Back(_)), "{looks:?}"),
                }
                was_stuck = stuck;
            }
        });
    }
}

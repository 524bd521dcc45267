use super::Extent;
use super::cell::{Cell, Expect, Fault};
use super::matrix::{self, Served};
use super::reference::Reference;
use crate::run::{Ending, Output};
use std::time::Duration;

const LOG: &str = "\
7 mmap(NULL, 4096) = 0x1
7 io_uring_setup(512, {flags=0}) = 3
7 mmap(NULL, 8192) = 0x2
8 mmap(NULL, 8192) = 0x3
7 mmap(NULL, 8192) = 0x4
7 io_uring_enter(3, 1, 1) = 1
7 mmap(NULL, 8192) = 0x5
7 io_uring_enter(3, 0, 1) = 0
7 +++ exited with 0 +++
";

fn cell(served: Served, expect: Expect) -> Cell {
    Cell {
        served,
        fault: Fault::Call {
            calls: "close",
            what: "error=EIO".to_owned(),
            when: "1".to_owned(),
        },
        expect,
    }
}

fn output(ending: Ending, stdout: &str) -> Output {
    Output {
        ending,
        elapsed: Duration::ZERO,
        stdout: stdout.to_owned(),
        stderr: String::new(),
    }
}

const WHOLE: &str = "2 of 2 exchanges are whole, 0 are wrong; 0 errors were told\ncpu 10 ms\n";
const TOLD: &str = "client 1: boom\n2 of 2 exchanges are whole, 0 are wrong; 1 errors were told\n\
                    cpu 10 ms\n";
const INJECTED: Option<&str> = Some("7 close(3) = -1 EIO (INJECTED)\n");

#[test]
fn a_log_is_counted_by_thread_and_knows_the_maps_of_the_ring() {
    let reference = Reference::read(LOG);
    assert_eq!(reference.count("mmap"), 4);
    assert_eq!(reference.count("io_uring_enter,nothing"), 2);
    assert_eq!(reference.count("nothing"), 0);
    assert_eq!(reference.ring_maps(), [2, 3]);
}

#[test]
fn what_must_never_come_of_a_fault_fails_whatever_is_expected() {
    let cell = cell(Served::Poll, Expect::Ends);
    let judge = |ending, stdout, log| cell.judge(&output(ending, stdout), log);
    assert_eq!(judge(Ending::Success, WHOLE, INJECTED), Ok(()));
    assert_eq!(judge(Ending::Code(1), TOLD, INJECTED), Ok(()));
    let hang = Ending::TimedOut(Duration::from_secs(1));
    for (ending, stdout, log) in [
        (hang, WHOLE, INJECTED),
        (Ending::Code(3), WHOLE, INJECTED),
        (Ending::Code(101), WHOLE, INJECTED),
        (Ending::Signal(6), WHOLE, INJECTED),
        (Ending::Success, WHOLE, Some("7 close(3) = 0\n")),
        (
            Ending::Success,
            "thread 'x' panicked at y\ncpu 10 ms\n",
            INJECTED,
        ),
        (Ending::Success, "cpu 10000 ms\n", INJECTED),
        (Ending::Success, "no word of the processor\n", INJECTED),
        (Ending::Code(1), WHOLE, INJECTED),
        (Ending::Code(127), WHOLE, INJECTED),
    ] {
        let why = format!("{ending:?} {stdout} {log:?}");
        assert!(judge(ending, stdout, log).is_err(), "{why}");
    }
    let unborn = "x: error while loading shared libraries: y";
    assert_eq!(judge(Ending::Code(127), unborn, INJECTED), Ok(()));
    let spins = "(INJECTED)".repeat(10_000);
    assert!(judge(Ending::Success, WHOLE, Some(&spins)).is_err());
}

#[test]
fn each_expectation_tells_what_it_wants_from_the_rest() {
    let refused = "exchange: cannot start: no (MS0009)\ncpu 10 ms\n";
    let fell_back = "readiness serves: no\n0 errors were told; 0 errors were told\ncpu 10 ms\n";
    let runs = [
        (Ending::Success, WHOLE),
        (Ending::Success, TOLD),
        (Ending::Code(1), refused),
        (Ending::Success, fell_back),
    ];
    let passing = |served, expect| -> Vec<bool> {
        let judge = |(ending, stdout): &(Ending, &str)| {
            let output = output(ending.clone(), stdout);
            cell(served, expect).judge(&output, INJECTED).is_ok()
        };
        runs.iter().map(judge).collect()
    };
    let on = |expect| passing(Served::Uring, expect);
    assert_eq!(on(Expect::Unseen), [true, false, false, true]);
    assert_eq!(on(Expect::Told("boom")), [false, true, false, false]);
    assert_eq!(on(Expect::Told("bang")), [false; 4]);
    assert_eq!(on(Expect::Survives), [true, true, false, true]);
    assert_eq!(on(Expect::Refused("no")), [false, false, true, false]);
    assert_eq!(on(Expect::NoRing("no")), [false, false, true, false]);
    let auto = passing(Served::Auto, Expect::NoRing("no"));
    assert_eq!(auto, [false, false, false, true]);
}

#[test]
fn the_short_form_is_a_part_of_the_full_one() {
    let reference = Reference::read(&LOG.repeat(10));
    for served in Served::ALL {
        let full = matrix::cells(served, &reference, Extent::Full);
        let short = matrix::cells(served, &reference, Extent::Short);
        assert!(short.len() < full.len());
        assert!(short.iter().all(|cell| full.contains(cell)), "{served}");
        for (at, cell) in full.iter().enumerate() {
            assert!(!full[..at].contains(cell), "twice: {cell}");
        }
    }
}

use super::{Reported, Standing, details};
use crate::bench::machine::Machine;
use crate::bench::record::{Entry, Line, table};
use crate::bench::rows::{self, Row};

fn row(id: &str) -> &'static Row {
    rows::select(&[String::from(id)]).expect("a row")[0]
}

/// The entries of a row from what each implementation gave, round by round.
fn measured(id: &str, values: &[(&str, &[f64])]) -> Vec<Entry> {
    let row = row(id);
    let mut lines = Vec::new();
    for (name, rounds) in values {
        for (round, value) in (0..).zip(*rounds) {
            let text = format!(
                "{{\"row\":\"{id}\",\"impl\":\"{name}\",\"metric\":\"{}\",\"value\":{value},\
                 \"ran_ns\":1,\"waited_ns\":0,\"calm\":true,\"note\":\"\"}}",
                row.metric
            );
            lines.push(Line::parse(&text, round).expect("a line"));
        }
    }
    table(row, &lines)
}

fn remark(id: &str, values: &[(&str, &[f64])], name: &str) -> String {
    let entries = measured(id, values);
    let entry = entries.iter().find(|entry| entry.name == name);
    details(row(id), entry.expect("an entry"))
}

fn standing(id: &str, values: &[(&str, &[f64])]) -> Standing {
    let line = Machine::parse("{}").expect("an unknown machine");
    let reported = Reported {
        row: row(id),
        machine: line,
        entries: measured(id, values),
        rounds: 1,
    };
    reported.standing()
}

#[test]
fn each_server_is_judged_by_its_own_bar_or_by_none() {
    let values: &[(&str, &[f64])] = &[
        ("raw-ring", &[10.0]),
        ("tokio", &[11.5]),
        ("ours", &[10.5]),
        ("ours-plain", &[11.5]),
        ("ours-poll", &[12.0]),
        ("ours-shared", &[10.0]),
        ("ours-traits", &[20.0]),
    ];
    let remark = |name| remark("echo-64-64", values, name);
    assert_eq!(remark("ours"), "past its first bar");
    assert_eq!(remark("ours-plain"), "at its bar, 1.00 × tokio (1.00 ×)");
    assert_eq!(remark("ours-poll"), "below its bar, 1.00 × tokio (1.04 ×)");
    assert_eq!(remark("ours-shared"), "");
    assert_eq!(remark("ours-traits"), "");
    assert_eq!(remark("tokio"), "");
}

#[test]
fn server_whose_peer_was_not_measured_is_not_judged() {
    let values: &[(&str, &[f64])] = &[("raw-ring", &[10.0]), ("ours-plain", &[9.0])];
    assert_eq!(remark("echo-64-64", values, "ours-plain"), "");
}

#[test]
fn lateness_binds_the_two_backends_and_not_the_bare_thread_driver() {
    let values: &[(&str, &[f64])] = &[
        ("smol", &[55.0]),
        ("ours-ring", &[95.04]),
        ("ours-poll", &[120.4]),
        ("ours", &[133.0]),
    ];
    let remark = |name| remark("sleep-lateness", values, name);
    assert_eq!(remark("ours-ring"), "at its goal");
    assert_eq!(remark("ours-poll"), "past its first bar");
    assert_eq!(remark("ours"), "");
}

#[test]
fn hyper_on_readiness_is_compared_with_tokio() {
    let values: &[(&str, &[f64])] = &[
        ("hyper-tokio", &[10.0]),
        ("ours-hyper", &[9.6]),
        ("ours-hyper-poll", &[9.6]),
    ];
    let remark = |name| remark("hyper-512", values, name);
    assert_eq!(remark("ours-hyper"), "below its first bar");
    assert_eq!(
        remark("ours-hyper-poll"),
        "at its bar, 1.00 × hyper-tokio (0.96 ×)"
    );
}

#[test]
fn ratio_that_is_shown_as_the_bar_is_at_it() {
    let against = |ours: f64| {
        remark(
            "timer-bulk",
            &[("monoio", &[100.0]), ("ours", &[ours])],
            "ours",
        )
    };
    assert_eq!(against(32.49), "past its first bar");
    assert_eq!(against(32.51), "below its first bar");
    assert_eq!(against(21.49), "at its goal");
}

// In two rounds of three ours is the faster one; the medians of the values say the opposite, since
// the machine was not as fast in all rounds.
#[test]
fn row_is_lost_or_won_by_the_ratio_within_the_rounds() {
    let monoio: &[f64] = &[100.0, 107.0, 150.0];
    let ours: &[f64] = &[90.0, 138.0, 139.0];
    let entries = measured("ping-pong", &[("monoio", monoio), ("ours", ours)]);
    assert!(entries[0].name == "monoio" && entries[1].ratio < 0.94);
    let won = standing("ping-pong", &[("monoio", monoio), ("ours", ours)]);
    assert_eq!(won, Standing::Won);
    // Whoever is best counts, be it the named peer or not, and no floor.
    let third: &[f64] = &[89.0, 137.0, 138.0];
    let with = |name| {
        let values = [("monoio", monoio), ("ours", ours), (name, third)];
        standing("ping-pong", &values)
    };
    assert_eq!(with("smol"), Standing::Even);
    assert_eq!(with("floor"), Standing::Won);
    assert_eq!(
        standing("ping-pong", &[("ours", ours)]),
        Standing::Unmeasured
    );
}

#[test]
fn every_bar_names_an_implementation_of_ours() {
    for row in rows::all() {
        assert!(!row.bars_by_name.is_empty(), "{}", row.id);
        for (name, _) in row.bars_by_name {
            assert!(name.starts_with("ours"), "{}: {name}", row.id);
        }
    }
}

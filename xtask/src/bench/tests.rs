use super::record::{Line, quantile, table};
use super::rows::{all, select};
use super::{Asked, parse};

fn line(round: u32, name: &str, value: f64) -> Line {
    let text = format!(
        "{{\"row\":\"chain\",\"impl\":\"{name}\",\"metric\":\"ns\",\"value\":{value},\
         \"ran_ns\":94,\"waited_ns\":6,\"calm\":true,\"note\":\"\"}}"
    );
    Line::parse(&text, round).expect("a line")
}

fn chain() -> &'static super::rows::Row {
    select(&[String::from("chain")]).expect("a row")[0]
}

#[test]
fn options_are_read_and_unknown_ones_refused() {
    let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
    let asked = parse(&words("sched wake --reps 7 --only tokio,floor")).expect("good");
    assert_eq!(
        asked,
        Some(Asked {
            rows: words("sched wake"),
            only: words("tokio floor"),
            reps: 7,
            passes: 3,
            program: None,
            report_only: false,
        })
    );
    assert!(parse(&words("--reps 0")).is_err());
    assert!(parse(&words("--quick")).is_err());
    assert_eq!(parse(&words("--help")), Ok(None));
}

#[test]
fn ratio_is_taken_within_each_round() {
    // The machine slows down by half between the rounds: the values move, the ratios do not.
    let lines = [
        line(0, "monoio", 10.0),
        line(0, "tokio", 20.0),
        line(1, "monoio", 15.0),
        line(1, "tokio", 30.0),
    ];
    let table = table(chain(), &lines);
    assert_eq!(table[0].name, "monoio");
    assert_eq!(table[1].ratio, 2.0);
    assert_eq!(table[1].spread, 0.0);
    assert_eq!(table[1].value, 25.0);
    assert!((table[1].waited_max - 0.06).abs() < 1e-9);
}

#[test]
fn line_keeps_its_round_through_the_store() {
    let kept = line(3, "tokio", 1.5);
    let again = Line::parse(&kept.raw, 0).expect("a line");
    assert_eq!(again, kept);
}

#[test]
fn quantile_interpolates_between_neighbours() {
    assert_eq!(quantile(&[4.0, 1.0, 2.0, 3.0], 0.5), 2.5);
    assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.75), 4.0);
    assert!(quantile(&[], 0.5).is_nan());
}

#[test]
fn rows_have_one_name_each_and_groups_select_them() {
    let mut ids: Vec<&str> = all().map(|row| row.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all().count());
    let timers = select(&[String::from("timers")]).expect("a group");
    assert!(timers.iter().all(|row| row.group == "timers") && !timers.is_empty());
    assert!(select(&[String::from("nonsense")]).is_err());
}

use super::{History, Stamp};

fn stamp(producer: u32, place: u64) -> Stamp {
    Stamp { producer, place }
}

#[test]
fn values_that_arrive_once_and_in_order_are_clean() {
    let history = History::new();
    let mut producers = [history.producer(), history.producer()];
    let consumers = [history.consumer(), history.consumer()];
    for place in 0..10 {
        for producer in &mut producers {
            let stamp = producer.stamp();
            if place == 7 {
                producer.returned(stamp);
            } else {
                // Any consumer may be far ahead of another.
                consumers[place % 2].received(stamp);
            }
        }
    }
    let verdict = history.verdict();
    assert_eq!(verdict.values, 20);
    verdict.assert_clean();
    assert_eq!(verdict.to_string(), "20 values");
}

#[test]
fn each_kind_of_fault_is_named() {
    let history = History::new();
    let mut producer = history.producer();
    let consumer = history.consumer();
    let stamps: Vec<Stamp> = (0..5).map(|_| producer.stamp()).collect();
    consumer.received(stamps[0]);
    consumer.received(stamps[3]);
    consumer.received(stamps[2]);
    consumer.received(stamps[0]);
    producer.returned(stamps[3]);
    consumer.received(stamp(9, 9));
    let verdict = history.verdict();
    assert_eq!(verdict.lost, [stamps[1], stamps[4]]);
    assert_eq!(verdict.doubled, [stamps[0], stamps[3]]);
    assert_eq!(verdict.invented, [stamp(9, 9)]);
    assert_eq!(verdict.overtaken, [(stamps[2], stamps[3])]);
    assert!(!verdict.is_clean());
    assert_eq!(
        verdict.to_string(),
        "5 values, 2 lost: 0/1 0/4, 2 doubled: 0/0 0/3, 1 invented: 9/9, 1 overtaken: 0/2 by 0/3"
    );
}

//! The rows of channels and locks.

use super::{Reference, Row, timed};

const fn sync(
    id: &'static str,
    title: &'static str,
    peer: (&'static str, f64, f64),
    reference: Reference,
) -> Row {
    timed("sync", id, title, "ns", peer, reference)
}

/// The rows.
pub(super) const ROWS: &[Row] = &[
    sync(
        "channel-solo",
        "send+recv uncontended, capacity 64, ns",
        ("kanal", 1.1, 0.79),
        &[
            ("kanal", 14.0),
            ("flume", 18.0),
            ("async-channel", 27.0),
            ("tokio", 36.0),
        ],
    ),
    sync(
        "channel-unbounded",
        "send+recv uncontended, unbounded, ns",
        ("futures", 1.1, 0.96),
        &[("futures", 13.5), ("tokio", 17.0)],
    ),
    sync(
        "channel-tasks-64",
        "tasks on one thread, 1p1c, capacity 64, ns a message",
        ("flume", 1.0, 0.72),
        &[
            ("kanal", 14.1),
            ("flume", 19.6),
            ("async-channel", 31.3),
            ("tokio", 38.5),
        ],
    ),
    sync(
        "channel-tasks-1",
        "tasks on one thread, 1p1c, capacity 1, ns a message",
        ("flume", 1.0, 0.7),
        &[
            ("kanal", 38.5),
            ("flume", 71.4),
            ("tokio", 125.0),
            ("async-channel", 167.0),
        ],
    ),
    sync(
        "channel-two-1p1c",
        "two workers, 1p1c, capacity 64, ns a message",
        ("flume", 1.0, 0.46),
        &[
            ("kanal", 21.7),
            ("tokio", 41.7),
            ("flume", 47.6),
            ("async-channel", 83.3),
        ],
    ),
    sync(
        "channel-two-4p4c",
        "two workers, 4p4c, capacity 64, ns a message",
        ("flume", 1.0, 0.82),
        &[("kanal", 26.3), ("flume", 32.3), ("async-channel", 66.7)],
    ),
    sync(
        "channel-blocking",
        "blocking ends, 1p1c, capacity 1,024, ns a message",
        ("flume", 1.0, 0.14),
        &[
            ("kanal", 6.0),
            ("thingbuf", 11.8),
            ("crossbeam", 23.8),
            ("flume", 111.0),
        ],
    ),
    sync(
        "oneshot-value-first",
        "oneshot, value first, ns",
        ("oneshot", 1.3, 1.0),
        &[("oneshot", 10.8), ("tokio", 15.6)],
    ),
    sync(
        "oneshot-parked-first",
        "oneshot, parked first, ns",
        ("oneshot", 1.3, 1.0),
        &[("oneshot", 16.0), ("tokio", 19.2)],
    ),
    sync(
        "mutex-solo",
        "mutex, alone, ns",
        ("async-lock", 1.3, 0.98),
        &[("async-lock", 7.1), ("futures", 7.1), ("tokio", 22.0)],
    ),
    sync(
        "mutex-two",
        "mutex, two threads, ns (fair: tokio's)",
        ("tokio", 1.0, 0.5),
        &[("tokio", 108.0), ("async-lock", 8.3), ("futures", 8.3)],
    ),
    sync(
        "semaphore-solo",
        "semaphore, alone, ns",
        ("async-lock", 1.3, 0.82),
        &[("async-lock", 11.0), ("tokio", 17.0)],
    ),
    sync(
        "notify-one",
        "notification, one thread, ns a way",
        ("tokio", 1.3, 0.89),
        &[("tokio", 45.0), ("event-listener", 67.0)],
    ),
    sync(
        "notify-two",
        "notification, two workers, ns a way",
        ("tokio", 1.3, 0.9),
        &[("tokio", 105.0), ("event-listener", 172.0)],
    ),
];

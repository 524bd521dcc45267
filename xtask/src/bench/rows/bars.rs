//! Which of our implementations has which bar in a row. Those that have none are measured and not
//! judged.

use super::Row;

/// What one of our implementations is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bar {
    /// The row's first bar and goal.
    OfRow,
    /// At most so many times a peer's value.
    AtMost { ratio: f64, peer: &'static str },
}

/// Bars by the name of an implementation.
pub(crate) type BarsByName = &'static [(&'static str, Bar)];

/// The one implementation that most rows have.
pub(crate) const OURS: BarsByName = &[("ours", Bar::OfRow)];

/// The two backends: the driver's own wait counts, and the bare thread driver is what they improve
/// on.
pub(crate) const REACTORS: BarsByName = &[("ours-ring", Bar::OfRow), ("ours-poll", Bar::OfRow)];

/// The two backends, and the bare thread driver.
pub(crate) const DRIVERS: BarsByName = &[
    ("ours", Bar::OfRow),
    ("ours-ring", Bar::OfRow),
    ("ours-poll", Bar::OfRow),
];

/// Servers: pooled calls on the ring have the row's bar; plain calls, there and on readiness, have
/// to be no worse than tokio's.
pub(crate) const SERVERS: BarsByName = &[
    ("ours", Bar::OfRow),
    ("ours-plain", NO_WORSE_THAN_TOKIO),
    ("ours-poll", NO_WORSE_THAN_TOKIO),
];

const NO_WORSE_THAN_TOKIO: Bar = Bar::AtMost {
    ratio: 1.0,
    peer: "tokio",
};

/// The same of servers under hyper.
pub(crate) const HYPER: BarsByName = &[
    ("ours-hyper", Bar::OfRow),
    (
        "ours-hyper-poll",
        Bar::AtMost {
            ratio: 1.0,
            peer: "hyper-tokio",
        },
    ),
];

impl Row {
    /// The same row with other bars for our implementations.
    pub(super) const fn binding(mut self, bars_by_name: BarsByName) -> Row {
        self.bars_by_name = bars_by_name;
        self
    }

    /// The bar of one of our implementations, if it has one here.
    pub(crate) fn bar_of(&self, name: &str) -> Option<Bar> {
        let found = self.bars_by_name.iter().find(|(who, _)| *who == name);
        found.map(|&(_, bar)| bar)
    }
}

//! What kind of primitive the suite has before it.

/// What a [`Subject`](super::Subject) can do, and what it promises: the suite checks what the shape
/// promises, and skips what it does not.
///
/// Begin with the constructor that fits, and add promises:
///
/// | primitive | shape |
/// |---|---|
/// | semaphore; receiving from an unbounded channel | `counting()` |
/// | mutex; write half of a lock; a channel with one slot | `exclusive()` |
/// | event that keeps one notification | `remembering()` |
/// | event that keeps none, condition variable | `fleeting()` |
/// | barrier, watch, once: nobody is let go alone | `broadcasting()` |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Shape {
    /// How many grants are kept while nobody waits.
    pub(super) stored: usize,
    /// How many grants may be out at the same time, given and not used up.
    pub(super) at_once: usize,
    pub(super) is_fifo: bool,
    pub(super) is_budgeted: bool,
    pub(super) releases_all: bool,
    pub(super) latches: bool,
    pub(super) closes: bool,
}

impl Shape {
    const fn with(stored: usize, at_once: usize) -> Self {
        Self {
            stored,
            at_once,
            is_fifo: false,
            is_budgeted: false,
            releases_all: false,
            latches: false,
            closes: false,
        }
    }

    /// Every grant is kept until somebody uses it up.
    pub const fn counting() -> Self {
        Self::with(usize::MAX, usize::MAX)
    }

    /// As [`counting`](Self::counting), up to so many unused at a time.
    pub const fn up_to(grants: usize) -> Self {
        Self::with(grants, grants)
    }

    /// One grant at a time: the next is given when the last one was used up.
    pub const fn exclusive() -> Self {
        Self::up_to(1)
    }

    /// Of the grants given while nobody waits one is kept; each waiter can have its own.
    pub const fn remembering() -> Self {
        Self::with(1, usize::MAX)
    }

    /// A grant given while nobody waits is gone.
    pub const fn fleeting() -> Self {
        Self::with(0, usize::MAX)
    }

    /// Waiters are released all at once, never one alone.
    pub const fn broadcasting() -> Self {
        Self::with(0, 0).releases_all()
    }

    /// It promises first come, first served among those that were polled, and that a newcomer takes
    /// nothing that was granted to somebody who waits.
    pub const fn fifo(mut self) -> Self {
        self.is_fifo = true;
        self
    }

    /// It asks the cooperative budget of mainspring: a waiter that finds a grant when it comes
    /// yields first, if its task's budget is used up.
    pub const fn budgeted(mut self) -> Self {
        self.is_budgeted = true;
        self
    }

    /// It can release everybody who waits: [`grant_all`](super::Subject::grant_all).
    pub const fn releases_all(mut self) -> Self {
        self.releases_all = true;
        self
    }

    /// Releasing all also lets everybody go who comes later: a value that was set, a latch.
    pub const fn latching(mut self) -> Self {
        self.latches = true;
        self
    }

    /// It can be closed, for good: [`close`](super::Subject::close).
    pub const fn closes(mut self) -> Self {
        self.closes = true;
        self
    }
}

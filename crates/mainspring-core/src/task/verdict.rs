//! What a transition of the state word owes: one enum for each.

/// What the poller of a runnable does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the task is RUNNING: nobody else will end that"]
pub(crate) enum OnBegin {
    /// Poll the future, then cross `State::end` or `State::complete`.
    Poll,
    /// Drop the future, then cross `State::complete`.
    Drop,
}

/// What is owed after a poll that returned `Pending`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a runnable that is not taken is never run"]
pub(crate) enum OnEnd {
    /// Nothing; the caller holds no reference any more.
    Idle,
    /// It was woken meanwhile: the runnable is the caller's, who schedules it.
    Schedule,
    /// It was aborted meanwhile: the runnable is the caller's, who begins it again to drop it.
    Drop,
}

/// What a waker or an abort owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a runnable that is not taken is never run"]
pub(crate) enum OnWake {
    /// The runnable is the caller's, who schedules it.
    Schedule,
    /// Somebody else will see to it, or the task is complete.
    Nothing,
    /// The last reference went: free the task. Only by-value wakes say so.
    Free,
}

/// What becomes of the place where the future was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It holds the output.
    Output,
    /// It holds the payload of a panic.
    Panic,
    /// It holds nothing.
    Empty,
}

/// What the thread that ended the future owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "dropping the verdict leaks the task or strands its joiner"]
pub(crate) enum OnComplete {
    /// Nothing; the caller holds no reference any more.
    Done,
    /// Nobody joins: drop what is in the place and complete again, as `Empty`. Still `RUNNING`.
    Unwanted,
    /// Take the join waker out, cross `State::release_running`, then wake.
    WakeJoiner,
    /// Nobody holds the task: free it.
    Free,
}

/// What is owed after giving a reference up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the last reference frees"]
pub(crate) enum OnRelease {
    /// Others hold the task.
    Shared,
    /// Nobody holds the task: free it.
    Free,
}

/// What the join handle finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a result that is found is the join handle's to take"]
pub(crate) enum OnJoin {
    /// Not complete, and no waker of the handle's is registered.
    Pending,
    /// Not complete, and the registered waker is there to be compared.
    Registered,
    /// Complete: what is in the place belongs to the handle.
    Complete(Outcome),
}

/// What the join handle's drop finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the handle's reference must be given up"]
pub(crate) enum OnDetach {
    /// Done: the task goes on without the handle.
    Detached,
    /// A waker is registered: withdraw it, then detach again.
    Registered,
    /// Complete: drop what is in the place, then cross `State::release_handle`.
    Complete(Outcome),
}

/// Where a dropped runnable of a local task goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the future is neither dropped nor sent home yet"]
pub(crate) enum OnRoute {
    /// Home, by its scheduler.
    Home,
    /// It was sent home before and came back: nobody is there. Leak it.
    Nowhere,
}

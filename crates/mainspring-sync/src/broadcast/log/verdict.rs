//! What the log answers, and what a change owes.

/// What a receiver gets.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::broadcast) enum Take<V> {
    /// The next message.
    Got(V),
    /// So many messages were lost to it since it last received. Told once.
    Lagged(u64),
    /// It was disconnected, for good.
    Cut,
    /// Nothing yet.
    Empty,
    /// Nothing any more.
    Closed,
}

/// Why a message or a claim is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::broadcast) enum Refusal {
    /// No room, or others wait for it.
    Full,
    /// The channel was closed.
    Closed,
    /// Nobody would receive it.
    NoReceivers,
}

/// What became of a message.
#[derive(Debug)]
#[must_use = "holds a value to be dropped without the lock"]
pub(in crate::broadcast) enum Sent<V> {
    /// It is in the log. The one that had to go for it is to be dropped.
    Kept(Option<V>),
    /// It is not. `gone` is to be dropped, the other one handed back.
    Refused {
        /// The message.
        back: V,
        /// Why.
        why: Refusal,
        /// What had to go before that was known.
        gone: Option<V>,
    },
}

/// What is to be done about the senders that wait for room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::broadcast) enum Senders {
    /// Nothing.
    #[default]
    Leave,
    /// Offer them the room that there is.
    Serve,
    /// Release them all: none of them will find room, but a refusal.
    Release,
}

/// What a change owes to others, to be paid when the lock is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "somebody would sleep for ever"]
pub(in crate::broadcast) struct Owed {
    /// Wake the receivers that wait.
    pub(in crate::broadcast) receivers: bool,
    /// What to do about the senders that wait.
    pub(in crate::broadcast) senders: Senders,
    /// Wake those that watch for the end of interest.
    pub(in crate::broadcast) watchers: bool,
    /// There are messages that nobody needs: [`Log::collect`](super::Log::collect) them.
    pub(in crate::broadcast) garbage: bool,
}

impl Owed {
    /// Nothing at all.
    pub(in crate::broadcast) fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

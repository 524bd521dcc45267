//! What was found, by peer and case.

use crate::MakeSuite;
use crate::channels::{
    AsyncChannel, BoundedAsyncChannel, BoundedFlume, BoundedKanal, BoundedTokioMpsc, Flume,
    FuturesMpsc, Kanal, TokioMpsc,
};
use crate::peers::{
    AsyncChannelRecv, AsyncChannelSend, AsyncLockMutex, AsyncLockSemaphore, EventListener,
    FlumeRecv, FuturesMutex, KanalRecv, ThingbufSend, TokioMpscSend, TokioMutex, TokioNotify,
    TokioSemaphore, TokioSetOnce, TokioWatch,
};
use mainspring_testkit::conformance::{Channel, Subject, Suite};

/// What a case is expected to come to.
pub(crate) enum Expect {
    /// It passes, or is skipped.
    Holds,
    /// It fails, hangs or aborts.
    Misses(&'static str),
    /// Now one and now the other: a race.
    Varies,
}

/// A primitive of another crate.
pub(crate) struct Peer {
    /// The name of its test.
    pub(crate) name: &'static str,
    /// The name of its package.
    package: &'static str,
    /// What of it, in words.
    what: &'static str,
    pub(crate) suite: MakeSuite,
    /// The cases that do not hold, and how.
    misses: &'static [(&'static str, &'static str)],
    /// The cases that do not hold every time.
    varies: &'static [&'static str],
}

impl Peer {
    pub(crate) fn named(name: &str) -> &'static Self {
        let peer = PEERS.iter().find(|peer| peer.name == name);
        peer.expect("a peer of that name")
    }

    pub(crate) fn expected(&self, case: &str) -> Expect {
        if self.varies.contains(&case) {
            return Expect::Varies;
        }
        let miss = self.misses.iter().find(|(of, _)| *of == case);
        miss.map_or(Expect::Holds, |(_, word)| Expect::Misses(word))
    }

    /// Its row of the table in the documentation.
    pub(crate) fn row(&self) -> String {
        let mut found = Vec::new();
        for (case, word) in self.misses {
            found.push(format!("`{case}` {word}"));
        }
        for case in self.varies {
            found.push(format!("`{case}` varies"));
        }
        let found = if found.is_empty() {
            "–".to_owned()
        } else {
            found.join(", ")
        };
        let (package, what) = (self.package, self.what);
        format!("| {package} {} | {what} | {found} |", version(package))
    }
}

/// The version of a package in the lock file.
fn version(package: &str) -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let name = format!("name = \"{package}\"\nversion = \"");
    let at = lock.find(&name).expect("the package is in the lock file") + name.len();
    lock[at..].split('"').next().unwrap_or("")
}

const fn subject<S: Subject>() -> MakeSuite {
    Suite::of_subject::<S>
}

const fn values<C: Channel>() -> MakeSuite {
    Suite::of_channel::<C>
}

pub(crate) const PEERS: &[Peer] = &[
    Peer {
        name: "tokio_semaphore",
        package: "tokio",
        what: "`Semaphore`",
        suite: subject::<TokioSemaphore>(),
        misses: &[("clone_calls_back", "hung"), ("wake_panics", "failed")],
        varies: &[],
    },
    Peer {
        name: "tokio_mutex",
        package: "tokio",
        what: "`Mutex`",
        suite: subject::<TokioMutex>(),
        misses: &[("clone_calls_back", "hung")],
        varies: &[],
    },
    Peer {
        name: "tokio_notify",
        package: "tokio",
        what: "`Notify`",
        suite: subject::<TokioNotify>(),
        misses: &[("clone_calls_back", "hung"), ("wake_panics", "failed")],
        varies: &[],
    },
    Peer {
        name: "tokio_mpsc_send",
        package: "tokio",
        what: "`mpsc`, sending",
        suite: subject::<TokioMpscSend>(),
        misses: &[("clone_calls_back", "hung"), ("wake_panics", "failed")],
        varies: &[],
    },
    Peer {
        name: "tokio_watch",
        package: "tokio",
        what: "`watch`",
        suite: subject::<TokioWatch>(),
        misses: &[("clone_calls_back", "hung")],
        // It draws one of several lists for each waiter: the panic passes over one's neighbours.
        varies: &["wake_panics"],
    },
    Peer {
        name: "tokio_set_once",
        package: "tokio",
        what: "`SetOnce`",
        suite: subject::<TokioSetOnce>(),
        misses: &[("clone_calls_back", "hung"), ("wake_panics", "failed")],
        varies: &[],
    },
    Peer {
        name: "async_lock_mutex",
        package: "async-lock",
        what: "`Mutex`",
        suite: subject::<AsyncLockMutex>(),
        misses: &[
            ("dropped_in_a_wake", "hung"),
            ("wake_calls_back", "hung"),
            ("clone_calls_back", "hung"),
            ("drop_calls_back", "hung"),
            ("wake_panics", "failed"),
            ("clone_panics", "aborted"),
        ],
        varies: &[],
    },
    Peer {
        name: "async_lock_semaphore",
        package: "async-lock",
        what: "`Semaphore`",
        suite: subject::<AsyncLockSemaphore>(),
        misses: &[
            ("dropped_in_a_wake", "hung"),
            ("wake_calls_back", "hung"),
            ("clone_calls_back", "hung"),
            ("drop_calls_back", "hung"),
            ("wake_panics", "failed"),
            ("clone_panics", "aborted"),
        ],
        varies: &[],
    },
    Peer {
        name: "event_listener",
        package: "event-listener",
        what: "`Event`",
        suite: subject::<EventListener>(),
        misses: &[
            ("dropped_in_a_wake", "hung"),
            ("wake_calls_back", "hung"),
            ("clone_calls_back", "hung"),
            ("drop_calls_back", "hung"),
            ("wake_panics", "failed"),
            ("clone_panics", "aborted"),
            ("release_spares_newcomers", "hung"),
        ],
        varies: &[],
    },
    Peer {
        name: "async_channel_recv",
        package: "async-channel",
        what: "receiving",
        suite: subject::<AsyncChannelRecv>(),
        misses: &[
            ("dropped_in_a_wake", "hung"),
            ("wake_calls_back", "hung"),
            ("clone_calls_back", "hung"),
            ("drop_calls_back", "hung"),
            ("wake_panics", "failed"),
            ("clone_panics", "aborted"),
        ],
        varies: &[],
    },
    Peer {
        name: "async_channel_send",
        package: "async-channel",
        what: "sending",
        suite: subject::<AsyncChannelSend>(),
        misses: &[
            ("dropped_in_a_wake", "hung"),
            ("wake_calls_back", "hung"),
            ("clone_calls_back", "hung"),
            ("drop_calls_back", "hung"),
            ("wake_panics", "failed"),
            ("clone_panics", "aborted"),
        ],
        varies: &[],
    },
    Peer {
        name: "flume_recv",
        package: "flume",
        what: "receiving",
        suite: subject::<FlumeRecv>(),
        misses: &[
            ("dropped_in_a_wake", "hung"),
            ("wake_calls_back", "hung"),
            ("clone_calls_back", "hung"),
            ("wake_panics", "aborted"),
            ("clone_panics", "aborted"),
            ("burst_gives_memory_back", "failed"),
        ],
        varies: &[],
    },
    Peer {
        name: "kanal_recv",
        package: "kanal",
        what: "receiving",
        suite: subject::<KanalRecv>(),
        misses: &[
            ("dropped_granted", "failed"),
            ("dropped_granted_alone", "failed"),
            ("dropped_repolled", "failed"),
            ("dropped_in_a_wake", "failed"),
            ("random_drops", "failed"),
            ("branches_of_one_task", "failed"),
            ("wake_calls_back", "hung"),
            ("clone_calls_back", "hung"),
            ("drop_calls_back", "failed"),
            ("wake_panics", "failed"),
            ("clone_panics", "hung"),
            ("burst_gives_memory_back", "failed"),
        ],
        // Its second poll looks whether it is still in line under the lock, and changes its waker
        // when it has let go of it: a sender may read the old one, or half of each, in between.
        varies: &[
            "grant_races_repoll",
            "grant_races_drop",
            "threads_lose_nothing",
        ],
    },
    Peer {
        name: "thingbuf_send",
        package: "thingbuf",
        what: "`mpsc`, sending",
        suite: subject::<ThingbufSend>(),
        misses: &[
            ("dropped_granted", "failed"),
            ("dropped_repolled", "failed"),
            ("dropped_in_a_wake", "failed"),
            ("branches_of_one_task", "failed"),
            ("clone_calls_back", "hung"),
            ("drop_calls_back", "hung"),
        ],
        varies: &["random_drops", "grant_races_drop", "threads_lose_nothing"],
    },
    Peer {
        name: "futures_mutex",
        package: "futures-util",
        what: "`lock::Mutex`",
        suite: subject::<FuturesMutex>(),
        misses: &[
            ("dropped_in_a_wake", "hung"),
            ("wake_calls_back", "hung"),
            ("clone_calls_back", "hung"),
            ("drop_calls_back", "hung"),
            ("wake_panics", "aborted"),
            ("clone_panics", "aborted"),
            ("drop_panics", "aborted"),
            ("burst_gives_memory_back", "failed"),
        ],
        varies: &[],
    },
    Peer {
        name: "tokio_mpsc_values",
        package: "tokio",
        what: "`mpsc`, values",
        suite: values::<TokioMpsc>(),
        misses: &[],
        varies: &[],
    },
    Peer {
        name: "async_channel_values",
        package: "async-channel",
        what: "values",
        suite: values::<AsyncChannel>(),
        misses: &[
            ("dropped_end_frees_values", "failed"),
            ("value_drop_panics", "failed"),
        ],
        varies: &[],
    },
    Peer {
        name: "flume_values",
        package: "flume",
        what: "values",
        suite: values::<Flume>(),
        misses: &[("dropped_end_frees_values", "failed")],
        varies: &[],
    },
    Peer {
        name: "kanal_values",
        package: "kanal",
        what: "values",
        suite: values::<Kanal>(),
        misses: &[
            ("dropped_receive_loses_nothing", "failed"),
            ("dropped_end_frees_values", "failed"),
        ],
        varies: &["threads_receive_exactly_once"],
    },
    Peer {
        name: "futures_mpsc_values",
        package: "futures-channel",
        what: "`mpsc`, values",
        suite: values::<FuturesMpsc>(),
        misses: &[],
        varies: &[],
    },
    Peer {
        name: "tokio_mpsc_sends",
        package: "tokio",
        what: "bounded `mpsc`, values",
        suite: values::<BoundedTokioMpsc>(),
        misses: &[],
        varies: &[],
    },
    Peer {
        name: "async_channel_sends",
        package: "async-channel",
        what: "bounded, values",
        suite: values::<BoundedAsyncChannel>(),
        misses: &[
            ("dropped_end_frees_values", "failed"),
            ("value_drop_panics", "failed"),
        ],
        varies: &[],
    },
    Peer {
        name: "flume_sends",
        package: "flume",
        what: "bounded, values",
        suite: values::<BoundedFlume>(),
        misses: &[("dropped_end_frees_values", "failed")],
        varies: &[],
    },
    Peer {
        name: "kanal_sends",
        package: "kanal",
        what: "bounded, values",
        suite: values::<BoundedKanal>(),
        misses: &[
            ("dropped_receive_loses_nothing", "failed"),
            ("dropped_end_frees_values", "failed"),
            ("repolled_send_is_woken", "failed"),
        ],
        varies: &["threads_receive_exactly_once", "threads_withdraw_sends"],
    },
];

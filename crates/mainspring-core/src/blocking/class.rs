//! Why a job blocks, which decides where it runs.

use std::num::NonZeroUsize;
use std::thread;

/// Why a job blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Blocking {
    /// It waits for the operating system: files, processes, a library without asynchronous calls.
    /// Its lane grows to 512 threads, because threads that wait cost no processor.
    Syscall,
    /// It computes. Its lane has as many threads as there are processors: more would only make each
    /// other slower.
    Compute,
    /// It may hang for long and nobody will miss its result: a name look-up, a read from the
    /// terminal. No shutdown waits for it. Its lane grows to 128 threads.
    Abandonable,
}

impl Blocking {
    /// All classes.
    pub const ALL: [Self; 3] = [Self::Syscall, Self::Compute, Self::Abandonable];

    /// How many threads its lane may have unless told otherwise.
    pub(super) fn thread_limit(self) -> usize {
        match self {
            Self::Syscall => 512,
            Self::Compute => thread::available_parallelism().map_or(1, NonZeroUsize::get),
            Self::Abandonable => 128,
        }
    }

    pub(super) fn thread_name(self) -> &'static str {
        match self {
            Self::Syscall => "ms-syscall",
            Self::Compute => "ms-compute",
            Self::Abandonable => "ms-abandonable",
        }
    }

    /// Whether a shutdown waits for it.
    pub(super) fn is_waited_for(self) -> bool {
        self != Self::Abandonable
    }
}

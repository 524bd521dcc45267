#[cfg(all(mainspring_loom, feature = "loom"))]
mod loom;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod threads;
#[cfg(not(all(mainspring_loom, feature = "loom")))]
mod unit;

use super::Blocks;
use crate::channel::shape::Widths;
use std::ptr::NonNull;

/// How many blocks there are: linked, spare, and of laps that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    linked: usize,
    spare: usize,
    ended: usize,
}

fn count<T, W: Widths>(blocks: &Blocks<T, W>) -> Count {
    let mut lists = blocks.lists.lock();
    let mut linked = 0;
    let mut block = blocks.front.current();
    while let Some(current) = block {
        linked += 1;
        // SAFETY: [blocks.freed] it is linked, and under the lock the gate stands still.
        block = NonNull::new(unsafe { current.as_ref() }.next());
    }
    let (spare, ended) = lists.count();
    Count {
        linked,
        spare,
        ended,
    }
}

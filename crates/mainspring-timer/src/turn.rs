//! One turn: fire what is due, in pieces, with the wakers called outside the lock.
//!
//! # Invariants
//!
//! - **turn.bounded** — a turn ends: it handles no more entries than were armed when it began, each
//!   at most once a level, however much its wakers arm. The lock is held for one piece at a time.
//! - **turn.quiet** — a waker runs with no lock held, so it may make, reset and drop timers; if it
//!   panics, the others are woken all the same.

use crate::geometry::LEVELS;
use crate::shard::{Lease, PIECE, Share};
use crate::wheel::Progress;
use mainspring_core::WakeBatch;
use mainspring_core::payload::absorb;
use mainspring_core::time::Nanos;

/// Rouses the shard, fires what is due at `now` and returns how many wakers were called. What
/// remains because of *turn.bounded* is due at the next turn, which then does not wait.
pub(crate) fn run(lease: &Lease, now: Nanos) -> usize {
    let mut pieces = usize::MAX;
    let mut woken = 0;
    loop {
        let mut batch = WakeBatch::new();
        let mut state = lease.rouse();
        pieces = pieces.min(most_pieces(state.len()));
        let progress = state.fire(now, PIECE, &mut batch);
        drop(state);
        woken += batch.len();
        wake(batch);
        debug_assert!(pieces > 0, "turn.bounded: a turn without end");
        pieces -= 1;
        if progress == Progress::Done || pieces == 0 {
            return woken;
        }
    }
}

/// Fires at most `limit` on behalf of the owner, if that needs no waiting for the lock.
pub(crate) fn rescue(share: Share, now: Nanos, limit: usize) -> usize {
    let mut woken = 0;
    for _ in 0..most_pieces(limit) {
        let mut batch = WakeBatch::new();
        let Some(mut state) = share.try_lock() else {
            break;
        };
        let progress = state.fire(now, PIECE.min(limit - woken), &mut batch);
        drop(state);
        woken += batch.len();
        wake(batch);
        if progress == Progress::Done || woken == limit {
            break;
        }
    }
    woken
}

/// In how many pieces `entries` fire, each of them moved down through every level.
fn most_pieces(entries: usize) -> usize {
    entries.saturating_mul(LEVELS) / PIECE + 1
}

/// Wakes all, whatever one of them does.
pub(crate) fn wake(mut batch: WakeBatch) {
    // The panic has been reported by its hook, and the worker serves others.
    absorb(|| batch.wake_all());
    debug_assert!(batch.is_empty(), "turn.quiet: a waker was not called");
}

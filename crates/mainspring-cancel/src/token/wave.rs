//! What a cancellation does to the tree, step by step.
//!
//! 1. Every node below is marked, one lock at a time, from the top: after that none is ALIVE.
//! 2. Those who wait are woken.
//! 3. The callbacks of those nodes that this wave marked are called, on this stack.
//! 4. Those of them that have nothing left are CANCELLED, from the bottom.
//!
//! Steps 3 and 4 are made by the wave's drop, so that they are made wherever it ends: a deadline
//! gives its wave to a task.
//!
//! # Invariants
//!
//! - **wave.whole** — when a call that cancels returns, everything below has left ALIVE, whoever
//!   marked it; a node is told only when that is so.
//! - **wave.once** — one wave marks a node, and calls its callbacks, each once and in the order of
//!   their registration; one that is being called is neither in the node's row nor removed.
//! - **wave.contained** — nothing that a callback or a waker does keeps the others from being
//!   called, or the node from being settled.
//!
//! # Rejected
//!
//! Leaving out what another wave has marked: that wave may not have come to the nodes below, and
//! the second caller would return before they are cancelled. It goes on where it has to.

use super::Phase;
use super::node::{self, Node};
use super::register::{Callback, Running};
use super::report::{Panics, report};
use crate::reason::Reason;
use mainspring_core::Completer;
use mainspring_core::payload::{Payload, contain, discard};
use mainspring_core::sync::Arc;
use std::panic::Location;

/// A node on a wave's way.
struct Visit {
    node: Arc<Node>,
    /// What it is to be marked with, unless it was.
    reason: Option<Reason>,
    /// This wave has marked it.
    is_ours: bool,
}

/// A cancellation under way. Its drop makes the rest of the steps.
pub(super) struct Wave {
    visits: Vec<Visit>,
}

impl Wave {
    /// Steps 1 and 2.
    pub(super) fn start(root: &Arc<Node>, reason: Reason) -> Self {
        let mut wave = Self {
            visits: vec![Visit {
                node: Arc::clone(root),
                reason: Some(reason),
                is_ours: false,
            }],
        };
        wave.mark();
        wave.tell();
        wave
    }

    /// Whether the token that was cancelled was not before.
    pub(super) fn is_first(&self) -> bool {
        self.visits[0].is_ours
    }

    /// Whether there are callbacks to be called.
    pub(super) fn has_callbacks(&self) -> bool {
        let mut ours = self.visits.iter().filter(|visit| visit.is_ours);
        ours.any(|visit| !visit.node.lock().callbacks.is_empty())
    }

    fn mark(&mut self) {
        let mut at = 0;
        while at < self.visits.len() {
            let node = Arc::clone(&self.visits[at].node);
            let reason = self.visits[at].reason.take();
            let mut state = node.lock();
            let mut timer = None;
            if !state.is_told {
                if let Some(reason) = reason.filter(|_| !node.has_reached(Phase::Cancelling)) {
                    node.begin(&mut state, reason);
                    timer = state.timer.take();
                    self.visits[at].is_ours = true;
                }
                let below = state.reason.as_ref().map(Reason::inherited);
                self.visits
                    .extend(state.children().iter().map(|child| Visit {
                        node: Arc::clone(child),
                        reason: below.clone(),
                        is_ours: false,
                    }));
            }
            drop(state);
            drop(timer);
            at += 1;
        }
    }

    fn tell(&self) {
        for visit in &self.visits {
            // CLAIM: [wave.whole] all below were marked, by this wave or another.
            visit.node.lock().is_told = true;
            if visit.is_ours {
                wake(&visit.node);
            }
        }
    }
}

impl Drop for Wave {
    fn drop(&mut self) {
        let ours = || self.visits.iter().filter(|visit| visit.is_ours);
        for visit in ours() {
            call_all(&visit.node);
        }
        for visit in ours().rev() {
            node::settle(Arc::clone(&visit.node));
        }
    }
}

/// Wakes all who wait for a phase of the node.
pub(super) fn wake(node: &Arc<Node>) {
    if let Some(payload) = contain(|| node.waiters.wake_all()) {
        // CLAIM: [wave.contained]
        let at = node.lock().reason.as_ref().map(Reason::location);
        note_panic(node, at.unwrap_or(Location::caller()), payload);
    }
}

fn call_all(node: &Arc<Node>) {
    loop {
        let mut state = node.lock();
        let Some((id, callback)) = state.callbacks.pop_first() else {
            return;
        };
        // CLAIM: [wave.once] from one row into the other under the lock.
        state.running.push(Running::new(id, callback.at));
        let reason = state.reason.clone();
        drop(state);
        call(node, id, callback, reason.as_ref());
    }
}

/// Calls a callback that is among those that run.
pub(super) fn call(node: &Arc<Node>, id: u64, callback: Callback, reason: Option<&Reason>) {
    let Callback { call, at } = callback;
    let panic = match reason {
        Some(reason) => contain(move || call(reason)),
        // A node that has left ALIVE has a reason.
        None => None,
    };
    if let Some(payload) = panic {
        // CLAIM: [wave.contained]
        note_panic(node, at, payload);
    }
    let ended = node::take_away(node, |state| Running::end(&mut state.running, id));
    if let Some(payload) = ended.and_then(|ended| contain(|| tell_end(ended))) {
        note_panic(node, at, payload);
    }
}

fn tell_end(waiting: Completer<()>) {
    // Nobody may wait any more.
    let _ = waiting.complete(());
}

/// Tells of a panic that goes no further.
pub(super) fn note_panic(node: &Arc<Node>, at: &'static Location<'static>, payload: Payload) {
    Panics::add(&mut node.lock().panics, at, &*payload);
    report(at, &payload);
    discard(payload);
}

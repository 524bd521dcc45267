//! The handles of a set, dense: those that are waited for come first.
//!
//! # Invariants
//!
//! - **members.place** — the node of a member that is waited for knows the member's index, and
//!   every other node knows none.
//! - **members.order** — members with a node come before all those without.

use super::ready::Node;
use mainspring_core::task::{JoinError, JoinHandle};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Below this many the memory of those that left is kept.
const KEPT: usize = 64;

pub(super) struct Members<T> {
    all: Vec<Member<T>>,
    /// How many have a node.
    waited: usize,
}

struct Member<T> {
    handle: JoinHandle<T>,
    node: Option<Arc<Node>>,
}

impl<T> Members<T> {
    pub(super) const fn new() -> Self {
        Self {
            all: Vec::new(),
            waited: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn handles(&self) -> impl Iterator<Item = &JoinHandle<T>> {
        self.all.iter().map(|member| &member.handle)
    }

    /// Adds a member that is not waited for yet.
    pub(super) fn push(&mut self, handle: JoinHandle<T>) {
        self.all.push(Member { handle, node: None });
    }

    /// The index of the next member that is not waited for.
    pub(super) fn fresh(&self) -> Option<usize> {
        (self.waited < self.all.len()).then_some(self.waited)
    }

    /// Waits for the next member that is not waited for: with `node`, made for its index. Its
    /// result, if it has ended.
    pub(super) fn wait_for_fresh(&mut self, node: Arc<Node>) -> Option<Result<T, JoinError>> {
        let index = self.waited;
        debug_assert_eq!(node.place(), Some(index), "members.place: made for another");
        let member = &mut self.all[index];
        // The one time that a handle is polled before its task has ended: it keeps the waker.
        let waker = Waker::from(Arc::clone(&node));
        if let Poll::Ready(result) = poll(&mut member.handle, &waker) {
            node.forget_place();
            self.remove_fresh();
            return Some(result);
        }
        member.node = Some(node);
        self.waited += 1;
        None
    }

    /// The result of the next member that is not waited for, if it has ended.
    pub(super) fn take_fresh(&mut self) -> Option<Result<T, JoinError>> {
        let member = self.all.get_mut(self.waited)?;
        let result = finish(&mut member.handle)?;
        self.remove_fresh();
        Some(result)
    }

    /// The result of the member at `index`, which is waited for, if it has ended.
    pub(super) fn take_waited(&mut self, index: usize) -> Option<Result<T, JoinError>> {
        debug_assert!(index < self.waited, "members.order: a place without a node");
        let result = finish(&mut self.all[index].handle)?;
        let last = self.waited - 1;
        self.all.swap(index, last);
        if let Some(node) = &self.all[index].node {
            node.set_place(index);
        }
        if let Some(node) = &self.all[last].node {
            node.forget_place();
        }
        self.waited = last;
        self.remove_fresh();
        Some(result)
    }

    /// Removes the member behind those that are waited for. The last takes its place.
    fn remove_fresh(&mut self) {
        drop(self.all.swap_remove(self.waited));
        // A quarter: after a move down as many have to come as left, before one up.
        if self.all.capacity() > KEPT && self.all.len() < self.all.capacity() / 4 {
            self.all.shrink_to(self.all.len() * 2);
        }
    }

    /// Drops every handle, and the memory: the tasks go on by themselves.
    pub(super) fn clear(&mut self) {
        self.waited = 0;
        for member in std::mem::take(&mut self.all) {
            if let Some(node) = &member.node {
                node.forget_place();
            }
        }
    }
}

/// The result of a task that has ended.
fn finish<T>(handle: &mut JoinHandle<T>) -> Option<Result<T, JoinError>> {
    if !handle.is_finished() {
        return None;
    }
    match poll(handle, Waker::noop()) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Polls a handle beside the budget, which is the set's business: a handle that had to yield would
/// not have registered.
fn poll<T>(handle: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    let mut handle = mainspring_core::budget::unconstrained(handle);
    Pin::new(&mut handle).poll(&mut Context::from_waker(waker))
}

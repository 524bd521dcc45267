//! One token's place in its tree, and the ways it moves and ends there.
//!
//! ```text
//!          cancelled, here or above        nothing is left below, held or called
//!   ALIVE ─────────────────────▶ CANCELLING ─────────────────────▶ CANCELLED
//! ```
//!
//! Each node has a lock of its own. Whoever needs two takes the upper one first; nobody who holds
//! one wakes, calls, or drops what is a user's. Every way through the tree is a loop.
//!
//! # Invariants
//!
//! - **node.phase** — the word moves forward only, and is written under the node's lock; what is
//!   made below a node that has left ALIVE is CANCELLED from its birth.
//! - **node.linked** — a node is among the children of the one that it names as its parent, at its
//!   place, and of no other; that changes under both locks.
//! - **node.reached** — a node that is ALIVE below one that is not is about to be visited by a
//!   walk, and stays where it is until then, even if nobody has a handle to it.
//! - **node.adopted** — a node whose last handle goes, while it and its parent are ALIVE, leaves
//!   the tree, and its children are its parent's from then on.
//! - **node.settled** — a CANCELLING node is CANCELLED as soon as no hold, no callback that waits
//!   or runs, and no child is left: whoever takes the last of them away says so.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `node.told` | `Phases::publish` | `Phases::has_reached` | what was done before |
//! | `node.last` | each `Handle` that goes | the last | what was done with the handles |
//!
//! Who waits in the list learns of a phase from the word: it is written first, and those in the
//! list are released afterwards, under the list's lock, under which a newcomer looks at the word.
//!
//! # Rejected
//!
//! One lock for a tree: the tokens of all requests of a server are in one. Children that are not
//! linked and look at their parents: `is_cancelled` would walk up. A dead node that stays for its
//! children: a token that is replaced by its own child again and again grows a chain.

use super::deadline::Armed;
use super::register::{Callback, Running};
use super::report::Panics;
use super::{Phase, wave};
use crate::reason::Reason;
use mainspring_core::sync::atomic::{
    AtomicU8, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
    acquire_last,
};
use mainspring_core::sync::{Arc, Mutex, MutexGuard};
use mainspring_core::time::Deadline;
use mainspring_core::wait_list::{Kind, WaitList};
use std::collections::BTreeMap;
use std::panic::Location;

/// The phase, as those read it who do not take the node's lock.
pub(crate) struct Phases(AtomicU8);

impl Kind for Phases {
    /// The phase that is waited for.
    type Key = ();
}

impl Phases {
    fn new(phase: Phase) -> Self {
        Self(AtomicU8::new(phase as u8))
    }

    /// Whether it is that phase or a later one.
    #[inline]
    pub(super) fn has_reached(&self, phase: Phase) -> bool {
        // ORDERING: [node.told] Acquire, pairs with `publish`: who finds the phase sees what the
        // canceller, or those who were waited for, did before. Relaxed would tell too early.
        self.0.load(Acquire) >= phase as u8
    }

    pub(super) fn phase(&self) -> Phase {
        match () {
            () if self.has_reached(Phase::Cancelled) => Phase::Cancelled,
            () if self.has_reached(Phase::Cancelling) => Phase::Cancelling,
            () => Phase::Alive,
        }
    }

    /// For who holds the node's lock.
    fn publish(&self, phase: Phase) {
        debug_assert!(
            self.0.load(Relaxed) < phase as u8,
            "node.phase: not a later one"
        );
        // ORDERING: [node.told] Release, pairs with `has_reached`. Relaxed would publish the phase
        // before the canceller's work.
        self.0.store(phase as u8, Release);
    }
}

pub(crate) struct Node {
    state: Mutex<State>,
    pub(super) waiters: WaitList<Phases>,
    /// Tokens, registrations, holds and futures: who can still do something with the node.
    handles: AtomicUsize,
    /// Where it is among its parent's children. Touched under the parent's lock alone.
    place: AtomicUsize,
    pub(super) deadline: Deadline,
}

/// What a node's lock guards.
pub(super) struct State {
    pub(super) reason: Option<Reason>,
    /// Everything below has left ALIVE: a walk need not come here again.
    pub(super) is_told: bool,
    parent: Option<Arc<Node>>,
    children: Vec<Arc<Node>>,
    /// Those that were not called, in the order of their registration.
    pub(super) callbacks: BTreeMap<u64, Callback>,
    pub(super) running: Vec<Running>,
    pub(super) holds: BTreeMap<u64, &'static Location<'static>>,
    pub(super) panics: Option<Box<Panics>>,
    pub(super) timer: Option<Armed>,
    next_id: u64,
}

impl State {
    fn new(parent: Option<Arc<Node>>) -> Self {
        Self {
            reason: None,
            is_told: false,
            parent,
            children: Vec::new(),
            callbacks: BTreeMap::new(),
            running: Vec::new(),
            holds: BTreeMap::new(),
            panics: None,
            timer: None,
            next_id: 0,
        }
    }

    /// A number that no callback and no hold of this node has had.
    pub(super) fn make_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn children(&self) -> &[Arc<Node>] {
        &self.children
    }

    fn has_nothing_left(&self) -> bool {
        self.children.is_empty()
            && self.holds.is_empty()
            && self.callbacks.is_empty()
            && self.running.is_empty()
    }

    fn link(&mut self, node: Arc<Node>) {
        node.place.store(self.children.len(), Relaxed);
        self.children.push(node);
    }

    fn unlink(&mut self, node: &Arc<Node>) {
        let place = node.place.load(Relaxed);
        debug_assert!(
            Arc::ptr_eq(&self.children[place], node),
            "node.linked: not at its place"
        );
        self.children.swap_remove(place);
        if let Some(moved) = self.children.get(place) {
            moved.place.store(place, Relaxed);
        }
        let room = self.children.capacity();
        if room > 64 && self.children.len() < room / 4 {
            self.children.shrink_to(room / 2);
        }
    }
}

impl Node {
    fn new(phase: Phase, parent: Option<Arc<Self>>, deadline: Deadline) -> Self {
        Self {
            state: Mutex::new(State::new(parent)),
            waiters: WaitList::new(Phases::new(phase)),
            handles: AtomicUsize::new(1),
            place: AtomicUsize::new(0),
            deadline,
        }
    }

    /// A node above all, with one handle.
    pub(super) fn root(deadline: Deadline) -> Arc<Self> {
        Arc::new(Self::new(Phase::Alive, None, deadline))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    #[inline]
    pub(super) fn has_reached(&self, phase: Phase) -> bool {
        self.waiters.kind().has_reached(phase)
    }

    /// Leaves ALIVE; for who holds the lock.
    pub(super) fn begin(&self, state: &mut State, reason: Reason) {
        state.reason = Some(reason);
        self.waiters.kind().publish(Phase::Cancelling);
    }

    pub(super) fn add_handle(&self) {
        let before = self.handles.fetch_add(1, Relaxed);
        assert!(before < usize::MAX / 2, "node.last: too many handles");
    }
}

/// Makes a node below, with one handle.
pub(super) fn child(parent: &Arc<Node>, deadline: Deadline) -> Arc<Node> {
    let deadline = deadline.earliest(parent.deadline);
    let node = Arc::new(Node::new(Phase::Alive, Some(Arc::clone(parent)), deadline));
    let mut above = parent.lock();
    if !parent.has_reached(Phase::Cancelling) {
        // CLAIM: [node.linked] nobody else knows the new one, whose lock is not needed.
        above.link(Arc::clone(&node));
        return node;
    }
    let reason = above.reason.as_ref().map(Reason::inherited);
    drop(above);
    // CLAIM: [node.phase] there is nothing that would have to be waited for.
    let node = Arc::new(Node::new(Phase::Cancelled, None, deadline));
    let mut state = node.lock();
    state.reason = reason;
    state.is_told = true;
    drop(state);
    node
}

/// Calls `f` with the locks of the node and of its parent, if it has one, and with that parent.
fn with_parent<R>(
    node: &Arc<Node>,
    f: impl FnOnce(Option<(&Arc<Node>, &mut State)>, &mut State) -> R,
) -> R {
    loop {
        let mut state = node.lock();
        let Some(parent) = state.parent.clone() else {
            // One that has none never gets one.
            return f(None, &mut state);
        };
        drop(state);
        let mut above = parent.lock();
        let mut state = node.lock();
        let is_parent = state.parent.as_ref();
        if is_parent.is_some_and(|found| Arc::ptr_eq(found, &parent)) {
            // CLAIM: [node.linked] the upper lock first, and it is the parent's.
            return f(Some((&parent, &mut above)), &mut state);
        }
        // Adopted, or settled, in between: its new parent is further up.
        drop(state);
        drop(above);
    }
}

/// A handle goes; with the last one, what nobody can do anything with any more.
pub(super) fn drop_handle(node: &Arc<Node>) {
    // ORDERING: [node.last] Release, pairs with `acquire_last` below: what was done with this
    // handle is seen by whoever lets the last one go. Relaxed would let it lock too early.
    if node.handles.fetch_sub(1, Release) == 1 {
        // ORDERING: [node.last] Acquire, pairs with the Release of every other handle that went,
        // as said above.
        acquire_last(&node.handles);
        leave(node);
    }
}

/// Takes a node that nobody has a handle to out of the tree.
fn leave(node: &Arc<Node>) {
    let gone = with_parent(node, |above, state| {
        let is_above_alive = above
            .as_ref()
            .is_none_or(|(parent, _)| !parent.has_reached(Phase::Cancelling));
        if node.has_reached(Phase::Cancelling) || !is_above_alive {
            // CLAIM: [node.reached] it leaves when it has settled.
            return None;
        }
        debug_assert!(state.holds.is_empty(), "node.last: a hold is a handle");
        // CLAIM: [node.adopted]
        let children = std::mem::take(&mut state.children);
        let parent = above.as_ref().map(|(parent, _)| Arc::clone(parent));
        for child in &children {
            child.lock().parent.clone_from(&parent);
        }
        if let Some((_, above)) = above {
            above.unlink(node);
            for child in children {
                above.link(child);
            }
        }
        // Dropped without the locks: callbacks that were forgotten with their registrations.
        let callbacks = std::mem::take(&mut state.callbacks);
        Some((state.parent.take(), state.timer.take(), callbacks))
    });
    drop(gone);
}

/// Takes a hold, a callback that waits or one that runs away from a node, and settles it if that
/// was the last.
pub(super) fn take_away<R>(node: &Arc<Node>, take: impl FnOnce(&mut State) -> R) -> R {
    let mut state = node.lock();
    let taken = take(&mut state);
    let may_settle = is_to_settle(node, &state);
    drop(state);
    if may_settle {
        settle(Arc::clone(node));
    }
    taken
}

fn is_to_settle(node: &Node, state: &State) -> bool {
    state.has_nothing_left()
        && node.has_reached(Phase::Cancelling)
        && !node.has_reached(Phase::Cancelled)
}

/// Says that a node is CANCELLED if there is nothing left, and then asks the one above.
pub(super) fn settle(node: Arc<Node>) {
    let mut next = Some(node);
    while let Some(node) = next.take() {
        if !is_to_settle(&node, &node.lock()) {
            return;
        }
        let parent = with_parent(&node, |above, state| {
            if !is_to_settle(&node, state) {
                return None;
            }
            // CLAIM: [node.settled] under the lock of whoever takes something away, or adds it.
            node.waiters.kind().publish(Phase::Cancelled);
            if let Some((_, above)) = above {
                above.unlink(&node);
                Panics::hand_up(state.panics.as_deref(), &mut above.panics);
            }
            Some(state.parent.take())
        });
        let Some(parent) = parent else { return };
        wave::wake(&node);
        next = parent;
    }
}

/// Calls `f` with every node from this one down that is linked, one lock at a time.
pub(super) fn for_each_below(node: &Arc<Node>, mut f: impl FnMut(&State)) {
    let mut nodes = vec![Arc::clone(node)];
    while let Some(node) = nodes.pop() {
        let state = node.lock();
        f(&state);
        nodes.extend(state.children.iter().cloned());
    }
}

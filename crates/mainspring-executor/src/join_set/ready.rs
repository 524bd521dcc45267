//! Which members of a set have ended: a queue that the tasks push themselves into.
//!
//! Each member that is waited for has a node, and the node is the waker that its join handle
//! registers. Waking it pushes it onto a lock-free stack; the owner swaps the stack out, turns it
//! around and has the members in the order of their ends, without a look at any other.
//!
//! # Who may touch what
//!
//! | field | touched by |
//! |---|---|
//! | `Node::next` | whoever set `is_queued`, until the node is on the stack; then the owner |
//! | `Node::is_queued` | set by wakes, cleared by the owner |
//! | `Node::place` | the owner |
//! | `Shared::head` | wakes push, the owner takes and closes |
//! | `Batch` | the owner |
//!
//! # Invariants
//!
//! - **ready.once** — a node is in the stack or in the owner's batch at most once: only the wake
//!   that sets `is_queued` pushes it, and only the owner, having unlinked it, clears that.
//! - **ready.owned** — the stack and the batch own one reference to each node in them, and the
//!   node's link.
//! - **ready.not-lost** — a wake that begins after a node was popped leads to another pop of it,
//!   and the owner's waker is called after the first push onto an empty stack.
//! - **ready.closed** — once the owner has gone nothing stays on the stack: it holds the nodes,
//!   and they hold it.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `ready.push` | the exchange of `push` | taking the stack, closing it | the links |
//! | `ready.again` | the swap in `Node::wake` | the swap in `Batch::pop` | what the waker did |
//! | `ready.unlinked` | the swap in `Batch::pop` | the swap in `Node::wake` | reads of the link |
//!
//! # Rejected
//!
//! - *Looking at every handle*: quadratic in the number of tasks.
//! - *Core's inbox*: its links are the tasks', and a task that completes is in no queue but also in
//!   no state to be put into one by somebody else.
//! - *A wrapper around each future that reports its end*: it would report before the task is
//!   complete, so that its output is not there yet, and would grow every task.

use mainspring_core::AtomicWaker;
use mainspring_core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};
use std::ptr;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// The waker of one member's end.
pub(super) struct Node {
    shared: Arc<Shared>,
    next: AtomicPtr<Node>,
    is_queued: AtomicBool,
    /// Where the owner has the member, or [`GONE`].
    place: AtomicUsize,
}

/// The place of a member that the set does not have any more.
const GONE: usize = usize::MAX;

/// What the nodes and the owner share.
struct Shared {
    /// The node that was pushed last; null if there is none, [`closed`] if there is no owner.
    head: AtomicPtr<Node>,
    owner: AtomicWaker,
}

/// The head of a stack whose owner has gone: an address that no node has.
fn closed() -> *mut Node {
    ptr::without_provenance_mut(align_of::<Node>())
}

impl Node {
    /// Where the owner has the member. Only the owner asks.
    pub(super) fn place(&self) -> Option<usize> {
        let place = self.place.load(Relaxed);
        (place != GONE).then_some(place)
    }

    /// The member is at `place` now. Only the owner says so.
    pub(super) fn set_place(&self, place: usize) {
        self.place.store(place, Relaxed);
    }

    /// The set does not have the member any more. Only the owner says so.
    pub(super) fn forget_place(&self) {
        self.place.store(GONE, Relaxed);
    }

    /// Pushes the node onto the stack, and tells the owner if it may be waiting.
    fn push(self: Arc<Self>) {
        let node = Arc::into_raw(self).cast_mut();
        // SAFETY: [ready.owned] the reference is ours until the exchange below gives it away.
        let this = unsafe { &*node };
        let mut head = this.shared.head.load(Relaxed);
        loop {
            if head == closed() {
                // SAFETY: [ready.closed] [ready.owned] nobody takes it, so it is still ours.
                drop(unsafe { Arc::from_raw(node) });
                return;
            }
            // Published, the node may be gone, and the owner with it.
            let tell = head.is_null().then(|| Arc::clone(&this.shared));
            this.next.store(head, Relaxed);
            let head_of = &this.shared.head;
            // ORDERING: [ready.push] Release, pairs with the swap in `take` and `close`: the owner
            // sees the link written above. Relaxed would let it walk a stale one.
            match head_of.compare_exchange(head, node, Release, Relaxed) {
                Ok(_) => {
                    // CLAIM: [ready.not-lost] who pushes onto an empty stack tells; whoever pushes
                    // onto another is before the same look of the owner's.
                    if let Some(shared) = tell {
                        shared.owner.wake();
                    }
                    return;
                }
                Err(now) => head = now,
            }
        }
    }
}

impl Wake for Node {
    fn wake(self: Arc<Self>) {
        // ORDERING: [ready.again] Release half, pairs with the swap in `pop`: the owner that clears
        // the flag after this finds the task complete, also where the push is left to another wake.
        // ORDERING: [ready.unlinked] Acquire half, pairs with the same swap: the owner read the
        // link before we write it. Relaxed would let it find what we push on.
        if !self.is_queued.swap(true, AcqRel) {
            self.push();
        }
    }
}

/// The owner's end of the queue.
pub(super) struct Ready {
    shared: Arc<Shared>,
    batch: Batch,
}

impl Ready {
    pub(super) fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                head: AtomicPtr::new(ptr::null_mut()),
                owner: AtomicWaker::new(),
            }),
            batch: Batch::empty(),
        }
    }

    /// A node for the member at `place`. One allocation.
    pub(super) fn node(&self, place: usize) -> Arc<Node> {
        Arc::new(Node {
            shared: Arc::clone(&self.shared),
            next: AtomicPtr::new(ptr::null_mut()),
            is_queued: AtomicBool::new(false),
            place: AtomicUsize::new(place),
        })
    }

    /// The node that was woken first and not popped yet. What its waker did is seen afterwards.
    pub(super) fn pop(&mut self) -> Option<Arc<Node>> {
        if self.batch.is_empty() {
            self.batch = self.take();
        }
        self.batch.pop()
    }

    /// Has `waker` woken by the next push onto an empty stack. The caller pops once more
    /// afterwards, and waits only if there was nothing.
    pub(super) fn register(&self, waker: &Waker) {
        self.shared.owner.register(waker);
    }

    /// Takes the waker back that was registered, if it was not woken.
    pub(super) fn unregister(&self) -> Option<Waker> {
        self.shared.owner.take()
    }

    fn take(&self) -> Batch {
        if self.shared.head.load(Relaxed).is_null() {
            return Batch::empty();
        }
        // ORDERING: [ready.push] Acquire, pairs with the Release of every push in the stack, each
        // of which continues the one before. Relaxed would let us walk stale links.
        Batch::turned_around(self.shared.head.swap(ptr::null_mut(), Acquire))
    }

    /// What is left of the queue's own memory after its end, for a test.
    #[cfg(test)]
    pub(super) fn left(&self) -> std::sync::Weak<impl Sized + use<>> {
        Arc::downgrade(&self.shared)
    }
}

impl Drop for Ready {
    fn drop(&mut self) {
        // ORDERING: [ready.push] Acquire, as in `take`.
        let left = self.shared.head.swap(closed(), Acquire);
        // CLAIM: [ready.closed] what was pushed is dropped here, what comes drops itself.
        drop(Batch::turned_around(left));
        drop(self.unregister());
    }
}

/// Nodes that the owner has taken, first in first out.
struct Batch {
    first: *mut Node,
}

// SAFETY: [ready.owned] a batch owns its nodes, which may be used and dropped on any thread.
unsafe impl Send for Batch {}
// SAFETY: [ready.owned] nothing is reached through a shared reference but whether it is empty.
unsafe impl Sync for Batch {}

impl Batch {
    const fn empty() -> Self {
        Self {
            first: ptr::null_mut(),
        }
    }

    const fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Makes a batch of a stack, whose top was pushed last.
    fn turned_around(stack: *mut Node) -> Self {
        let mut batch = Self::empty();
        let mut next = stack;
        while !next.is_null() {
            // SAFETY: [ready.owned] the stack owned a reference to each, and this is its new owner.
            let node = unsafe { &*next };
            let before = node.next.load(Relaxed);
            node.next.store(batch.first, Relaxed);
            batch.first = next;
            next = before;
        }
        batch
    }

    fn pop(&mut self) -> Option<Arc<Node>> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: [ready.owned] the batch owns the reference, and gives it away once: it goes on
        // with the next.
        let node = unsafe { Arc::from_raw(self.first.cast_const()) };
        self.first = node.next.load(Relaxed);
        // CLAIM: [ready.once] unlinked above.
        // ORDERING: [ready.again] Acquire half, pairs with the swaps in `wake`: a wake that left
        // the push to another is before us, and what it announces is seen by the look that follows.
        // Relaxed would lose that wake.
        // ORDERING: [ready.unlinked] Release half, pairs with the same: the next wake writes the
        // link after we have read it. Relaxed would let us walk the stack instead of the batch.
        let was_queued = node.is_queued.swap(false, AcqRel);
        debug_assert!(was_queued, "ready.once: popped a node that nobody pushed");
        Some(node)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        while let Some(node) = self.pop() {
            drop(node);
        }
    }
}

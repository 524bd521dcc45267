//! Whose offers are out: found by the task, where they are too many to look through.
//!
//! A binary tree that hangs on two links in the nodes themselves, beside the lists that these are
//! in: nothing is allocated, and the lists keep their order. Where a node hangs is told by its
//! *path*, a row of bits made of who polls it and when it came: at depth `n` it is below the side
//! that its bit `n` names. A node that leaves is replaced by a leaf from below it, whose path
//! begins with the same bits. There is nothing to balance: the first bits are spread evenly.
//!
//! # Invariants
//!
//! - **index.path** — every indexed node hangs where the bits of its path lead; its task and its
//!   arrival do not change while it is indexed.
//! - **index.offer** — what is indexed lies among the offers; it leaves the index before it leaves
//!   these.
//!
//! # Complexity
//!
//! A step for each level: the logarithm of how many tasks have an offer, and at most 192. Offers to
//! one and the same task hang below each other for the first 128.
//!
//! # Rejected
//!
//! Lists by a hash of the task: a table, which has to be allocated and grown while the lock is held
//! or fetched from outside of it, and given back after the burst.

use super::Kind;
use super::entry::{Entry, Held, Who};
use crate::list::Node;
use std::ptr::NonNull;

type Link<K> = Option<NonNull<Node<Entry<K>>>>;

/// The two links of a node, for the side of a 0 and of a 1.
pub(super) type Sides<K> = [Link<K>; 2];

/// Bits that tell who it is.
const WHO_BITS: u32 = 128;

/// The bits that lead to a node, from the highest.
#[derive(Clone, Copy)]
struct Path([u64; 3]);

impl Path {
    /// To the nodes of one task: their first [`WHO_BITS`].
    fn to(who: Who) -> Self {
        Self::new(who, 0)
    }

    fn of<K: Kind>(node: Held<K>) -> Self {
        node.with(|state| Self::new(state.who, state.arrival))
    }

    /// No two that are told apart have one path: multiplying by an odd number loses nothing.
    fn new(who: Who, arrival: u64) -> Self {
        let (what, table) = who.words();
        Self([spread(what ^ table.rotate_left(32)), table, spread(arrival)])
    }

    fn side(self, depth: u32) -> usize {
        let word = self.0[(depth / 64) as usize];
        usize::from(word.rotate_left(depth % 64) >> 63 == 1)
    }
}

/// Numbers that follow each other, and addresses, differ in their highest bits then.
fn spread(number: u64) -> u64 {
    // 2^64 divided by the golden ratio, made odd.
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The index. Touched under the lock.
pub(super) struct Index<K: Kind> {
    root: Link<K>,
    len: usize,
}

/// Where a node hangs: at the root, or at a side of another one.
enum Hook<K: Kind> {
    Root,
    Side(Held<K>, usize),
}

impl<K: Kind> Index<K> {
    pub(super) const fn new() -> Self {
        Self { root: None, len: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// One that was offered something, of that task.
    pub(super) fn find(&self, who: Who) -> Option<Held<K>> {
        let path = Path::to(who);
        let mut next = held(self.root);
        for depth in 0..=WHO_BITS {
            let node = next?;
            super::visits::note();
            if node.with(|state| state.who) == who {
                return Some(node);
            }
            // At the last depth it was found: what hangs there has all the bits that tell who.
            debug_assert!(depth < WHO_BITS, "index.path: another's place");
            next = below(node, path.side(depth));
        }
        None
    }

    pub(super) fn insert(&mut self, node: Held<K>) {
        debug_assert!(!node.with(|state| state.is_indexed), "index.path: twice");
        let path = Path::of(node);
        let mut hook = Hook::Root;
        let mut depth = 0;
        while let Some(other) = self.at(&hook) {
            super::visits::note();
            hook = Hook::Side(other, path.side(depth));
            depth += 1;
        }
        node.with(|state| {
            state.is_indexed = true;
            state.sides = [None; 2];
        });
        self.hang(&hook, Some(node));
        self.len += 1;
    }

    /// Takes out a node that is in the index.
    #[cold]
    pub(super) fn remove(&mut self, node: Held<K>) {
        // CLAIM: [index.path] from the root its own bits lead to it.
        let path = Path::of(node);
        let mut hook = Hook::Root;
        let mut depth = 0;
        while let Some(other) = self.at(&hook) {
            super::visits::note();
            if other == node {
                break;
            }
            hook = Hook::Side(other, path.side(depth));
            depth += 1;
        }
        debug_assert!(self.at(&hook) == Some(node), "index.path: not there");
        let heir = self.pluck_below(node);
        let sides = node.with(|state| {
            state.is_indexed = false;
            std::mem::take(&mut state.sides)
        });
        if let Some(heir) = heir {
            heir.with(|state| state.sides = sides);
        }
        self.hang(&hook, heir);
        self.len -= 1;
    }

    /// Takes a leaf off that hangs below `node`, if anything does.
    fn pluck_below(&mut self, node: Held<K>) -> Option<Held<K>> {
        let mut hook = Hook::Side(node, used_side(node)?);
        while let Some(leaf) = self.at(&hook) {
            super::visits::note();
            match used_side(leaf) {
                Some(side) => hook = Hook::Side(leaf, side),
                None => {
                    self.hang(&hook, None);
                    return Some(leaf);
                }
            }
        }
        None
    }

    fn at(&self, hook: &Hook<K>) -> Option<Held<K>> {
        match *hook {
            Hook::Root => held(self.root),
            Hook::Side(node, side) => below(node, side),
        }
    }

    fn hang(&mut self, hook: &Hook<K>, node: Option<Held<K>>) {
        let link = node.map(Held::node);
        match *hook {
            Hook::Root => self.root = link,
            Hook::Side(above, side) => above.with(|state| state.sides[side] = link),
        }
    }
}

fn held<K: Kind>(link: Link<K>) -> Option<Held<K>> {
    // SAFETY: [index.offer] indexed nodes are linked, and an index is reached through the lock.
    link.map(|node| unsafe { Held::new(node) })
}

fn below<K: Kind>(node: Held<K>, side: usize) -> Option<Held<K>> {
    held(node.with(|state| state.sides[side]))
}

/// A side at which something hangs.
fn used_side<K: Kind>(node: Held<K>) -> Option<usize> {
    node.with(|state| state.sides.iter().position(Option::is_some))
}

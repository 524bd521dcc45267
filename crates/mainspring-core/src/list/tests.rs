#![cfg(not(mainspring_loom))]

use super::{List, Node, Sentinel};
use proptest::prelude::*;
use std::pin::{Pin, pin};
use std::ptr::NonNull;

type Owned = Pin<Box<Node<u32>>>;

fn pointer(node: &Owned) -> NonNull<Node<u32>> {
    NonNull::from(&**node)
}

fn value(node: NonNull<Node<u32>>) -> u32 {
    // SAFETY: [list.whole-node] every test keeps its nodes alive until it ends.
    *unsafe { node.as_ref() }.value()
}

fn values(list: &List<u32>) -> Vec<u32> {
    list.iter().map(value).collect()
}

/// Walks backwards by taking from the end.
fn values_from_the_end(mut list: List<u32>) -> Vec<u32> {
    std::iter::from_fn(|| list.pop_back()).map(value).collect()
}

// CORRECTION: 14
// WITNESS: list.mirror, list.ring, list.linked
#[test]
fn nodes_under_a_sentinel_unlink_without_their_list() {
    let nodes: Vec<Owned> = (0..4).map(|n| Box::pin(Node::new(n))).collect();
    let mut list = List::new();
    for node in &nodes {
        // SAFETY: [list.linked] alive, pinned and in no list.
        unsafe { list.push_back(pointer(node)) };
    }
    let sentinel = pin!(Sentinel::new());
    // SAFETY: [list.ring] the sentinel is empty, and emptied below.
    unsafe { list.splice_under(sentinel.as_ref()) };
    assert!(list.is_empty() && !sentinel.is_empty());

    let newcomer = Box::pin(Node::new(9));
    // SAFETY: [list.linked] alive, pinned and in no list.
    unsafe { list.push_back(pointer(&newcomer)) };
    for gone in [1, 0, 3] {
        // SAFETY: [list.ring] it is under the sentinel.
        unsafe { Sentinel::unlink(pointer(&nodes[gone])) };
    }
    assert_eq!(sentinel.as_ref().pop_front().map(value), Some(2));
    assert!(sentinel.is_empty() && sentinel.as_ref().pop_front().is_none());
    assert_eq!(values(&list), [9]);
}

#[derive(Clone, Debug)]
enum Op {
    PushBack,
    PushFront,
    InsertBefore(prop::sample::Index),
    Remove(prop::sample::Index),
    PopFront,
    PopBack,
    Append(u8),
    Splice(prop::sample::Index),
}

fn op() -> impl Strategy<Value = Op> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => Just(Op::PushBack),
        2 => Just(Op::PushFront),
        2 => index().prop_map(Op::InsertBefore),
        3 => index().prop_map(Op::Remove),
        1 => Just(Op::PopFront),
        1 => Just(Op::PopBack),
        1 => (0u8..4).prop_map(Op::Append),
        1 => index().prop_map(Op::Splice),
    ]
}

#[derive(Default)]
struct World {
    nodes: Vec<Owned>,
    list: List<u32>,
    model: Vec<u32>,
}

impl World {
    fn node(&mut self) -> NonNull<Node<u32>> {
        let node = Box::pin(Node::new(self.nodes.len() as u32));
        let pointer = pointer(&node);
        self.nodes.push(node);
        pointer
    }

    fn at(&self, index: prop::sample::Index) -> Option<(usize, NonNull<Node<u32>>)> {
        if self.model.is_empty() {
            return None;
        }
        let at = index.index(self.model.len());
        Some((at, pointer(&self.nodes[self.model[at] as usize])))
    }

    fn append(&mut self, count: u8) {
        let mut other = List::new();
        for _ in 0..count {
            let node = self.node();
            // SAFETY: [list.linked] new, pinned, kept by the world.
            unsafe { other.push_back(node) };
            self.model.push(value(node));
        }
        self.list.append(&mut other);
        assert!(other.is_empty());
    }

    /// Empties the list through a sentinel, with one node leaving out of turn.
    fn splice(&mut self, index: prop::sample::Index) {
        let leaves = self.at(index);
        let sentinel = pin!(Sentinel::new());
        // SAFETY: [list.ring] new, and emptied below.
        unsafe { self.list.splice_under(sentinel.as_ref()) };
        if let Some((at, node)) = leaves {
            // SAFETY: [list.ring] it was in the list, so it is under the sentinel.
            unsafe { Sentinel::unlink(node) };
            self.model.remove(at);
        }
        let drained: Vec<_> = std::iter::from_fn(|| sentinel.as_ref().pop_front())
            .map(value)
            .collect();
        assert_eq!(drained, self.model);
        self.model.clear();
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::PushBack => {
                let node = self.node();
                self.model.push(value(node));
                // SAFETY: [list.linked] new, pinned, kept by the world.
                unsafe { self.list.push_back(node) };
            }
            Op::PushFront => {
                let node = self.node();
                self.model.insert(0, value(node));
                // SAFETY: [list.linked] new, pinned, kept by the world.
                unsafe { self.list.push_front(node) };
            }
            Op::InsertBefore(index) => {
                if let Some((at, next)) = self.at(index) {
                    let node = self.node();
                    self.model.insert(at, value(node));
                    // SAFETY: [list.linked] new; `next` is in the list.
                    unsafe { self.list.insert_before(next, node) };
                }
            }
            Op::Remove(index) => {
                if let Some((at, node)) = self.at(index) {
                    self.model.remove(at);
                    // SAFETY: [list.linked] it is in the list.
                    unsafe { self.list.remove(node) };
                }
            }
            Op::PopFront => {
                let expected = (!self.model.is_empty()).then(|| self.model.remove(0));
                assert_eq!(self.list.pop_front().map(value), expected);
            }
            Op::PopBack => assert_eq!(self.list.pop_back().map(value), self.model.pop()),
            Op::Append(count) => self.append(count),
            Op::Splice(index) => self.splice(index),
        }
    }
}

proptest! {
    // WITNESS: list.linked, list.mirror, list.ring, list.exclusive, list.whole-node
    #[test]
    fn any_operations_agree_with_a_vector(ops in proptest::collection::vec(op(), 0..120)) {
        let mut world = World::default();
        for op in ops {
            world.apply(op);
            prop_assert_eq!(values(&world.list), world.model.as_slice());
            prop_assert_eq!(world.list.len(), world.model.len());
            prop_assert_eq!(world.list.front().map(value), world.model.first().copied());
            prop_assert_eq!(world.list.back().map(value), world.model.last().copied());
        }
        world.model.reverse();
        prop_assert_eq!(values_from_the_end(std::mem::take(&mut world.list)), world.model);
    }
}

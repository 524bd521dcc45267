#![cfg(not(mainspring_loom))]

use super::{Handle, Heap, KEPT};
use crate::time::Nanos;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A heap keyed by the deadline alone, and one that deletes lazily.
mod printed {
    use std::cmp::Reverse;
    use std::collections::{BinaryHeap, HashSet};

    pub(super) struct Untied(Vec<(u64, char)>);

    impl Untied {
        pub(super) fn new() -> Self {
            Self(Vec::new())
        }

        pub(super) fn push(&mut self, deadline: u64, value: char) {
            self.0.push((deadline, value));
            let mut at = self.0.len() - 1;
            while at > 0 && self.0[at].0 < self.0[(at - 1) / 2].0 {
                self.0.swap(at, (at - 1) / 2);
                at = (at - 1) / 2;
            }
        }

        pub(super) fn pop(&mut self) -> Option<char> {
            if self.0.is_empty() {
                return None;
            }
            let (_, value) = self.0.swap_remove(0);
            let mut at = 0;
            loop {
                let mut least = at;
                for child in [2 * at + 1, 2 * at + 2] {
                    if child < self.0.len() && self.0[child].0 < self.0[least].0 {
                        least = child;
                    }
                }
                if least == at {
                    return Some(value);
                }
                self.0.swap(at, least);
                at = least;
            }
        }
    }

    #[derive(Default)]
    pub(super) struct Lazy {
        pub(super) heap: BinaryHeap<Reverse<(u64, u64)>>,
        cancelled: HashSet<u64>,
    }

    impl Lazy {
        pub(super) fn arm(&mut self, deadline: u64, id: u64) {
            self.heap.push(Reverse((deadline, id)));
        }

        pub(super) fn cancel(&mut self, id: u64) {
            self.cancelled.insert(id);
            while let Some(Reverse((_, first))) = self.heap.peek() {
                if !self.cancelled.remove(first) {
                    return;
                }
                self.heap.pop();
            }
        }
    }
}

// CORRECTION: 22
// WITNESS: heap.order
#[test]
fn textbook_heap_shuffles_equal_deadlines_and_ours_keeps_their_order() {
    let mut printed = printed::Untied::new();
    let mut ours = Heap::new();
    for name in 'A'..='E' {
        printed.push(7, name);
        ours.insert(Nanos(7), name);
    }
    let read: String = std::iter::from_fn(|| printed.pop()).collect();
    assert_eq!(read, "AEDCB");
    let read: String = std::iter::from_fn(|| Some(ours.pop()?.1)).collect();
    assert_eq!(read, "ABCDE");
}

// CORRECTION: 23
// WITNESS: heap.shrink
#[test]
fn lazy_deletion_grows_without_bound_and_ours_does_not() {
    let mut printed = printed::Lazy::default();
    let mut ours = Heap::new();
    printed.arm(1, 0);
    ours.insert(Nanos(1), 0);
    for id in 1..20_000 {
        printed.arm(1_000 + id, id);
        printed.cancel(id);
        let handle = ours.insert(Nanos(1_000 + id), id);
        assert_eq!(ours.remove(handle), Some(id));
    }
    assert_eq!(printed.heap.len(), 20_000);
    assert_eq!(ours.len(), 1);
    assert!(ours.entries.capacity() <= KEPT && ours.slots.len() <= KEPT);
}

// WITNESS: heap.shrink
#[test]
fn memory_of_a_burst_is_returned() {
    let mut heap = Heap::new();
    let handles: Vec<_> = (0..50_000).map(|n| heap.insert(Nanos(n), n)).collect();
    for handle in &handles[10..] {
        heap.remove(*handle).unwrap();
    }
    assert!(
        heap.entries.capacity() <= KEPT,
        "{}",
        heap.entries.capacity()
    );
    assert!(
        heap.slots.capacity() <= 2 * KEPT,
        "{}",
        heap.slots.capacity()
    );
    assert_eq!(heap.pop(), Some((Nanos(0), 0)));
}

#[test]
fn an_old_entry_at_the_end_keeps_the_table_until_it_goes() {
    let mut heap = Heap::new();
    let handles: Vec<_> = (0..10_000).map(|n| heap.insert(Nanos(n), n)).collect();
    let (last, others) = handles.split_last().unwrap();
    for handle in others {
        heap.remove(*handle).unwrap();
    }
    assert_eq!(heap.slots.len(), 10_000);
    assert_eq!(heap.remove(*last), Some(9_999));
    for _ in 0..10_000 {
        let handle = heap.insert(Nanos(0), 0);
        heap.remove(handle).unwrap();
    }
    assert!(heap.slots.len() <= KEPT);
}

// WITNESS: heap.handle
#[test]
fn handle_of_a_gone_entry_never_means_its_successor() {
    let mut heap = Heap::new();
    let old = heap.insert(Nanos(1), "old");
    assert_eq!(heap.pop(), Some((Nanos(1), "old")));
    let new = heap.insert(Nanos(2), "new");
    assert_eq!(old.slot, new.slot, "the slot is used again");
    assert_eq!(heap.remove(old), None);
    assert!(!heap.update(old, Nanos(0)));
    assert_eq!((heap.value(old), heap.deadline(old)), (None, None));
    *heap.value_mut(new).unwrap() = "newer";
    assert_eq!(heap.remove(new), Some("newer"));
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u64),
    Remove(prop::sample::Index),
    Update(prop::sample::Index, u64),
    Pop,
    PopDue(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let deadline = 0u64..12;
    prop_oneof![
        5 => deadline.clone().prop_map(Op::Insert),
        2 => any::<prop::sample::Index>().prop_map(Op::Remove),
        2 => (any::<prop::sample::Index>(), deadline.clone()).prop_map(|(i, d)| Op::Update(i, d)),
        2 => Just(Op::Pop),
        1 => deadline.prop_map(Op::PopDue),
    ]
}

/// The model: keys in order, and which key a handle stands for.
#[derive(Default)]
struct Model {
    sorted: BTreeMap<(u64, u64), u64>,
    handles: Vec<(Handle, (u64, u64))>,
    count: u64,
}

impl Model {
    fn key(&mut self, deadline: u64) -> (u64, u64) {
        self.count += 1;
        (deadline, self.count)
    }

    fn pop(&mut self) -> Option<(Nanos, u64)> {
        let ((deadline, _), value) = self.sorted.pop_first()?;
        Some((Nanos(deadline), value))
    }
}

fn apply(heap: &mut Heap<u64>, model: &mut Model, op: Op) -> Result<(), TestCaseError> {
    match op {
        Op::Insert(deadline) => {
            let key = model.key(deadline);
            model.sorted.insert(key, key.1);
            let handle = heap.insert(Nanos(deadline), key.1);
            model.handles.push((handle, key));
        }
        Op::Remove(at) if !model.handles.is_empty() => {
            let (handle, key) = *at.get(&model.handles);
            prop_assert_eq!(heap.remove(handle), model.sorted.remove(&key));
        }
        Op::Update(at, deadline) if !model.handles.is_empty() => {
            let at = at.index(model.handles.len());
            let (handle, old) = model.handles[at];
            let value = model.sorted.remove(&old);
            prop_assert_eq!(heap.update(handle, Nanos(deadline)), value.is_some());
            if let Some(value) = value {
                let key = model.key(deadline);
                model.sorted.insert(key, value);
                model.handles[at].1 = key;
            }
        }
        Op::Pop => prop_assert_eq!(heap.pop(), model.pop()),
        Op::PopDue(now) => {
            let due = model
                .sorted
                .first_key_value()
                .is_some_and(|(key, _)| key.0 <= now);
            let expected = if due { model.pop() } else { None };
            prop_assert_eq!(heap.pop_due(Nanos(now)), expected);
        }
        Op::Remove(_) | Op::Update(..) => {}
    }
    Ok(())
}

proptest! {
    // WITNESS: heap.order, heap.index, heap.handle
    #[test]
    fn any_operations_agree_with_a_sorted_map(
        ops in proptest::collection::vec(op(), 0..300),
    ) {
        let mut heap = Heap::new();
        let mut model = Model::default();
        for op in ops {
            apply(&mut heap, &mut model, op)?;
            prop_assert_eq!(heap.len(), model.sorted.len());
            let first = model.sorted.first_key_value();
            prop_assert_eq!(
                heap.peek(),
                first.map(|(key, value)| (Nanos(key.0), value))
            );
        }
        let mut all: Vec<_> = heap.iter().map(|(_, value)| *value).collect();
        all.sort_unstable();
        let mut expected: Vec<_> = model.sorted.values().copied().collect();
        expected.sort_unstable();
        prop_assert_eq!(all, expected);
        while let Some(next) = model.pop() {
            prop_assert_eq!(heap.pop(), Some(next));
        }
        prop_assert!(heap.is_empty());
    }
}

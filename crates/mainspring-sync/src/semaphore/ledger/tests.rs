//! The rule of who may pass, against one that looks at everybody each time.

use super::{Ledger, MAX_PERMITS, Request, Resized};
use mainspring_core::wait_list::Scan;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Op {
    Come(usize),
    Free(usize),
    Leave(prop::sample::Index),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1usize..7).prop_map(Op::Come),
        4 => (0usize..5).prop_map(Op::Free),
        1 => any::<prop::sample::Index>().prop_map(Op::Leave),
    ]
}

/// Name, wish, and what went past.
type Waits = (usize, usize, usize);

/// Serves whoever may be served, one after the other, from the front each time.
fn naive(queue: &mut Vec<Waits>, free: &mut usize, bound: usize) -> Vec<usize> {
    let mut served = Vec::new();
    loop {
        let Some(first) = queue.first().copied() else {
            return served;
        };
        if first.1 <= *free {
            *free -= first.1;
            served.push(first.0);
            queue.remove(0);
            continue;
        }
        let may = |other: &&Waits| other.1 <= *free && first.2 + other.1 <= bound;
        let Some(next) = queue[1..].iter().find(may).copied() else {
            return served;
        };
        *free -= next.1;
        queue[0].2 += next.1;
        served.push(next.0);
        queue.retain(|waits| waits.0 != next.0);
    }
}

struct World {
    ledger: Ledger,
    free: usize,
    queue: Vec<(usize, Request)>,
}

impl World {
    fn settle(&mut self) -> Vec<usize> {
        let mut round = self.ledger.scan(self.free);
        let mut served = Vec::new();
        for (name, request) in &self.queue {
            match round.visit(request) {
                Scan::Offer => served.push(*name),
                Scan::Skip => {}
                Scan::Stop => break,
            }
        }
        self.queue.retain(|(name, _)| !served.contains(name));
        let granted = round.end();
        self.free -= granted.permits;
        if let Some((_, first)) = self.queue.first_mut() {
            first.passed += granted.passed;
        }
        if let Some(least) = granted.least {
            self.ledger.note_least(least);
        }
        served
    }
}

proptest! {
    // WITNESS: ledger.overtaking
    #[test]
    fn one_scan_serves_whom_the_naive_rule_serves(
        capacity in 0usize..8,
        is_strict in any::<bool>(),
        ops in proptest::collection::vec(op(), 0..80),
    ) {
        let bound = if is_strict { 0 } else { capacity };
        let mut world = World {
            ledger: Ledger::new(capacity, is_strict),
            free: 0,
            queue: Vec::new(),
        };
        let (mut queue, mut free) = (Vec::new(), 0);
        for (name, op) in ops.iter().enumerate() {
            match op {
                Op::Come(wanted) => {
                    world.ledger.note_waiting(*wanted);
                    world.queue.push((name, Request::new(*wanted)));
                    queue.push((name, *wanted, 0));
                }
                Op::Free(permits) => {
                    world.free += permits;
                    free += permits;
                }
                Op::Leave(at) if !queue.is_empty() => {
                    let at = at.index(queue.len());
                    queue.remove(at);
                    world.queue.remove(at);
                }
                Op::Leave(_) => {}
            }
            // In one scan those that follow the first may come out in another order of turns, never
            // others.
            prop_assert_eq!(world.settle(), naive(&mut queue, &mut free, bound));
            prop_assert_eq!(world.free, free);
            let left: Vec<_> = world
                .queue
                .iter()
                .map(|(name, request)| (*name, request.wanted, request.passed))
                .collect();
            prop_assert_eq!(&left, &queue);
            prop_assert!(queue.iter().all(|waits| waits.2 <= bound));
        }
    }
}

// WITNESS: ledger.total
#[test]
fn resize_owes_what_is_out_and_forgetting_pays_first() {
    let mut ledger = Ledger::new(5, false);
    assert_eq!(ledger.resize(2, 1), Ok(Resized::Shrunk(1)));
    assert!(ledger.has_debt());
    // Four are out, two of them owed.
    ledger.forget(3);
    assert!(!ledger.has_debt());
    assert_eq!(ledger.capacity(), 1);
    assert_eq!(ledger.resize(1, 0), Ok(Resized::Grown(0)));
    assert_eq!(ledger.resize(3, 0), Ok(Resized::Grown(2)));
}

// WITNESS: ledger.total
#[test]
fn growing_pays_the_debt_before_anything_becomes_free() {
    let mut ledger = Ledger::new(5, false);
    assert_eq!(ledger.resize(1, 0), Ok(Resized::Shrunk(0)));
    assert_eq!(ledger.add(3), Ok(0));
    assert_eq!(ledger.add(3), Ok(2));
    assert_eq!(ledger.capacity(), 7);
}

// B139, S19
// WITNESS: ledger.total
#[test]
fn too_many_are_refused_and_change_nothing() {
    let mut ledger = Ledger::new(3, false);
    for many in [MAX_PERMITS - 2, MAX_PERMITS, MAX_PERMITS + 1, usize::MAX] {
        assert!(ledger.add(many).is_err());
    }
    assert!(ledger.resize(MAX_PERMITS + 1, 3).is_err());
    assert!(ledger.resize(usize::MAX, 3).is_err());
    assert_eq!(ledger.capacity(), 3);
    assert_eq!(ledger.add(MAX_PERMITS - 3), Ok(MAX_PERMITS - 3));
    assert_eq!(ledger.resize(0, 0), Ok(Resized::Shrunk(0)));
    assert_eq!(ledger.add(MAX_PERMITS), Ok(0));
}

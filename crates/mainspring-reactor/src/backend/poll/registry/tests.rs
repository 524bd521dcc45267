use super::{ALARM, Registry, WAKER};
use proptest::prelude::*;
use std::collections::HashMap;

// WITNESS: registry.generation
#[test]
fn token_of_a_source_that_left_finds_nothing() {
    let mut registry = Registry::new();
    let old = registry.insert("old").unwrap();
    assert_eq!(registry.remove(old), Some("old"));
    let new = registry.insert("new").unwrap();
    assert_ne!(old, new);
    assert_eq!(registry.find(old), None);
    assert_eq!(registry.remove(old), None);
    assert_eq!(registry.find(new), Some(&"new"));
    assert_eq!(registry.find(WAKER), None);
    assert_eq!(registry.find(ALARM), None);
}

// WITNESS: registry.no-leak
#[test]
fn slots_are_used_again() {
    let mut registry = Registry::new();
    for turn in 0..10_000 {
        let token = registry.insert(turn).unwrap();
        assert_eq!(registry.remove(token), Some(turn));
    }
    assert_eq!(registry.slots.len(), 1);
    assert_eq!(registry.len(), 0);
}

proptest! {
    // WITNESS: registry.generation, registry.no-leak
    #[test]
    fn any_order_of_coming_and_going_is_like_a_map(
        steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>()), 1..200)
    ) {
        let mut registry = Registry::new();
        let mut tokens = Vec::new();
        let mut model = HashMap::new();
        let mut peak = 0;
        for (number, (comes, which)) in steps.into_iter().enumerate() {
            if comes || tokens.is_empty() {
                let token = registry.insert(number).unwrap();
                prop_assert!(model.insert(token, number).is_none());
                tokens.push(token);
            } else {
                // Any token ever given, so that stale ones are tried too.
                let token = *which.get(&tokens);
                prop_assert_eq!(registry.remove(token), model.remove(&token));
            }
            peak = peak.max(model.len());
            prop_assert_eq!(registry.len(), model.len());
            prop_assert!(registry.slots.len() <= peak);
            for token in &tokens {
                prop_assert_eq!(registry.find(*token), model.get(token));
            }
        }
        let mut left = registry.drain();
        left.sort_unstable();
        let mut expected: Vec<_> = model.into_values().collect();
        expected.sort_unstable();
        prop_assert_eq!(left, expected);
    }
}

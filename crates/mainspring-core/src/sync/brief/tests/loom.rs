//! Models of the brief lock itself. Elsewhere in models loom's own lock stands for it.

use crate::sync::brief::Brief;
use crate::sync::{Arc, thread};

// WITNESS: brief.exclusive, brief.free
#[test]
fn sections_of_two_threads_see_each_other_as_a_whole() {
    ::loom::model(|| {
        let lock = Arc::new(Brief::new((0_u32, 0_u32)));
        let section = |lock: &Brief<(u32, u32)>| {
            let mut pair = lock.lock();
            assert_eq!(pair.0, pair.1);
            pair.0 += 1;
            pair.1 += 1;
        };
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || section(&lock))
        };
        section(&lock);
        other.join().unwrap();
        assert_eq!(*lock.lock(), (2, 2));
    });
}

// WITNESS: brief.exclusive, brief.free
#[test]
fn trying_succeeds_only_between_sections() {
    ::loom::model(|| {
        let lock = Arc::new(Brief::new((0_u32, 0_u32)));
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                for _ in 0..2 {
                    let mut pair = lock.lock();
                    pair.0 += 1;
                    pair.1 += 1;
                }
            })
        };
        if let Some(pair) = lock.try_lock() {
            assert_eq!(pair.0, pair.1);
        }
        other.join().unwrap();
        assert_eq!(*lock.lock(), (2, 2));
    });
}

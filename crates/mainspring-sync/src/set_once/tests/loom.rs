//! Models of the cell: setters, and those who look without the lock.

use crate::SetOnce;
use crate::parked::tests::racing::{explore, race};
use loom::future::block_on;
use mainspring_core::completion;
use mainspring_core::sync::Arc;

// WITNESS: set-once.init, set-once.set
#[test]
fn value_set_while_somebody_comes_to_wait_is_found_whole() {
    explore(|start| {
        let cell = Arc::new(SetOnce::new());
        let (seen, work) = completion::<()>();
        let setting = {
            let cell = Arc::clone(&cell);
            move || {
                drop(work);
                assert!(cell.set(7).is_ok());
            }
        };
        let waiting = move || {
            assert_eq!(*block_on(cell.wait()), 7);
            assert!(seen.is_cancelled(), "set-once.set");
        };
        race(start, setting, waiting);
    });
}

// WITNESS: set-once.init, set-once.set
#[test]
fn second_setter_finds_the_first_ones_value() {
    explore(|start| {
        let cell = Arc::new(SetOnce::new());
        let set = |value: u32| {
            let cell = Arc::clone(&cell);
            move || {
                let back = cell.set(value).err().map(|error| error.value);
                assert!(back.is_none_or(|back| back == value));
                (back.is_none(), *cell.get().expect("set-once.init"))
            }
        };
        let (first, second) = race(start, set(1), set(2));
        assert_ne!(first.0, second.0, "set-once.init: set twice, or never");
        assert_eq!(first.1, second.1);
    });
}

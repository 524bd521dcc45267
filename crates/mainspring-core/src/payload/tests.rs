use super::{Steps, absorb, contain, discard};
use std::cell::Cell;
use std::panic::panic_any;
use std::sync::Arc;

thread_local! {
    static DROPS: Cell<usize> = const { Cell::new(0) };
}

/// Panics in its drop, with the like of it. It has no bytes: forgotten, it leaks none.
struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        DROPS.set(DROPS.get() + 1);
        panic_any(Self);
    }
}

#[test]
fn absorbed_panic_leaves_nothing_behind() {
    let carried = Arc::new(());
    for _ in 0..3 {
        absorb(|| panic_any(Arc::clone(&carried)));
        assert_eq!(Arc::strong_count(&carried), 1, "the payload was leaked");
    }
    let payload = contain(|| panic_any(Arc::clone(&carried)));
    assert_eq!(Arc::strong_count(&carried), 2);
    payload.into_iter().for_each(discard);
    assert_eq!(Arc::strong_count(&carried), 1);
}

#[test]
fn payload_that_panics_in_its_drop_is_dropped_once_and_ends_there() {
    absorb(|| panic_any(PanicsInDrop));
    assert_eq!(DROPS.get(), 1);
}

#[test]
fn steps_are_all_made_and_the_first_panic_goes_on() {
    let carried = Arc::new(());
    let mut steps = Steps::default();
    let mut made = 0;
    steps.run(|| made += 1);
    steps.run(|| panic_any(7));
    steps.run(|| panic_any(Arc::clone(&carried)));
    steps.run(|| made += 1);
    assert_eq!((made, Arc::strong_count(&carried)), (2, 1));
    let payload = contain(|| steps.finish()).expect("the first panic");
    assert_eq!(payload.downcast_ref(), Some(&7));
    Steps::default().finish();
    assert!(Steps::default().into_first().is_none());
}

#[test]
fn panic_of_a_step_while_another_is_under_way_goes_no_further() {
    struct InDrop(Arc<()>);

    impl Drop for InDrop {
        fn drop(&mut self) {
            let mut steps = Steps::default();
            steps.run(|| panic_any(Arc::clone(&self.0)));
            steps.finish();
        }
    }

    let carried = Arc::new(());
    absorb(|| {
        let _steps = InDrop(Arc::clone(&carried));
        panic_any(());
    });
    assert_eq!(Arc::strong_count(&carried), 1);
}

use crate::sync::Arc;
use crate::sync::atomic::{AtomicUsize, Ordering, acquire_last};
use crate::sync::cell::UnsafeCell;

/// Two holders, a cell for each, and the count of those who have not let go.
struct Shared {
    count: AtomicUsize,
    cells: [UnsafeCell<u32>; 2],
}

// SAFETY: a cell is written by its holder alone, and read by whoever lets go last; the model is
// about whether that is enough.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// Writes, lets go, and reads what both wrote if nobody is left.
fn hold(shared: &Shared, holder: usize) -> Option<u32> {
    shared.cells[holder].with_mut(|cell| {
        // SAFETY: this holder alone writes this cell, before it lets go.
        unsafe { *cell = 1 };
    });
    if shared.count.fetch_sub(1, Ordering::Release) != 1 {
        return None;
    }
    acquire_last(&shared.count);
    let read = |cell: *const u32| {
        // SAFETY: both holders have let go.
        unsafe { *cell }
    };
    Some(shared.cells.iter().map(|cell| cell.with(read)).sum())
}

// WITNESS: door.last-ref
#[test]
fn last_holder_sees_what_the_other_wrote() {
    ::loom::model(|| {
        let shared = Arc::new(Shared {
            count: AtomicUsize::new(2),
            cells: [UnsafeCell::new(0), UnsafeCell::new(0)],
        });
        let other = Arc::clone(&shared);
        let other = ::loom::thread::spawn(move || hold(&other, 1));
        let sums = [hold(&shared, 0), other.join().unwrap()];
        assert!(
            matches!(sums, [Some(2), None] | [None, Some(2)]),
            "{sums:?}"
        );
    });
}

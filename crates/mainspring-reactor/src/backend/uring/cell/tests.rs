use super::{Kind, Owner, kind, lend, name, owner, take_back};
use std::sync::Arc;

/// Somebody who owns operations.
#[repr(align(8))]
struct Somebody(u32);

impl Owner for Somebody {}

const KINDS: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Accept];

// WITNESS: cell.lent, cell.kind
#[test]
fn number_says_what_it_is_and_carries_one_reference() {
    let somebody = Arc::new(Somebody(7));
    for (place, kind_of) in KINDS.into_iter().enumerate() {
        let number = lend(&somebody, kind_of);
        assert_eq!(kind(number), kind_of);
        assert_eq!(number, name(&somebody, kind_of), "{place}");
        assert_eq!(Arc::strong_count(&somebody), 2);
        // SAFETY: [cell.lent, cell.kind] lent above.
        assert_eq!(unsafe { owner::<Somebody>(number) }.0, 7);
        assert_eq!(Arc::strong_count(&somebody), 2);
        // SAFETY: [cell.lent, cell.kind] lent above, and taken back once.
        let back = unsafe { take_back::<Somebody>(number) };
        assert!(Arc::ptr_eq(&back, &somebody));
        drop(back);
        assert_eq!(Arc::strong_count(&somebody), 1);
    }
    assert_eq!(kind(Kind::Nothing as u64), Kind::Nothing);
    assert_eq!(kind(Kind::Kick as u64), Kind::Kick);
}

// WITNESS: cell.lent, cell.kernel
#[test]
fn owner_stays_until_another_thread_takes_the_last_reference_back() {
    let somebody = Arc::new(Somebody(7));
    let weak = Arc::downgrade(&somebody);
    let number = lend(&somebody, Kind::Read);
    drop(somebody);
    assert_eq!(weak.strong_count(), 1);
    let taken = std::thread::spawn(move || {
        // SAFETY: [cell.lent, cell.kind] lent above, and taken back once.
        unsafe { take_back::<Somebody>(number) }.0
    });
    assert_eq!(taken.join().unwrap(), 7);
    assert_eq!(weak.strong_count(), 0);
}

use crate::backend::uring::remote::{Refused, Remote};

// WITNESS: remote.kept, remote.closed
#[test]
fn what_is_handed_in_is_taken_once_and_in_order_until_the_close() {
    let remote = Remote::new();
    assert_eq!(remote.take(), []);
    remote.hand_in(1).unwrap();
    remote.hand_in(2).unwrap();
    assert_eq!(remote.take(), [1, 2]);
    assert_eq!(remote.take(), []);
    remote.hand_in(3).unwrap();
    assert_eq!(remote.close(), [3]);
    assert_eq!(remote.hand_in(4), Err(Refused(4)));
    assert_eq!(remote.take(), []);
    assert_eq!(remote.close(), []);
}

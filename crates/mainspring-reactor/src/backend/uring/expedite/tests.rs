use super::{IS_ALLOWED, PRIVATE_EXPEDITED, expedite, membarrier};

// WITNESS: expedite.asked
#[test]
fn barrier_is_made_where_the_registration_was_allowed() {
    expedite();
    assert_eq!(IS_ALLOWED.get(), Some(&membarrier(PRIVATE_EXPEDITED)));
}

use super::Faults;
use mainspring_core::time::Nanos;
use std::time::Duration;

// WITNESS: worker.faults
#[test]
fn errors_in_a_row_are_told_once_and_rows_once_a_second() {
    let mut faults = Faults::default();
    let at = |ms| Nanos(0).saturating_add(Duration::from_millis(ms));
    assert!(faults.is_worth_telling(at(0)));
    faults.in_a_row = 1;
    assert!(!faults.is_worth_telling(at(5000)));
    // The driver works, and fails again, and so on.
    faults.over();
    assert!(faults.is_worth_telling(at(5001)));
    for ms in 5002..6001 {
        faults.over();
        assert!(!faults.is_worth_telling(at(ms)), "{ms}");
    }
    assert!(faults.is_worth_telling(at(6001)));
}

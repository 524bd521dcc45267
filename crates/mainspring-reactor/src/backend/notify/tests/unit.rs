use crate::backend::notify::{Notify, OnNotify, OnSleep};

// WITNESS: notify.token, notify.kick
#[test]
fn kernel_is_told_once_a_sleep_and_only_then() {
    let word = Notify::new();
    assert_eq!(word.notify(), OnNotify::Nothing);
    assert_eq!(word.notify(), OnNotify::Nothing);
    assert_eq!(word.fall_asleep(), OnSleep::Look);
    assert_eq!(word.fall_asleep(), OnSleep::Wait);
    assert_eq!(word.notify(), OnNotify::Kick);
    assert_eq!(word.notify(), OnNotify::Nothing);
    word.wake_up();
    assert_eq!(word.fall_asleep(), OnSleep::Wait);
    word.wake_up();
}

use super::Level;

#[test]
fn lowest_follows_every_single_slot() {
    let mut level = Level::new();
    assert_eq!(level.lowest(), None);
    for slot in (0..=255).rev() {
        level.set_first(slot, Some(u32::from(slot)));
        assert_eq!(level.lowest(), Some(slot));
        assert_eq!(level.first(slot), Some(u32::from(slot)));
    }
    for slot in 0..=255u8 {
        assert_eq!(level.lowest(), Some(slot));
        level.set_first(slot, None);
    }
    assert_eq!(level.lowest(), None);
}

#[test]
fn emptying_a_slot_leaves_its_neighbours() {
    let mut level = Level::new();
    for slot in [63, 64, 65] {
        level.set_first(slot, Some(()));
    }
    level.set_first(64, None);
    assert_eq!(level.lowest(), Some(63));
    level.set_first(63, None);
    assert_eq!(level.lowest(), Some(65));
}

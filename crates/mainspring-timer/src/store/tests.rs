use super::{Place, Slab, Store};

#[test]
fn slab_uses_a_freed_index_again() {
    let mut slab = Slab::new();
    let ids: Vec<_> = (0..4).map(|value| slab.add(value)).collect();
    assert_eq!(slab.take(ids[1]), Some(1));
    assert_eq!(slab.take(ids[3]), Some(3));
    assert_eq!(slab.take(ids[3]), None);
    assert_eq!(slab.len(), 2);
    let mut again = [slab.add(10), slab.add(11)];
    again.sort_unstable();
    assert_eq!(again, [ids[1], ids[3]]);
    assert_eq!(slab.add(12), 4);
    assert_eq!(slab.value(4), Some(&12));
    assert_eq!(slab.value(99), None);
}

#[test]
#[should_panic(expected = "MS0018: the entry is still in a wheel")]
fn slab_refuses_to_free_what_is_linked() {
    let mut slab = Slab::new();
    let id = slab.add(());
    slab.set_place(id, Place::from_bits(7));
    let _ = slab.take(id);
}

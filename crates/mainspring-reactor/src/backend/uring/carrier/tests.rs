//! The choice of a ring. What moves between real ones is tested by the driver's tests.

use super::Carrier;
use crate::backend::uring::hub::Gone;
use std::cell::Cell;
use std::sync::Arc;

/// A ring that counts what it takes.
#[derive(Default)]
struct Ring {
    begun: Cell<u32>,
    is_closed: Cell<bool>,
}

impl Ring {
    fn begin(&self) -> Result<(), Gone> {
        if self.is_closed.get() {
            return Err(Gone);
        }
        self.begun.set(self.begun.get() + 1);
        Ok(())
    }
}

/// Three rings, of which the first is the maker's, and the carrier.
struct Rings([Arc<Ring>; 3], Carrier<Ring>);

impl Rings {
    /// Begins on a thread that has that ring. Returns how many each has taken.
    fn begin(&mut self, here: Option<usize>) -> Result<[u32; 3], Gone> {
        let Self(rings, carrier) = self;
        carrier.begin_in(&rings[0], here.map(|here| &rings[here]), Ring::begin)?;
        Ok(rings.each_ref().map(|ring| ring.begun.get()))
    }

    fn carrier(&self) -> usize {
        let ring = self.1.ring(&self.0[0]);
        self.0
            .iter()
            .position(|one| Arc::ptr_eq(one, ring))
            .unwrap()
    }

    fn close(&self, ring: usize) {
        self.0[ring].is_closed.set(true);
    }

    fn references(&self) -> [usize; 3] {
        self.0.each_ref().map(Arc::strong_count)
    }
}

// WITNESS: carrier.here, carrier.one, carrier.kept
#[test]
fn ring_here_is_first_then_the_last_one_then_the_makers() {
    let mut rings = Rings(std::array::from_fn(|_| Arc::default()), Carrier::new());
    assert_eq!(rings.carrier(), 0);
    assert_eq!(rings.begin(None), Ok([1, 0, 0]));
    assert_eq!(rings.begin(Some(0)), Ok([2, 0, 0]));
    assert_eq!(
        rings.references(),
        [1, 1, 1],
        "who stays at home keeps nothing more"
    );
    assert_eq!(rings.begin(Some(1)), Ok([2, 1, 0]));
    assert_eq!((rings.carrier(), rings.references()), (1, [1, 2, 1]));
    assert_eq!(rings.begin(Some(1)), Ok([2, 2, 0]));
    assert_eq!((rings.carrier(), rings.references()), (1, [1, 2, 1]));
    // A thread without a ring: the last one.
    assert_eq!(rings.begin(None), Ok([2, 3, 0]));
    assert_eq!(rings.begin(Some(2)), Ok([2, 3, 1]));
    assert_eq!((rings.carrier(), rings.references()), (2, [1, 1, 2]));
    rings.close(1);
    assert_eq!(
        rings.begin(Some(1)),
        Ok([2, 3, 2]),
        "one that has closed is none"
    );
    rings.close(2);
    assert_eq!(rings.begin(Some(1)), Ok([3, 3, 2]));
    assert_eq!((rings.carrier(), rings.references()), (0, [1, 1, 1]));
    rings.close(0);
    assert_eq!(rings.begin(Some(2)), Err(Gone));
    assert_eq!(rings.begin(None), Err(Gone));
    assert_eq!(rings.carrier(), 0);
}

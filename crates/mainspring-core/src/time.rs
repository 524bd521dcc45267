//! Time: nanoseconds since one origin inside, [`std::time::Instant`] at the edge.

mod nanos;

pub use self::nanos::Nanos;

/// Something that tells the time.
///
/// # Contract
///
/// A clock may be read from any thread. Successive reads on one thread never go back; a caller
/// that compares readings of two threads saturates instead of wrapping.
pub trait Clock {
    /// The time now.
    fn now(&self) -> Nanos;
}

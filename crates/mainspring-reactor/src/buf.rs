//! Buffers that are lent, and buffers that go in and come back.
//!
//! | type | what it is |
//! |---|---|
//! | [`PooledBuf`] | what a receive brought, in the runtime's memory; dropping gives it back |
//! | [`IoBuf`], [`IoBufMut`] | memory of the caller's that an operation owns while it runs |

mod owned;
mod pooled;

pub use self::owned::{IoBuf, IoBufMut};
pub use self::pooled::PooledBuf;

pub(crate) use self::owned::{Adopted, Storage};

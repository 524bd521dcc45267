//! What a receive brought, in memory of the runtime's.

use crate::backend::uring::Lent;
use std::fmt;
use std::ops::Deref;

/// Bytes that were received, in a buffer that the runtime lends. Dropping it, on any thread, gives
/// the buffer back.
///
/// Hold it as long as the bytes are needed and no longer: a reactor has a pool of a few MiB. Above
/// its ceiling sockets still receive, into memory of their own, which costs a system call more.
/// It is an [`IoBuf`](super::IoBuf): `write_owned` sends it without a copy.
pub struct PooledBuf {
    memory: Memory,
}

enum Memory {
    Lent(Lent),
    Heap { bytes: Box<[u8]>, start: usize },
}

impl PooledBuf {
    pub(crate) fn lent(lent: Lent) -> Self {
        Self {
            memory: Memory::Lent(lent),
        }
    }

    pub(crate) fn heap(bytes: Vec<u8>, start: usize) -> Self {
        Self {
            memory: Memory::Heap {
                bytes: bytes.into_boxed_slice(),
                start,
            },
        }
    }
}

impl Deref for PooledBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            Memory::Lent(lent) => lent.bytes(),
            Memory::Heap { bytes, start } => &bytes[*start..],
        }
    }
}

impl AsRef<[u8]> for PooledBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for PooledBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledBuf")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

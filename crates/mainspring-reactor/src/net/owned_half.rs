//! The two directions of a stream, for two tasks.

use super::ops::{Flush, Peek, Read, Ready, RecvPooled, Shutdown, Write, WriteVectored};
use super::owned_ops::{ReadOwned, WriteOwned};
use super::stream_core::StreamCore;
use super::tcp_stream::TcpStream;
use crate::backend::Backend;
use crate::buf::{IoBuf, IoBufMut};
use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::Arc;

/// The direction of reading of a [`TcpStream`].
///
/// The connection is closed when both halves have been dropped.
#[derive(Debug)]
pub struct OwnedReadHalf {
    core: Arc<StreamCore>,
}

/// The direction of writing of a [`TcpStream`].
///
/// Dropping it ends its direction: the other side reads the end after what was written.
#[derive(Debug)]
pub struct OwnedWriteHalf {
    /// `None` only after the halves were put together again.
    core: Option<Arc<StreamCore>>,
}

pub(super) fn split(core: StreamCore) -> (OwnedReadHalf, OwnedWriteHalf) {
    let core = Arc::new(core);
    let write = OwnedWriteHalf {
        core: Some(Arc::clone(&core)),
    };
    (OwnedReadHalf { core }, write)
}

impl OwnedReadHalf {
    pub(super) fn core(&self) -> &StreamCore {
        &self.core
    }

    pub(super) fn core_mut(&mut self) -> &StreamCore {
        &self.core
    }

    /// Puts the two directions of one stream together again.
    ///
    /// # Errors
    ///
    /// Halves of two streams come back as they are.
    pub fn reunite(self, mut write: OwnedWriteHalf) -> Result<TcpStream, ReuniteError> {
        let is_same = write
            .core
            .as_ref()
            .is_some_and(|core| Arc::ptr_eq(core, &self.core));
        if !is_same {
            return Err(ReuniteError(self, write));
        }
        drop(write.core.take());
        match Arc::try_unwrap(self.core) {
            Ok(core) => Ok(TcpStream::from_core(core)),
            Err(_) => unreachable!("a stream has two halves"),
        }
    }

    read_methods!();
    addr_methods!();
}

impl OwnedWriteHalf {
    pub(super) fn core(&self) -> &StreamCore {
        self.core
            .as_ref()
            .expect("a half that was put away is gone")
    }

    pub(super) fn core_mut(&mut self) -> &StreamCore {
        self.core()
    }

    write_methods!();
    addr_methods!();
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if let Some(core) = &self.core {
            core.shut_down_later();
        }
    }
}

/// Two halves that are not of one stream. They are inside.
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

impl ReuniteError {
    /// Never: halves stay what they are.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        false
    }
}

impl fmt::Display for ReuniteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves are of two streams")
    }
}

impl Error for ReuniteError {}

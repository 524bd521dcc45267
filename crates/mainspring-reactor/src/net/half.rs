//! The two directions of a borrowed stream.

use super::ops::{Flush, Peek, Read, Ready, RecvPooled, Shutdown, Write, WriteVectored};
use super::owned_ops::{ReadOwned, WriteOwned};
use super::stream_core::StreamCore;
use crate::backend::Backend;
use crate::buf::{IoBuf, IoBufMut};
use std::io::{self, IoSlice};
use std::net::SocketAddr;

/// The direction of reading of a [`TcpStream`](super::TcpStream) that is borrowed.
#[derive(Debug)]
pub struct ReadHalf<'s> {
    core: &'s StreamCore,
}

/// The direction of writing of a [`TcpStream`](super::TcpStream) that is borrowed. Dropping it ends
/// nothing.
#[derive(Debug)]
pub struct WriteHalf<'s> {
    core: &'s StreamCore,
}

impl<'s> ReadHalf<'s> {
    pub(super) fn new(core: &'s StreamCore) -> Self {
        Self { core }
    }

    pub(super) fn core(&self) -> &StreamCore {
        self.core
    }

    pub(super) fn core_mut(&mut self) -> &StreamCore {
        self.core
    }

    read_methods!();
    addr_methods!();
}

impl<'s> WriteHalf<'s> {
    pub(super) fn new(core: &'s StreamCore) -> Self {
        Self { core }
    }

    pub(super) fn core(&self) -> &StreamCore {
        self.core
    }

    pub(super) fn core_mut(&mut self) -> &StreamCore {
        self.core
    }

    write_methods!();
    addr_methods!();
}

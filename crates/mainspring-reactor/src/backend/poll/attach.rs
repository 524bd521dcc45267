//! How a source gets into a poll and out of it, where its descriptor is all that this needs: when
//! somebody waits.

use super::hub::{Hub, Shared};
use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Interest, Token};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// A source as this system registers it.
pub(crate) trait Attach: Source {
    /// When the source is made: not at all.
    fn attach_at_once(
        &mut self,
        _hub: &Hub,
        _interest: Interest,
        _shared: &Arc<Shared>,
    ) -> io::Result<Option<Token>> {
        Ok(None)
    }

    /// When somebody waits. `None`: the hub has closed.
    fn attach(
        &self,
        hub: &Hub,
        interest: Interest,
        shared: &Arc<Shared>,
    ) -> io::Result<Option<Token>>;

    /// Before the source is closed or handed out.
    fn detach(&mut self, hub: &Hub, token: Token);
}

impl<S: Source + AsRawFd> Attach for S {
    fn attach(
        &self,
        hub: &Hub,
        interest: Interest,
        shared: &Arc<Shared>,
    ) -> io::Result<Option<Token>> {
        hub.register(&mut SourceFd(&self.as_raw_fd()), interest, shared)
    }

    fn detach(&mut self, hub: &Hub, token: Token) {
        hub.deregister(&mut SourceFd(&self.as_raw_fd()), token);
    }
}

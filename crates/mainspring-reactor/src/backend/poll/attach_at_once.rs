//! How a source gets into a poll and out of it, where that has to be done by who alone has it: when
//! it is made, with the poll of the thread that makes it.

use super::hub::{Hub, Shared};
use mio::event::Source;
use mio::{Interest, Token};
use std::io;
use std::sync::Arc;

/// A source as this system registers it.
pub(crate) trait Attach: Source {
    /// When the source is made.
    fn attach_at_once(
        &mut self,
        hub: &Hub,
        interest: Interest,
        shared: &Arc<Shared>,
    ) -> io::Result<Option<Token>>;

    /// When somebody waits, and no poll has it: the one that had it has gone, and no other can.
    fn attach(
        &self,
        _hub: &Hub,
        _interest: Interest,
        _shared: &Arc<Shared>,
    ) -> io::Result<Option<Token>> {
        Ok(None)
    }

    /// Before the source is closed or handed out.
    fn detach(&mut self, hub: &Hub, token: Token);
}

impl<S: Source> Attach for S {
    fn attach_at_once(
        &mut self,
        hub: &Hub,
        interest: Interest,
        shared: &Arc<Shared>,
    ) -> io::Result<Option<Token>> {
        hub.register(self, interest, shared)
    }

    fn detach(&mut self, hub: &Hub, token: Token) {
        hub.deregister(self, token);
    }
}

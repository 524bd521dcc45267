//! Where the kernel has no timer among the poll's sources, the poll rounds a wait up to a
//! millisecond.

use mainspring_core::time::Nanos;
use mio::Registry;
use std::io;
use std::time::Duration;

/// Nothing: the poll's own timeout is all there is.
#[derive(Debug)]
pub(crate) struct Alarm;

impl Alarm {
    pub(crate) fn new(_registry: &Registry) -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn wait(
        &mut self,
        _deadline: Nanos,
        left: Duration,
    ) -> io::Result<Option<Duration>> {
        Ok(Some(left))
    }

    pub(crate) fn rang(&mut self) {}
}

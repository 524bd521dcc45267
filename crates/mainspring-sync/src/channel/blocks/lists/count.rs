//! How many blocks there are: a hook for tests.

use super::Lists;
use crate::channel::blocks::block::Row;

impl<T> Lists<T> {
    /// The spares, and the blocks whose laps have ended.
    pub(in crate::channel::blocks) fn count(&mut self) -> (usize, usize) {
        let spares = self.spares.iter().flatten().count();
        let mut before = self.ended.take_all();
        let mut after = Row::new();
        let mut ended = 0;
        while let Some(block) = before.take() {
            // SAFETY: [blocks.freed] it goes from one row to another, both of those that ended.
            unsafe { after.add(block) };
            ended += 1;
        }
        self.ended = after;
        (spares, ended)
    }
}

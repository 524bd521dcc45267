//! What the tests of several modules share.

pub(crate) mod kept;
pub(crate) mod recorder;

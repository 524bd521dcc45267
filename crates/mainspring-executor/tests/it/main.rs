//! The executors from outside.

mod end;
mod field;
mod root;
mod shutdown;
mod storm;

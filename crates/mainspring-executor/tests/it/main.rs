//! The executors from outside.

mod end;
mod field;
mod storm;

//! The automation of the workspace: `cargo xtask ci` and its relatives.

mod context;
mod run;

fn main() {}

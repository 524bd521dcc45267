//! The automation of the workspace: `cargo xtask ci` and its relatives.

fn main() {}

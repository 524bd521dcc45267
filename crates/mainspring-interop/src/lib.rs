//! Tests of the crates of mainspring inside other people's runtimes; nothing to use.

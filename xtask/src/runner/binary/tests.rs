use super::{Listed, names_in};
use crate::context::Context;
use crate::runner::tests::ourselves;
use std::path::PathBuf;

#[test]
fn terse_list_is_read_without_benchmarks_and_blank_lines() {
    let text = "a::b: test\nbench: benchmark\n\nc: test\n";
    assert_eq!(names_in(text), ["a::b", "c"]);
}

#[test]
fn real_test_binary_lists_this_very_test() {
    let listed = ourselves().list(&Context::new(PathBuf::from(".")));
    let listed = listed.unwrap_or_else(|why| panic!("{why}"));
    assert!(listed.contains(&Listed {
        name: "runner::binary::tests::real_test_binary_lists_this_very_test".to_owned(),
        is_ignored: false,
    }));
}

use super::{Binary, Listed, binaries_in, names_in};
use crate::context::Context;
use crate::metadata::Package;
use std::path::PathBuf;

const MESSAGES: &str = r#"{"reason":"compiler-artifact","package_id":"c","target":{"kind":["lib"],"name":"core"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","package_id":"c","target":{"kind":["test"],"name":"it"},"profile":{"test":true},"executable":"/t/it-2"}
   Compiling something that writes here by mistake
{"reason":"compiler-artifact","package_id":"c","target":{"kind":["lib"],"name":"core"},"profile":{"test":true},"executable":"/t/core-1"}
{"reason":"compiler-artifact","package_id":"c","target":{"kind":["example"],"name":"echo"},"profile":{"test":false},"executable":"/t/echo"}
{"reason":"build-finished","success":true}
"#;

fn package() -> Package {
    Package {
        name: "core".to_owned(),
        version: "0.1.0".to_owned(),
        dir: PathBuf::from("/w/core"),
        id: "c".to_owned(),
        is_published: true,
        features: Vec::new(),
        siblings: Vec::new(),
        targets: Vec::new(),
    }
}

#[test]
fn only_test_executables_are_taken_from_the_messages() {
    let binaries = binaries_in(MESSAGES, &[package()]).unwrap_or_else(|why| panic!("{why}"));
    let labels: Vec<_> = binaries.iter().map(Binary::label).collect();
    assert_eq!(labels, ["core", "core::it"]);
    assert_eq!(binaries[1].executable, PathBuf::from("/t/it-2"));
    assert_eq!(binaries[1].dir, PathBuf::from("/w/core"));
}

#[test]
fn broken_message_and_unknown_package_are_errors() {
    assert!(binaries_in("{\"reason\": ", &[package()]).is_err());
    assert!(binaries_in(MESSAGES, &[]).is_err());
}

#[test]
fn terse_list_is_read_without_benchmarks_and_blank_lines() {
    let text = "a::b: test\nbench: benchmark\n\nc: test\n";
    assert_eq!(names_in(text), ["a::b", "c"]);
}

#[test]
fn real_test_binary_lists_this_very_test() {
    let binary = Binary {
        package: "xtask".to_owned(),
        kind: "bin".to_owned(),
        target: "xtask".to_owned(),
        dir: PathBuf::from("."),
        executable: std::env::current_exe().unwrap_or_default(),
    };
    let listed = binary.list(&Context::new(PathBuf::from(".")));
    let listed = listed.unwrap_or_else(|why| panic!("{why}"));
    assert!(listed.contains(&Listed {
        name: "runner::binary::tests::real_test_binary_lists_this_very_test".to_owned(),
        is_ignored: false,
    }));
}

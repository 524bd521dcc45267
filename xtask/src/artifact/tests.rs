use super::{Artifact, read};
use crate::metadata::Package;
use std::path::PathBuf;

const MESSAGES: &str = r#"{"reason":"compiler-artifact","package_id":"c","target":{"kind":["lib"],"name":"core"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","package_id":"c","target":{"kind":["test"],"name":"it"},"profile":{"test":true},"executable":"/t/it-2"}
   Compiling something that writes here by mistake
{"reason":"compiler-artifact","package_id":"c","target":{"kind":["lib"],"name":"core"},"profile":{"test":true},"executable":"/t/core-1"}
{"reason":"compiler-artifact","package_id":"c","target":{"kind":["example"],"name":"echo"},"profile":{"test":false},"executable":"/t/echo"}
{"reason":"compiler-artifact","package_id":"stranger","target":{"kind":["bin"],"name":"s"},"profile":{"test":false},"executable":"/t/s"}
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
fn executables_of_the_workspace_are_taken_from_the_messages() {
    let artifacts = read(MESSAGES, &[package()]).unwrap_or_else(|why| panic!("{why}"));
    let seen = |a: &Artifact| (a.kind.clone(), a.target.clone(), a.is_test);
    let seen: Vec<_> = artifacts.iter().map(seen).collect();
    let expected = [
        ("lib", "core", true),
        ("example", "echo", false),
        ("test", "it", true),
    ];
    assert_eq!(
        seen,
        expected.map(|(kind, name, test)| (kind.to_owned(), name.to_owned(), test))
    );
    assert_eq!(artifacts[2].executable, PathBuf::from("/t/it-2"));
    assert_eq!(artifacts[2].dir, PathBuf::from("/w/core"));
}

#[test]
fn broken_message_is_an_error() {
    assert!(read("{\"reason\": ", &[package()]).is_err());
}

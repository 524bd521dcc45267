use super::read;
use crate::json::Value;

const METADATA: &str = r#"{"packages": [
    {"name": "xtask", "version": "0.0.0", "id": "x", "manifest_path": "/w/xtask/Cargo.toml",
     "publish": [], "features": {}, "dependencies": [],
     "targets": [{"kind": ["bin"], "name": "xtask"}]},
    {"name": "engine", "version": "0.1.0", "id": "e", "manifest_path": "/w/crates/engine/Cargo.toml",
     "publish": null, "features": {"default": ["io"], "io": [], "loom": []},
     "dependencies": [{"name": "xtask", "kind": "dev"}, {"name": "core", "kind": null},
                      {"name": "libc", "kind": null}],
     "targets": [{"kind": ["lib"], "name": "engine"},
                 {"kind": ["example"], "name": "echo"}]},
    {"name": "core", "version": "0.1.0", "id": "c", "manifest_path": "/w/crates/core/Cargo.toml",
     "publish": ["crates-io"], "features": {}, "dependencies": [],
     "targets": [{"kind": ["proc-macro"], "name": "core"}]}
]}"#;

#[test]
fn packages_are_read_sorted_with_what_stages_need() {
    let metadata = Value::parse(METADATA).unwrap_or_else(|error| panic!("{error}"));
    let packages = read(&metadata);
    let names: Vec<_> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    assert_eq!(names, ["core", "engine", "xtask"]);
    let published: Vec<_> = packages
        .iter()
        .map(|package| package.is_published)
        .collect();
    assert_eq!(published, [true, true, false]);
    let libraries: Vec<_> = packages
        .iter()
        .map(|package| package.has_library())
        .collect();
    assert_eq!(libraries, [true, true, false]);
    let engine = &packages[1];
    assert_eq!(
        engine.siblings,
        ["core"],
        "dev and foreign dependencies are none"
    );
    assert_eq!(engine.user_features(), ["io"]);
    assert_eq!(engine.targets[1].kind, "example");
    assert_eq!(engine.dir.display().to_string(), "/w/crates/engine");
}

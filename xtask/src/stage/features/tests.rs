use super::combinations;
use crate::metadata::Package;
use std::path::PathBuf;

fn package(features: &[&str]) -> Package {
    Package {
        name: "p".to_owned(),
        version: "0.1.0".to_owned(),
        dir: PathBuf::new(),
        id: String::new(),
        is_published: true,
        features: features.iter().map(|name| (*name).to_owned()).collect(),
        siblings: Vec::new(),
        targets: Vec::new(),
    }
}

#[test]
fn each_feature_is_checked_alone_and_all_but_loom_together() {
    assert_eq!(combinations(&package(&["loom"])), [""]);
    assert_eq!(combinations(&package(&["loom", "shuttle"])), [""]);
    assert_eq!(combinations(&package(&["loom", "sink"])), ["", "sink"]);
    assert_eq!(
        combinations(&package(&["default", "hyper", "loom", "tower"])),
        ["", "hyper", "tower", "default", "hyper,tower"]
    );
}

use super::is_patched;
use crate::metadata::Package;
use std::path::PathBuf;

fn package(name: &str, siblings: &[&str]) -> Package {
    Package {
        name: name.to_owned(),
        version: "0.1.0".to_owned(),
        dir: PathBuf::new(),
        id: String::new(),
        is_published: true,
        features: Vec::new(),
        siblings: siblings.iter().map(|name| (*name).to_owned()).collect(),
        targets: Vec::new(),
    }
}

#[test]
fn foreign_project_is_led_to_the_crate_and_what_it_may_know_and_to_nothing_else() {
    let core = package("mainspring-core", &[]);
    let timer = package("mainspring-timer", &["mainspring-core"]);
    let leaning = package("mainspring-sync", &["mainspring-core", "mainspring-timer"]);
    let facade = package("mainspring", &["mainspring-core", "mainspring-timer"]);
    assert!(is_patched(&timer, &timer));
    assert!(is_patched(&timer, &core));
    assert!(!is_patched(&timer, &leaning));
    assert!(!is_patched(&core, &timer));
    assert!(
        !is_patched(&leaning, &timer),
        "a sibling that it may not know"
    );
    assert!(is_patched(&facade, &timer));
}

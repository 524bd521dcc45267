//! Empty on purpose: `links = "mainspring-core"` in the manifest needs a build script to exist.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}

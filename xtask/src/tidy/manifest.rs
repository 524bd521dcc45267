//! What the manifest and the folder of a published crate have.

use super::Finding;
use super::source::Tree;
use super::toml::{entries, value};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, manifest) in tree.packages() {
        let entries = entries(&manifest.text);
        let mut find = |line, text: String| {
            findings.push(Finding::new("manifest", &manifest.path, line, text));
        };
        if value(&entries, "lints", "workspace") != Some("true") {
            find(
                1,
                "take the lints of the workspace: `[lints] workspace = true`".to_owned(),
            );
        }
        if value(&entries, "package", "publish") == Some("false") {
            continue;
        }
        for key in ["description", "license", "keywords", "categories"] {
            if value(&entries, "package", key).is_none() {
                find(1, format!("a published crate has `{key}`"));
            }
        }
        let early = ["repository", "homepage", "authors"];
        for entry in entries.iter().filter(|entry| entry.section == "package") {
            if early.contains(&entry.name()) {
                find(
                    entry.line,
                    format!("`{}` stays out until the owner names it", entry.key),
                );
            }
        }
        for beside in ["README.md", "CHANGELOG.md"] {
            if !tree.has(&format!("crates/{name}/{beside}")) {
                find(
                    1,
                    format!("a published crate has a {beside} beside its manifest"),
                );
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::Tree;

    const GOOD: &str = "[package]\ndescription = \"a\"\nlicense.workspace = true\n\
        keywords = [\"a\"]\ncategories = [\"b\"]\n[lints]\nworkspace = true\n";

    fn found(manifest: &str, with_readme: bool) -> usize {
        let mut files = vec![("crates/a/Cargo.toml", manifest)];
        if with_readme {
            files.extend([("crates/a/README.md", "x"), ("crates/a/CHANGELOG.md", "x")]);
        }
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn complete_manifest_passes() {
        assert_eq!(found(GOOD, true), 0);
    }

    #[test]
    fn what_is_missing_or_early_is_found() {
        assert_eq!(found(GOOD, false), 2);
        assert_eq!(found(&GOOD.replace("description", "x"), true), 1);
        assert_eq!(
            found(&GOOD.replace("[lints]\nworkspace = true\n", ""), true),
            1
        );
        assert_eq!(
            found(
                &GOOD.replace("license", "repository = \"x\"\nlicense"),
                true
            ),
            1
        );
        assert_eq!(
            found(
                "[package]\npublish = false\n[lints]\nworkspace = true\n",
                false
            ),
            0
        );
    }
}

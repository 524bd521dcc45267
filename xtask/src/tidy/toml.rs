//! As much of TOML as manifests need: sections, keys, and the comments above them.

/// A line `key = value` of a manifest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// The section: `dependencies`, `target.'cfg(unix)'.dependencies`, empty at the top.
    pub(crate) section: &'a str,
    /// The key as written, dots included: `futures-core.workspace`.
    pub(crate) key: &'a str,
    /// What follows the equals sign on the same line.
    pub(crate) value: &'a str,
    pub(crate) line: usize,
    /// A comment stands on the line above.
    pub(crate) is_commented: bool,
}

impl Entry<'_> {
    /// The key up to its first dot.
    pub(crate) fn name(&self) -> &str {
        self.key.split('.').next().unwrap_or(self.key)
    }
}

/// The entries of a manifest, in order. A section such as `[dependencies.loom]` counts as an entry
/// `loom` of `dependencies`, too.
pub(crate) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut found = Vec::new();
    let mut section = "";
    let mut is_commented = false;
    let mut depth = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let content = line.trim();
        let is_inside_value = depth > 0;
        if is_inside_value || !content.starts_with('[') {
            depth += content.matches(['[', '{']).count();
            depth = depth.saturating_sub(content.matches([']', '}']).count());
        }
        if content.starts_with('#') {
            is_commented = true;
            continue;
        }
        if !is_inside_value {
            if let Some(name) = content.strip_prefix('[') {
                section = name.trim_matches(['[', ']', ' ']);
                if let Some((parent, key)) = section.rsplit_once('.') {
                    found.push(Entry {
                        section: parent,
                        key,
                        value: "",
                        line: index + 1,
                        is_commented,
                    });
                }
            } else if let Some((key, value)) = content.split_once('=') {
                found.push(Entry {
                    section,
                    key: key.trim().trim_matches('"'),
                    value: value.trim(),
                    line: index + 1,
                    is_commented,
                });
            }
        }
        is_commented = false;
    }
    found
}

/// The value of `key` in `section`, with `key.workspace = true` counting as a value.
pub(crate) fn value<'a>(entries: &[Entry<'a>], section: &str, key: &str) -> Option<&'a str> {
    let mut entries = entries.iter();
    let found = entries.find(|entry| entry.section == section && entry.name() == key);
    found.map(|entry| entry.value)
}

#[cfg(test)]
mod tests {
    use super::{entries, value};

    const MANIFEST: &str = "[package]\nname = \"a\"\nlicense.workspace = true\n\n[features]\n\
        # Why.\nx = [\n    \"y\",\n]\nz = []\n[dependencies.loom]\nversion = \"1\"\n\
        [lints]\nworkspace = true\n";

    #[test]
    fn entries_know_their_section_and_their_comment() {
        let found = entries(MANIFEST);
        let x = found.iter().find(|entry| entry.key == "x").unwrap();
        assert_eq!((x.section, x.line, x.is_commented), ("features", 7, true));
        let z = found.iter().find(|entry| entry.key == "z").unwrap();
        assert!(!z.is_commented);
        assert!(
            found
                .iter()
                .any(|entry| entry.section == "dependencies" && entry.key == "loom")
        );
        assert_eq!(value(&found, "package", "license"), Some("true"));
        assert_eq!(value(&found, "lints", "workspace"), Some("true"));
        assert_eq!(value(&found, "package", "homepage"), None);
    }
}

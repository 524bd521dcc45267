//! The committed list of weaker orderings that no model turns red.

use std::collections::BTreeMap;
use std::path::Path;

pub(crate) const PATH: &str = "xtask/lists/weaken-survivors.txt";

/// The list: entry → reason.
#[derive(Debug, Default)]
pub(crate) struct Survivors {
    entries: BTreeMap<String, String>,
}

impl Survivors {
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        match std::fs::read_to_string(root.join(PATH)) {
            Ok(text) => Self::parse(&text),
            Err(error) => Err(format!("cannot read {PATH}: {error}")),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut list = Self::default();
        let lines = text.lines().enumerate();
        for (index, line) in lines.map(|(index, line)| (index + 1, line.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = line
                .split_once(" — ")
                .filter(|(_, reason)| reason.len() > 10);
            let Some((key, reason)) = entry else {
                return Err(format!("{PATH}:{index}: end the line in ` — reason`"));
            };
            if list
                .entries
                .insert(key.trim().to_owned(), reason.to_owned())
                .is_some()
            {
                return Err(format!("{PATH}:{index}: `{key}` stands there twice"));
            }
        }
        Ok(list)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::Survivors;

    #[test]
    fn entries_have_a_reason_and_stand_once() {
        let line = "crates/a/src/b.rs · f · 1 · Relaxed — the lock orders it already";
        let list = Survivors::parse(&format!("# why\n\n{line}\n")).unwrap();
        assert!(list.has("crates/a/src/b.rs · f · 1 · Relaxed"));
        assert_eq!(list.keys().count(), 1);
        assert!(Survivors::parse("crates/a/src/b.rs · f · 1 · Relaxed").is_err());
        assert!(Survivors::parse("a · f · 1 · Relaxed — so").is_err());
        assert!(Survivors::parse(&format!("{line}\n{line}\n")).is_err());
    }
}

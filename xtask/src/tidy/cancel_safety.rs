//! Every public async function and future says what is lost when it is dropped.

use super::Finding;
use super::lex::Doc;
use super::outline::Item;
use super::source::{File, Role, Tree};
use std::collections::BTreeSet;

const CLASSES: [&str; 4] = ["safe", "loses place", "loses value", "not restartable"];
const SLUG: &str = "cancel-safety";

/// A type, by the package and the module at the top of it, and its name: two modules may have a
/// type of one name each, of which one is a future.
type Name<'a> = (&'a str, &'a str, &'a str);

/// The types of a tree, and which of them are futures.
#[derive(Default)]
struct Types<'a> {
    all: BTreeSet<Name<'a>>,
    futures: BTreeSet<Name<'a>>,
}

impl<'a> Types<'a> {
    fn of(tree: &'a Tree) -> Self {
        let mut types = Self::default();
        for file in tree.rust().filter(|file| file.role == Role::Shipped) {
            let (package, module) = place(file);
            for item in &file.outline.items {
                match item.keyword {
                    "struct" | "enum" => {
                        types.all.insert((package, module, &item.name));
                    }
                    "impl" => {
                        let future = future_of(file, item);
                        types
                            .futures
                            .extend(future.map(|name| (package, module, name)));
                    }
                    _ => {}
                }
            }
        }
        types
    }

    /// Whether the name, as it stands in this file, is a future's.
    fn is_future(&self, file: &File, name: &str) -> bool {
        let (package, module) = place(file);
        if self.all.contains(&(package, module, name)) {
            return self.futures.contains(&(package, module, name));
        }
        let mut futures = self.futures.iter();
        futures.any(|(other, _, future)| *other == package && *future == name)
    }
}

/// The package, and the module at the top of it.
fn place(file: &File) -> (&str, &str) {
    let below = file.path.split_once("/src/").map_or("", |(_, below)| below);
    let module = below.split('/').next().unwrap_or("");
    let module = module.strip_suffix(".rs").unwrap_or(module);
    (file.package().unwrap_or(""), module)
}

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let types = Types::of(tree);
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.role == Role::Shipped) {
        for item in &file.outline.items {
            if !item.is_public || file.outline.is_test(item.at) {
                continue;
            }
            let is_future = match item.keyword {
                "struct" | "enum" => types.is_future(file, &item.name),
                "fn" => item.is_async || returns_future(file, item, &types),
                _ => false,
            };
            if let Some(text) = is_future.then(|| complaint(file, item)).flatten() {
                findings.push(Finding::new(SLUG, &file.path, file.line(item.at), text));
            }
        }
    }
    findings
}

/// The type that `impl … Future for Type` makes a future.
fn future_of<'a>(file: &'a File, item: &Item) -> Option<&'a str> {
    let mut tokens = item.at..item.open;
    let at = tokens.find(|at| file.word(*at) == "Future" && file.word(*at + 1) == "for")?;
    let mut name = at + 2;
    while file.word(name + 1) == "::" {
        name += 2;
    }
    Some(file.word(name))
}

/// Whether the type after `->` is a future, outermost name only: `-> Poll<Sleep>` is none.
fn returns_future(file: &File, item: &Item, types: &Types<'_>) -> bool {
    let mut depth = 0_usize;
    for at in item.at..item.open {
        match file.word(at) {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "->" if depth == 0 => {
                let mut name = at + 1;
                if file.word(name) == "impl" {
                    let mut rest = name..item.open;
                    return rest.any(|at| file.word(at) == "Future" && file.word(at + 1) == "<");
                }
                while file.word(name + 1) == "::" {
                    name += 2;
                }
                return types.is_future(file, file.word(name));
            }
            _ => {}
        }
    }
    false
}

/// What is wrong with the docs of a future, if anything.
fn complaint(file: &File, item: &Item) -> Option<String> {
    let begins = item
        .first
        .checked_sub(1)
        .map_or(0, |before| file.tokens()[before].end);
    let ends = file.tokens()[item.at].start;
    let comments = file.lexed.comments.iter();
    let docs: Vec<&str> = comments
        .filter(|c| c.doc == Doc::Outer && begins <= c.start && c.start < ends)
        .flat_map(|comment| comment.text.lines())
        .map(str::trim)
        .collect();
    let name = &item.name;
    let is_heading = |line: &&str| {
        line.trim_start_matches('#')
            .trim()
            .eq_ignore_ascii_case("cancel safety")
    };
    let Some(at) = docs.iter().position(is_heading) else {
        return Some(format!(
            "`{name}` is a future: its docs need `# Cancel safety`"
        ));
    };
    let section: String = docs[at + 1..]
        .iter()
        .take_while(|line| !line.starts_with('#'))
        .flat_map(|line| [" ", line])
        .collect();
    let section = section.to_lowercase();
    let is_named = |class: &&str| {
        ["*", "**", "`", "_"].iter().any(|mark| {
            [mark, ""]
                .iter()
                .any(|end| section.contains(&format!("{mark}{class}{end}")))
        }) || section.trim_start().starts_with(*class)
    };
    if CLASSES.iter().any(is_named) {
        return None;
    }
    let classes = CLASSES.map(|class| format!("*{class}*")).join(", ");
    Some(format!(
        "`{name}`: its cancel safety names one of {classes}"
    ))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::source::Tree;

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("crates/a/src/b.rs", text)])).len()
    }

    #[test]
    fn types_of_one_name_in_two_modules_are_two_types() {
        let plain =
            "/// An end.\npub struct Receiver;\n/// One.\npub fn end() -> Receiver { Receiver }\n";
        let future = "/// One.\n///\n/// # Cancel safety\n///\n/// *Safe*.\npub struct Receiver;\n\
                      impl Future for Receiver {}\n";
        let tree = Tree::of(&[
            ("crates/a/src/channel/receiver.rs", plain),
            ("crates/a/src/oneshot.rs", future),
        ]);
        assert_eq!(check(&tree).len(), 0);
        let other = "/// One.\npub fn end() -> Receiver { todo!() }\n";
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", other),
            ("crates/a/src/oneshot.rs", future),
        ]);
        assert_eq!(check(&tree).len(), 1, "it is the future's");
    }

    const DOCS: &str = "/// Waits.\n///\n/// # Cancel safety\n///\n/// *Safe*: nothing is lost.\n";

    #[test]
    fn documented_futures_pass() {
        assert_eq!(found(&format!("{DOCS}pub async fn f() {{}}")), 0);
        assert_eq!(
            found(&format!(
                "{DOCS}#[must_use]\npub fn f() -> impl Future<Output = ()> {{}}"
            )),
            0
        );
        let text = "impl<T> core::future::Future for Recv<'_, T> { }";
        assert_eq!(
            found(&format!(
                "{DOCS}#[derive(Debug)]\npub struct Recv<'a, T>(x);\n{text}"
            )),
            0
        );
        assert_eq!(
            found(&format!("{DOCS}pub async fn f() {{}}").replace("*Safe*", "Loses value")),
            0
        );
    }

    #[test]
    fn undocumented_futures_are_found() {
        assert_eq!(found("/// Waits.\npub async fn f() {}"), 1);
        assert_eq!(
            found("/// Waits.\npub fn f() -> impl Future<Output = ()> + Send {}"),
            1
        );
        let text =
            "pub struct Recv;\nimpl Future for Recv { }\nimpl S { pub fn r(&self) -> Recv {} }";
        assert_eq!(found(text), 2);
        assert_eq!(
            found("pub struct Recv;\nimpl x::Future for self::Recv { }"),
            1
        );
    }

    #[test]
    fn section_without_a_class_is_found() {
        assert_eq!(
            found(&format!("{DOCS}pub async fn f() {{}}").replace("*Safe*", "Fine")),
            1
        );
        assert_eq!(
            found(&format!("{DOCS}pub async fn f() {{}}").replace("*Safe*", "Unsafe")),
            1
        );
    }

    #[test]
    fn private_and_ready_made_things_are_left_alone() {
        assert_eq!(
            found("pub(crate) async fn f() {}\nasync fn g() {}\npub fn h() -> Vec<u8> {}"),
            0
        );
        assert_eq!(
            found("struct Recv;\nimpl Future for Recv { fn poll() -> Poll<()> {} }"),
            0
        );
        assert_eq!(
            found(
                "pub fn f(g: impl Fn() -> Recv) -> bool {}\nstruct Recv;\nimpl Future for Recv {}"
            ),
            0
        );
    }
}

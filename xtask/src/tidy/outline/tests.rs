use super::{Opens, Outline, outline};
use crate::tidy::lex::lex;

fn of(source: &str) -> Outline {
    outline(source, &lex(source), false)
}

fn names(outline: &Outline) -> Vec<String> {
    let items = outline.items.iter();
    items
        .map(|item| format!("{} {}", item.keyword, item.name))
        .collect()
}

#[test]
fn items_of_every_kind_are_found() {
    let found = of(
        "//! x\n#![allow(a)]\nuse a::{b, c};\nmod m;\npub(crate) struct S<T>(T);\n\
        pub enum E { A, B { x: u8 } }\nimpl<T> S<T> { pub async fn f(&self) {} const C: u8 = 1; }\n\
        pub unsafe extern \"C\" fn g() {}\ntrait T { fn h(); }\nstatic X: u8 = { 3 };\n\
        macro_rules! mac { () => {} }\n",
    );
    assert_eq!(
        names(&found),
        [
            "use ",
            "mod m",
            "struct S",
            "enum E",
            "impl ",
            "fn f",
            "const C",
            "fn g",
            "trait T",
            "fn h",
            "static X",
            "macro_rules mac"
        ]
        .map(String::from)
    );
    let f = found.items.iter().find(|item| item.name == "f").unwrap();
    assert!(f.is_public && f.is_async);
}

#[test]
fn cfg_test_modules_and_test_functions_are_tests() {
    let source = "fn a() { x }\n#[cfg(test)]\nmod tests { fn b() { y } }\n#[test]\nfn c() { z }";
    let found = of(source);
    let lexed = lex(source);
    let at = |name: &str| {
        let is_it = |t: &crate::tidy::lex::Token| &source[t.start..t.end] == name;
        lexed.tokens.iter().position(is_it).unwrap()
    };
    assert!(!found.is_test(at("x")));
    assert!(found.is_test(at("y")));
    assert!(found.is_test(at("z")));
    assert_eq!(found.function_of(at("y")).unwrap().name, "b");
    assert_eq!(found.modules_of(found.scope_of[at("y")]), ["tests"]);
}

#[test]
fn blocks_in_bodies_are_not_items() {
    let found =
        of("fn f() { let x = S { a, b }; if x { const { 1 } } g(|| { h() }); unsafe { i() } }");
    assert_eq!(names(&found), ["fn f".to_owned()]);
    let blocks = found
        .scopes
        .iter()
        .filter(|scope| scope.opens == Opens::Block);
    assert!(blocks.clone().all(|scope| scope.in_body));
    assert_eq!(blocks.count(), 5);
}

#[test]
fn statement_begins_after_the_last_boundary() {
    let source = "fn f() { a(); let x = b.c(D, |y| { E })\n.g(H); match i { J => K, L => M } }";
    let found = of(source);
    let lexed = lex(source);
    let text = |token: usize| &source[lexed.tokens[token].start..lexed.tokens[token].end];
    let head = |name: &str| {
        let at = (0..lexed.tokens.len())
            .find(|token| text(*token) == name)
            .unwrap();
        text(found.head_of[at])
    };
    assert_eq!(head("D"), "let");
    assert_eq!(head("E"), "E");
    assert_eq!(head("K"), "J");
    assert_eq!(head("M"), "L");
}

use super::{Doc, Kind, lex};

fn tokens(source: &str) -> Vec<&str> {
    lex(source)
        .tokens
        .iter()
        .map(|token| &source[token.start..token.end])
        .collect()
}

#[test]
fn comments_inside_strings_are_text() {
    let source = r####"let a = "// no"; let b = r#"/* " no */"#; let c = b"//"; // yes"####;
    let lexed = lex(source);
    assert_eq!(lexed.comments.len(), 1);
    assert_eq!(lexed.comments[0].text, "yes");
    assert!(!lexed.comments[0].alone);
    let texts = lexed.tokens.iter().filter(|t| t.kind == Kind::Text);
    assert_eq!(texts.count(), 3);
}

#[test]
fn escaped_quote_does_not_end_a_string() {
    assert_eq!(
        tokens(r#"f("a\"b", x)"#),
        ["f", "(", r#""a\"b""#, ",", "x", ")"]
    );
    assert_eq!(
        tokens(r#"f("\\", x)"#),
        ["f", "(", r#""\\""#, ",", "x", ")"]
    );
}

#[test]
fn characters_are_told_from_lifetimes() {
    assert_eq!(tokens("&'a str"), ["&", "'a", "str"]);
    assert_eq!(tokens("('a', '\\'', '\"', b'x', '—')").len(), 11);
    assert_eq!(tokens("'static: loop"), ["'static", ":", "loop"]);
    assert_eq!(tokens("impl<'_>"), ["impl", "<", "'_", ">"]);
}

#[test]
fn block_comments_nest() {
    let lexed = lex("/* a /* b */ c */ x /** doc */ y");
    assert_eq!(lexed.tokens.len(), 2);
    assert_eq!(lexed.comments.len(), 2);
    assert_eq!(lexed.comments[1].doc, Doc::Outer);
}

#[test]
fn doc_comments_are_told_apart() {
    let lexed = lex("//! in\n/// out\n//// bar\n// plain\nfn f() {}\n");
    let docs: Vec<Doc> = lexed.comments.iter().map(|comment| comment.doc).collect();
    assert_eq!(docs, [Doc::Inner, Doc::Outer, Doc::No, Doc::No]);
    assert_eq!(lexed.comments[0].text, "in");
    assert_eq!(lexed.tokens[0].line, 5);
}

#[test]
fn raw_identifiers_and_ranges_are_split_right() {
    assert_eq!(tokens("r#type"), ["r#type"]);
    assert_eq!(tokens("0..10"), ["0", ".", ".", "10"]);
    assert_eq!(
        tokens("1.5_f32.max(2)"),
        ["1.5_f32", ".", "max", "(", "2", ")"]
    );
    assert_eq!(tokens("a::b->c=>d"), ["a", "::", "b", "->", "c", "=>", "d"]);
}

#[test]
fn lines_are_counted_over_multi_line_tokens() {
    let lexed = lex("\"a\nb\"\nx /* \n */ y");
    assert_eq!(lexed.tokens[1].line, 3);
    assert_eq!(lexed.tokens[2].line, 4);
}

#[test]
fn unterminated_input_ends() {
    for source in [
        "\"abc",
        "/* abc",
        "'",
        "r#\"abc",
        "'\\",
        "b'",
        "\u{2014}'\u{2014}",
    ] {
        lex(source);
    }
}

use super::Value;

fn parse(text: &str) -> Value {
    match Value::parse(text) {
        Ok(value) => value,
        Err(error) => panic!("{text}: {error}"),
    }
}

#[test]
fn nested_values_are_found_by_key() {
    let value = parse(r#" {"a": [1, -2.5e3, true, null], "b": {"c": "d"}, "e": {}, "f": []} "#);
    assert_eq!(value.at("a").items().len(), 4);
    assert_eq!(value.at("a").items()[1], Value::Number("-2.5e3".to_owned()));
    assert!(value.at("a").items()[2].is_true());
    assert_eq!(value.at("b").at("c").text(), "d");
    assert_eq!(value.at("b").entries().len(), 1);
    assert!(value.at("nothing").at("below").is_null());
    assert_eq!(
        value.at("e").entries().len() + value.at("f").items().len(),
        0
    );
}

#[test]
fn escapes_are_undone() {
    assert_eq!(
        parse(r#""\"\\\/\b\f\n\r\t\u00e9\ud83e\udd80é""#).text(),
        "\"\\/\u{8}\u{c}\n\r\té🦀é"
    );
}

#[test]
fn half_a_surrogate_pair_is_replaced_and_the_rest_is_kept() {
    assert_eq!(parse(r#""\ud800x""#).text(), "\u{FFFD}x");
    assert_eq!(parse(r#""\ud800\u0041""#).text(), "\u{FFFD}A");
}

#[test]
fn broken_texts_are_refused_with_the_place() {
    let broken = [
        "",
        "{",
        "[1,",
        "[1 2]",
        "{\"a\" 1}",
        "\"a",
        "\"\\x\"",
        "\"\\u12g4\"",
        "tru",
        "1 2",
        "[,]",
        "\"a\nb\"",
    ];
    for text in broken {
        assert!(Value::parse(text).is_err(), "{text:?} was accepted");
    }
    let error = Value::parse("[1 2]").err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("expected , at byte 3"));
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
    let deep = "[".repeat(1_000_000);
    let error = Value::parse(&deep).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("expected less nesting at byte 128"));
}

//! What a reason says.

use super::{Reason, What};

#[test]
fn reason_names_the_callers_place_and_hands_it_down() {
    let line = line!() + 1;
    let reason = Reason::new(What::Timeout).because(String::from("after 3 s"));
    assert_eq!(reason.location().line(), line);
    assert_eq!(reason.location().file(), file!());
    let below = reason.inherited().inherited();
    assert_eq!((below.what(), below.is_inherited()), (What::Parent, true));
    assert_eq!(below.origin().what(), What::Timeout);
    assert_eq!(below.message(), Some("after 3 s"));
    assert_eq!(below.location(), reason.location());
}

#[test]
fn display_is_a_fragment_with_the_place() {
    let place = |line: u32| format!("{}:{line}:", file!());
    let line = line!() + 1;
    let custom = Reason::custom("the user left");
    let text = custom.to_string();
    assert!(text.starts_with("the user left (at "), "{text}");
    assert!(text.contains(&place(line)), "{text}");
    let text = Reason::shutdown().inherited().to_string();
    assert!(text.starts_with("shutdown (at "), "{text}");
    assert!(text.ends_with(", through a parent)"), "{text}");
    let text = Reason::new(What::Overload).because("queue").to_string();
    assert!(text.starts_with("overload: queue (at "), "{text}");
}

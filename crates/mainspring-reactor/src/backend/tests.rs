use super::{Asked, Backend, Explanation, RingRefusal};
use std::ffi::OsStr;

#[test]
fn names_of_backends_are_read_as_they_are_written() {
    for backend in [Backend::Auto, Backend::Uring, Backend::Poll] {
        assert_eq!(backend.to_string().parse(), Ok(backend));
    }
    let unknown = "epoll".parse::<Backend>().unwrap_err();
    assert!(unknown.to_string().contains("\"epoll\""));
}

#[test]
fn explanation_names_what_is_used_and_why() {
    let ring = Explanation::of(None);
    assert_eq!(ring.used(), Backend::Uring);
    assert_eq!(ring.refusal(), None);
    let refused = Explanation::of(Some(RingRefusal::Filtered));
    assert_eq!(refused.used(), Backend::Poll);
    assert!(refused.to_string().contains("EPERM"));
    assert!(refused.to_string().contains("seccomp"));
}

// What was made stays what it is, while the answer to "what would be made now" changes.
#[test]
fn explanation_tells_what_there_is_from_what_there_would_be() {
    for refusal in [None, Some(RingRefusal::Descriptors)] {
        let (is, would_be) = (Explanation::of(refusal), Explanation::would_be(refusal));
        assert!(is.to_string().contains(" serves the sockets"), "{is}");
        assert!(would_be.to_string().contains(" would serve "), "{would_be}");
        assert!(would_be.to_string().contains(" made now"), "{would_be}");
        assert_eq!(is, would_be);
    }
    assert!(Backend::explain().to_string().contains(" would serve "));
    let asked = Explanation::of(Some(RingRefusal::Unasked));
    assert_ne!(asked, Explanation::of(None));
    assert!(
        asked
            .to_string()
            .ends_with("serves the sockets: it was asked for by its name")
    );
}

#[test]
fn environment_may_ask_for_readiness_and_for_nothing_else() {
    let asked = |name| Asked::by(Some(OsStr::new(name)));
    assert_eq!(Asked::by(None), Asked::Nothing);
    assert_eq!(asked(""), Asked::Nothing);
    assert_eq!(asked("auto"), Asked::Nothing);
    assert_eq!(asked("poll"), Asked::Poll);
    for name in ["uring", "epoll", "POLL", " poll"] {
        assert_eq!(asked(name), Asked::Unknown(OsStr::new(name)));
    }
}

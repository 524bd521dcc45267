use super::{Backend, Explanation, RingRefusal};

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

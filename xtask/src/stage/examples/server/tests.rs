use super::read;

#[test]
fn address_and_backend_are_read() {
    let (address, backend) = read("127.0.0.1:80 (backend: uring)").expect("both");
    assert_eq!((address.port(), backend.as_str()), (80, "uring"));
    for wrong in [
        "127.0.0.1:80",
        "here (backend: poll)",
        "127.0.0.1:80 (backend: poll",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

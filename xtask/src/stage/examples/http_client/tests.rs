use super::{Connection, read_head};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

#[test]
fn head_gives_status_and_length() {
    let head = "http/1.1 404 not found\r\ndate: x\r\ncontent-length: 22\r\n\r\n";
    assert_eq!(read_head(head), Some((404, 22)));
    assert_eq!(read_head("http/1.1 200 ok\r\n\r\n"), None);
    assert_eq!(read_head("ssh-2.0\r\ncontent-length: 1\r\n\r\n"), None);
}

#[test]
fn answers_are_read_one_after_the_other_however_they_come() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("its address");
    let server = thread::spawn(move || {
        let (mut stream, _peer) = listener.accept().expect("a client");
        let mut buf = [0; 1024];
        let read = stream.read(&mut buf).expect("a request");
        let both = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noneHTTP/1.1 200 OK\r\n\
                    Content-Length: 3\r\n\r\n";
        for byte in both.bytes() {
            stream.write_all(&[byte]).expect("room");
        }
        String::from_utf8_lossy(&buf[..read]).into_owned()
    });
    let mut connection = Connection::open(address).expect("a connection");
    let one = connection.ask("GET", "/a").expect("an answer");
    assert_eq!((one.status, one.body.as_str()), (200, "one"));
    let head = connection.answer("HEAD").expect("another");
    assert_eq!((head.length, head.body.as_str()), (3, ""));
    connection.expect_end().expect("the end");
    let asked = server.join().expect("no panic");
    assert_eq!(asked, "GET /a HTTP/1.1\r\nhost: localhost\r\n\r\n");
}

//! What the kernel may say at any moment, injected: a signal, no memory for a moment, a queue that
//! is full, a connection that has gone before it was accepted.

use crate::rig::{self, Drive, OnPoll, OnRing, join, listener, pair};
use mainspring_reactor::Backend;
use mainspring_reactor::net::TcpStream;
use std::process::Command;

const NAME: &str = "faults::exchange_goes_on_whatever_the_kernel_says";
/// Which drive the child is about.
const DRIVE: &str = "MAINSPRING_REACTOR_DRIVE";

/// On which drive, and what is injected.
const FAULTS: [(&str, &str); 11] = [
    ("ring", "io_uring_enter:error=EINTR:when=2+3"),
    ("ring", "io_uring_enter:error=EAGAIN:when=2+3"),
    ("ring", "io_uring_enter:error=EBUSY:when=2+3"),
    ("ring", "sendto:error=EINTR:when=1+2"),
    ("ring", "recvfrom:error=EINTR:when=1+2"),
    ("ring", "poll:error=EINTR:when=1+2"),
    (
        "poll",
        "epoll_wait,epoll_pwait,epoll_pwait2:error=EINTR:when=2+3",
    ),
    ("poll", "sendto:error=EINTR:when=1+2"),
    ("poll", "recvfrom:error=EINTR:when=1+2"),
    ("poll", "accept4:error=ECONNABORTED:when=1..2"),
    ("poll", "accept4:error=EMFILE:when=1..2"),
];

async fn exchange() {
    for round in 0..20_u8 {
        let (mut client, mut server) = pair().await;
        let message = vec![round; 10_000];
        let mut found = vec![0; message.len()];
        let (read, written) = join(server.read_exact(&mut found), client.write_all(&message)).await;
        read.unwrap();
        written.unwrap();
        assert!(found == message);
        let (sent, read) = join(
            server.write_owned(message),
            client.read_exact(&mut found[..10_000]),
        )
        .await;
        assert_eq!(sent.0.unwrap(), 10_000);
        read.unwrap();
        client.close().await.unwrap();
        assert_eq!(server.read(&mut found).await.unwrap(), 0);
    }
    let (listener, address) = listener();
    for _ in 0..5 {
        let (client, server) = join(TcpStream::connect(address), listener.accept()).await;
        drop((client.unwrap(), server.unwrap()));
    }
}

#[test]
fn exchange_goes_on_whatever_the_kernel_says() {
    match std::env::var(DRIVE).as_deref() {
        Ok("ring") => return OnRing::run(exchange()),
        Ok(_) => return OnPoll::run(exchange()),
        Err(_) => {}
    }
    if Command::new("strace").arg("-V").output().is_err() {
        return eprintln!("NOT RUN: strace, which injects the faults, is not installed");
    }
    for (drive, fault) in FAULTS {
        if drive == "ring" && Backend::explain().used() != Backend::Uring {
            eprintln!("NOT RUN: {fault}, for want of a ring");
            continue;
        }
        let output = Command::new("strace")
            .args(["-f", "-o", "/dev/null", "-e"])
            .arg(format!("inject={fault}"))
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env(DRIVE, drive)
            .output()
            .unwrap();
        if String::from_utf8_lossy(&output.stderr).contains("ptrace") {
            return eprintln!("NOT RUN: this system lets nobody be traced");
        }
        eprintln!("{drive}, {fault}");
        rig::succeeded(Some(output));
    }
}

//! The floor on epoll: one edge-triggered set, one read and one write a request.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use super::Job;

const LISTENER: u64 = u64::MAX;

struct Connection {
    stream: TcpStream,
    /// What the socket did not take yet; empty in all but name.
    unsent: Vec<u8>,
}

pub fn serve(listener: TcpListener, job: Job) {
    super::announce(listener.local_addr().expect("an address"));
    listener.set_nonblocking(true).expect("a mode");
    // SAFETY: no pointers.
    let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    watch(epoll, listener.as_raw_fd(), libc::EPOLLIN, LISTENER);
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 1_024];
    let mut buffer = vec![0; job.buffer_bytes];
    loop {
        let room = events.len() as libc::c_int;
        // SAFETY: the pointer and the room describe `events`.
        let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), room, -1) };
        for event in events.iter().take(count.max(0) as usize) {
            if event.u64 == LISTENER {
                accept_all(epoll, &listener, &mut connections);
                continue;
            }
            let slot = &mut connections[event.u64 as usize];
            if slot
                .as_mut()
                .is_some_and(|connection| !turn(connection, &mut buffer, job))
            {
                *slot = None;
            }
        }
    }
}

fn accept_all(
    epoll: libc::c_int,
    listener: &TcpListener,
    connections: &mut Vec<Option<Connection>>,
) {
    while let Ok((stream, _)) = listener.accept() {
        stream.set_nonblocking(true).expect("a mode");
        let interest = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLET;
        watch(
            epoll,
            stream.as_raw_fd(),
            interest,
            connections.len() as u64,
        );
        connections.push(Some(Connection {
            stream,
            unsent: Vec::new(),
        }));
    }
}

fn watch(epoll: libc::c_int, fd: libc::c_int, interest: libc::c_int, key: u64) {
    let mut event = libc::epoll_event {
        events: interest as u32,
        u64: key,
    };
    // SAFETY: the pointer is valid for the call.
    let failed = unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
    assert_eq!(failed, 0, "cannot watch a descriptor");
}

/// False when the connection is over.
fn turn(connection: &mut Connection, buffer: &mut [u8], job: Job) -> bool {
    if !connection.unsent.is_empty() {
        let unsent = std::mem::take(&mut connection.unsent);
        if !send(connection, &unsent) {
            return false;
        }
        if !connection.unsent.is_empty() {
            return true;
        }
    }
    loop {
        let count = match (&connection.stream).read(buffer) {
            Ok(0) => return false,
            Ok(count) => count,
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        };
        if !send(connection, job.kind.answer(&buffer[..count])) {
            return false;
        }
        // A short read emptied the socket: the next byte is a new edge.
        if count < buffer.len() || !connection.unsent.is_empty() {
            return true;
        }
    }
}

fn send(connection: &mut Connection, bytes: &[u8]) -> bool {
    let sent = match (&connection.stream).write(bytes) {
        Ok(sent) => sent,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(_) => return false,
    };
    connection.unsent.extend_from_slice(&bytes[sent..]);
    true
}

//! The buffers, on the kernel.

use super::super::tests::{Owner, pair, send};
use super::super::{Profile, Stream};
use super::{BUFFER_BYTES, BUFFERS_MAX, BUFFERS_MIN};
use crate::buf::PooledBuf;
use mainspring_core::driver::Until;
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::task::{Context, Poll, Waker};
use std::thread;

fn lend(owner: &Owner, stream: &Stream) -> PooledBuf {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match stream.poll_lend(&mut cx) {
            Poll::Ready(result) => return result.unwrap(),
            Poll::Pending => _ = owner.turn(Until::Forever),
        }
    }
}

fn connected(owner: &Owner) -> (Stream, TcpStream) {
    let (socket, other) = pair();
    (Stream::new(socket, owner.hub()).unwrap(), other)
}

// WITNESS: provided.once, provided.tail
#[test]
fn buffers_go_round_and_each_brings_its_own_bytes() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    let (stream, other) = connected(&owner);
    let mut held = std::collections::VecDeque::new();
    // Three times round the first buffers, with half of them held all the time.
    for round in 0..3 * u32::from(BUFFERS_MIN) {
        send(&other, &round.to_ne_bytes());
        held.push_back((round, lend(&owner, &stream)));
        if held.len() > usize::from(BUFFERS_MIN) / 2 {
            let (round, buf) = held.pop_front().unwrap();
            assert_eq!(*buf, round.to_ne_bytes(), "somebody else wrote into it");
        }
    }
    assert_eq!(owner.pins(), held.len());
    assert!(held.iter().all(|(round, buf)| **buf == round.to_ne_bytes()));
    drop(held);
    assert_eq!(owner.pins(), 0);
    assert_eq!(
        owner.pool().count.load(super::Relaxed),
        u32::from(BUFFERS_MIN)
    );
}

/// Takes every buffer that there can be.
fn take_all(owner: &Owner, stream: &Stream, other: &TcpStream) -> Vec<PooledBuf> {
    let mut held = Vec::new();
    while owner.pins() < usize::from(BUFFERS_MAX) {
        send(other, &(held.len() as u32).to_ne_bytes());
        held.push(lend(owner, stream));
        assert!(held.len() <= 2 * usize::from(BUFFERS_MAX), "no end");
    }
    held
}

// WITNESS: provided.once, provided.memory, read-half.no-overtaking
#[test]
fn sockets_are_served_without_a_buffer_and_buffers_come_back_from_another_thread() {
    for profile in [Profile::Owned, Profile::Shared] {
        let Some(owner) = Owner::new(profile) else {
            return;
        };
        let (stream, other) = connected(&owner);
        let held = take_all(&owner, &stream, &other);
        let (starved, starved_other) = connected(&owner);
        for round in 0..20_u32 {
            // Waits before the bytes come, or after.
            let mut cx = Context::from_waker(Waker::noop());
            if round % 2 == 0 {
                assert!(starved.poll_lend(&mut cx).is_pending());
                owner.look();
            }
            send(&starved_other, &round.to_ne_bytes());
            assert_eq!(*lend(&owner, &starved), round.to_ne_bytes());
        }
        for (number, buf) in held.iter().enumerate() {
            assert_eq!(**buf, (number as u32).to_ne_bytes());
        }
        // The other thread gives them back, and the ring uses them again.
        thread::spawn(move || drop(held)).join().unwrap();
        assert_eq!(owner.pins(), 0);
        let pinned: Vec<_> = (0..20_u32)
            .map(|round| {
                send(&starved_other, &round.to_ne_bytes());
                lend(&owner, &starved)
            })
            .collect();
        assert!(owner.pins() > 0, "they are not used");
        // A buffer outlives its ring and its pool's owner.
        drop((stream, starved));
        drop(owner);
        for (round, buf) in pinned.iter().enumerate() {
            assert_eq!(**buf, (round as u32).to_ne_bytes());
        }
    }
}

/// Without a buffer a receive ends at once, although nothing is there.
// WITNESS: ring-stream.waiter
#[test]
fn waiting_to_be_readable_without_a_buffer_does_not_spin() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    let (stream, other) = connected(&owner);
    let held = take_all(&owner, &stream, &other);
    let (starved, starved_other) = connected(&owner);
    let (count, waker) = super::super::tests::Count::waker();
    let mut cx = Context::from_waker(&waker);
    for _ in 0..50 {
        assert!(starved.poll_readable(&mut cx).is_pending());
        owner.turn(Until::Now);
    }
    assert!(count.woken() <= 2, "{} times for nothing", count.woken());
    send(&starved_other, b"x");
    let before = count.woken();
    owner.until(|| count.woken() > before);
    assert!(starved.poll_readable(&mut cx).is_ready());
    assert_eq!(starved.try_read(&mut [MaybeUninit::new(0); 4]).unwrap(), 1);
    drop(held);
}

// WITNESS: provided.once
#[test]
fn longest_piece_fits_a_buffer() {
    let Some(owner) = Owner::new(Profile::Owned) else {
        return;
    };
    let (stream, other) = connected(&owner);
    let long: Vec<u8> = (0..10 * BUFFER_BYTES)
        .map(|place| (place % 251) as u8)
        .collect();
    send(&other, &long);
    let mut read = Vec::new();
    while read.len() < long.len() {
        let piece = lend(&owner, &stream);
        assert!(!piece.is_empty() && piece.len() <= BUFFER_BYTES);
        read.extend_from_slice(&piece);
    }
    assert!(read == long);
}

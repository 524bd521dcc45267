//! The direction of reading, by hand; `props` has any order of everything.

mod props;

use super::{Body, OnCompleted, OnRead, PIECES_MAX, Piece, ReadHalf, Source};
use crate::backend::uring::ring::Completed;
use crate::buf::Adopted;

impl ReadHalf {
    /// How many pieces wait for the reader.
    pub(crate) fn waiting(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }
}

/// The kernel's flags of a completion.
const F_BUFFER: u32 = 1;
const F_MORE: u32 = 2;

/// A completion as the kernel writes it.
fn completion(result: i32, buffer: Option<u16>, more: bool) -> Completed {
    let buffer = buffer.map_or(0, |buffer| u32::from(buffer) << 16 | F_BUFFER);
    Completed {
        data: 0,
        result,
        flags: buffer | if more { F_MORE } else { 0 },
    }
}

/// A half into whose provided buffers the kernel receives.
fn receiving() -> ReadHalf {
    let mut half = ReadHalf::new();
    half.begin(Source::Receive);
    half
}

fn provided(piece: Option<Piece>) -> (u16, usize, usize) {
    match piece {
        Some(Piece {
            body: Body::Provided(buffer),
            start,
            end,
        }) => (buffer, start, end),
        _ => panic!("not a piece in a provided buffer"),
    }
}

// WITNESS: read-half.order
#[test]
fn end_comes_after_the_bytes_and_stays() {
    let mut half = receiving();
    assert!(half.completed(completion(3, Some(7), true)).wakes);
    let owes = half.completed(completion(0, None, false));
    assert!(owes.wakes && owes.is_last && owes.unused.is_none());
    assert_eq!(half.look(), OnRead::Bytes);
    assert_eq!(provided(half.pop()), (7, 0, 3));
    for _ in 0..3 {
        assert_eq!(half.look(), OnRead::End);
    }
    assert!(half.is_ready() && half.pop().is_none());
}

// WITNESS: read-half.order
#[test]
fn error_comes_after_the_bytes_and_is_told_once() {
    let mut half = receiving();
    let _ = half.completed(completion(3, Some(7), true));
    let _ = half.completed(completion(-libc::ECONNRESET, None, false));
    assert_eq!(half.look(), OnRead::Bytes);
    let _ = half.pop();
    assert_eq!(half.look(), OnRead::Failed(libc::ECONNRESET));
    assert_eq!(half.look(), OnRead::Idle);
    // The next one may begin: it will say how the connection is.
    half.begin(Source::Receive);
}

// WITNESS: read-half.order
#[test]
fn operation_that_ends_for_no_reason_of_ours_is_begun_again_in_silence() {
    for code in [libc::ECANCELED, libc::EINTR, libc::EAGAIN, libc::ENOBUFS] {
        let mut half = receiving();
        let owes = half.completed(completion(-code, None, false));
        // The reader has to come and begin it.
        assert!(owes.wakes && owes.is_last, "{code}");
        assert_eq!(owes.starves, code == libc::ENOBUFS);
        assert_eq!(half.is_starved(), code == libc::ENOBUFS);
        assert_eq!(half.look(), OnRead::Idle, "{code}");
        half.begin(Source::Receive);
        assert!(!half.is_starved());
    }
}

// WITNESS: read-half.bounded
#[test]
fn reader_that_does_not_read_stops_the_operation_once() {
    let mut half = receiving();
    let mut asked = 0;
    for place in 0..3 * PIECES_MAX {
        let owes = half.completed(completion(1, Some(place as u16), true));
        asked += usize::from(owes.stops);
        assert_eq!(asked, usize::from(place + 1 >= PIECES_MAX), "{place}");
    }
    assert!(!half.stop(), "the kernel has been asked already");
    // What was under way is kept, in order.
    let _ = half.completed(completion(-libc::ECANCELED, None, false));
    for place in 0..3 * PIECES_MAX {
        assert_eq!(provided(half.pop()), (place as u16, 0, 1));
    }
    assert_eq!(half.look(), OnRead::Idle);
    // The next operation may be stopped again.
    half.begin(Source::Receive);
    assert!(half.stop());
}

// WITNESS: read-half.one
#[cfg(debug_assertions)]
#[test]
fn second_operation_and_completion_of_none_are_faults_of_ours() {
    let none = std::panic::catch_unwind(|| ReadHalf::new().completed(completion(1, None, false)));
    assert!(none.is_err());
    let twice = std::panic::catch_unwind(|| receiving().begin(Source::Poll));
    assert!(twice.is_err());
    let early = std::panic::catch_unwind(|| {
        let mut half = receiving();
        let _ = half.completed(completion(1, Some(0), false));
        half.begin(Source::Receive);
    });
    assert!(early.is_err());
}

/// A receive into a buffer whose future is forgotten instead of dropped: the next one is told of
/// its own end only.
// WITNESS: read-half.one, read-half.order
#[test]
fn end_of_a_forgotten_receive_is_not_the_next_ones() {
    let mut half = ReadHalf::new();
    half.begin(Source::Owned);
    let _ = half.completed(completion(5, None, false));
    assert_eq!(half.look(), OnRead::Idle);
    half.begin(Source::Owned);
    assert_eq!(half.take_owned(), None);
    let _ = half.completed(completion(2, None, false));
    assert_eq!(half.take_owned(), Some(Ok(2)));
    assert_eq!(half.take_owned(), None);
}

// WITNESS: read-half.order
#[test]
fn bytes_of_a_dropped_receive_are_the_next_readers() {
    for is_late in [false, true] {
        let mut half = ReadHalf::new();
        half.begin(Source::Owned);
        let mut room = vec![9_u8; 8];
        room.truncate(2);
        let storage = Box::new(Adopted::new(room));
        if is_late {
            half.leave_owned(storage);
            let owes = half.completed(completion(3, None, false));
            assert!(owes.wakes && owes.is_last);
        } else {
            let _ = half.completed(completion(3, None, false));
            half.leave_owned(storage);
        }
        assert_eq!(half.look(), OnRead::Bytes);
        match half.pop() {
            Some(Piece {
                body: Body::Owned(storage),
                start: 0,
                end: 3,
            }) => {
                // SAFETY: [read-half.order] the test has written three bytes.
                assert_eq!(unsafe { storage.received(3) }, [9; 3]);
            }
            _ => panic!("the bytes are lost"),
        }
        assert_eq!(half.look(), OnRead::Idle);
    }
}

/// The printed form of row 26.
mod printed {
    /// Which buffer a completion names.
    pub(super) fn buffer(flags: u32) -> u16 {
        (flags >> 16) as u16
    }
}

// CORRECTION: 26
// WITNESS: read-half.buffer
#[test]
fn error_without_a_buffer_gives_none_back() {
    // The kernel has lent buffer 0, and the reader has it.
    let mut half = receiving();
    let _ = half.completed(completion(4, Some(0), true));
    let in_hands = provided(half.pop()).0;
    let reset = completion(-libc::ECONNRESET, None, false);
    assert_eq!(
        printed::buffer(reset.flags),
        in_hands,
        "the printed form gives back what somebody reads"
    );
    let owes = half.completed(reset);
    assert_eq!(owes.unused, None, "ours gives back what it was given");
    // One that names a buffer and brings nothing gives it back.
    let mut half = receiving();
    let owes: OnCompleted = half.completed(completion(0, Some(3), false));
    assert_eq!(owes.unused, Some(3));
}

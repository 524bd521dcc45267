//! The direction of writing, by hand; `props` has any order of everything.

mod props;

use super::{OnWrite, Span, WriteHalf};
use crate::backend::uring::ring::Completed;
use std::any::Any;
use std::sync::Arc;

fn completion(result: i32) -> Completed {
    Completed {
        data: 0,
        result,
        flags: 0,
    }
}

fn span(bytes: &[u8]) -> Span {
    Span {
        start: bytes.as_ptr(),
        bytes: bytes.len(),
    }
}

/// Memory of which it is known how many have it.
type Memory = Arc<[u8]>;

fn boxed(memory: &Memory) -> Box<dyn Any + Send> {
    Box::new(Arc::clone(memory))
}

// WITNESS: write-half.whole
#[test]
fn short_counts_and_interruptions_are_resumed_where_they_ended() {
    let bytes = [0_u8; 10];
    let mut half = WriteHalf::new();
    half.begin_send(span(&bytes));
    let mut sent = 0;
    for result in [3, -libc::EINTR, 4, -libc::ECANCELED, -libc::EAGAIN, 2] {
        let owes = half.completed(completion(result));
        sent += usize::try_from(result).unwrap_or(0);
        let rest = owes.rest.expect("it is given up");
        assert!(!owes.wakes && !owes.is_last);
        assert_eq!(rest.start, bytes[sent..].as_ptr());
        assert_eq!(rest.bytes, bytes.len() - sent);
        assert_eq!(half.look(), OnWrite::Wait);
        assert_eq!(half.take_done(), None);
    }
    let owes = half.completed(completion(1));
    assert!(owes.wakes && owes.is_last && owes.rest.is_none());
    assert_eq!(half.take_done(), Some(Ok(10)));
    assert_eq!(half.look(), OnWrite::Idle);
}

// WITNESS: write-half.kept, write-half.told
#[test]
fn buffer_of_a_dropped_send_is_kept_to_the_end_and_its_error_told_once() {
    let memory: Memory = Arc::from([0; 8]);
    let mut half = WriteHalf::new();
    half.begin_send(span(&memory));
    assert!(half.detach(boxed(&memory)).is_none());
    let owes = half.completed(completion(3));
    assert!(owes.rest.is_some() && owes.garbage.is_none());
    assert_eq!(Arc::strong_count(&memory), 2, "freed under the kernel");
    let owes = half.completed(completion(-libc::EPIPE));
    assert!(owes.is_last);
    // Dropped by the caller, outside its lock.
    assert_eq!(Arc::strong_count(&memory), 2);
    drop(owes);
    assert_eq!(Arc::strong_count(&memory), 1);
    assert_eq!(half.look(), OnWrite::Failed(libc::EPIPE));
    assert_eq!(half.look(), OnWrite::Idle);
}

// WITNESS: write-half.told
#[test]
fn error_in_the_middle_is_the_next_calls() {
    let bytes = [0_u8; 8];
    let mut half = WriteHalf::new();
    half.begin_send(span(&bytes));
    let _ = half.completed(completion(3));
    let _ = half.completed(completion(-libc::ECONNRESET));
    assert_eq!(half.take_done(), Some(Ok(3)));
    assert_eq!(half.look(), OnWrite::Failed(libc::ECONNRESET));
    assert_eq!(half.look(), OnWrite::Idle);
}

// WITNESS: write-half.told, write-half.kept
#[test]
fn future_that_is_dropped_after_the_end_leaves_the_error_and_gets_the_buffer_back() {
    let memory: Memory = Arc::from([0; 8]);
    let mut half = WriteHalf::new();
    half.begin_send(span(&memory));
    let _ = half.completed(completion(-libc::EPIPE));
    assert!(half.detach(boxed(&memory)).is_some());
    assert_eq!(half.look(), OnWrite::Failed(libc::EPIPE));
}

/// As `read_half` has it: a future may be forgotten instead of dropped.
// WITNESS: write-half.one, write-half.told
#[test]
fn end_of_a_forgotten_send_is_not_the_next_ones_and_its_error_is_told() {
    let bytes = [0_u8; 8];
    let mut half = WriteHalf::new();
    half.begin_send(span(&bytes));
    let _ = half.completed(completion(8));
    half.begin_send(span(&bytes));
    assert_eq!(half.take_done(), None, "the kernel still reads the buffer");
    let _ = half.completed(completion(-libc::EPIPE));
    // Forgotten, too.
    half.begin_send(span(&bytes));
    assert_eq!(half.take_done(), None);
    let _ = half.completed(completion(8));
    assert_eq!(half.take_done(), Some(Ok(8)));
    assert_eq!(half.look(), OnWrite::Failed(libc::EPIPE));
    assert_eq!(half.look(), OnWrite::Idle);
}

// WITNESS: write-half.one, write-half.whole
#[test]
fn end_of_the_direction_waits_for_the_send() {
    let bytes = [0_u8; 8];
    let mut half = WriteHalf::new();
    assert!(half.shut_down_later(), "nothing is being sent: now");
    half.begin_poll();
    assert!(half.shut_down_later(), "a poll sends nothing");
    let owes = half.completed(completion(4));
    assert!(owes.is_last && !owes.shuts_down);
    half.begin_send(span(&bytes));
    assert!(!half.shut_down_later());
    let owes = half.completed(completion(5));
    assert!(owes.rest.is_some() && !owes.shuts_down);
    assert!(half.completed(completion(3)).shuts_down);
    half.begin_send(span(&bytes));
    assert!(!half.completed(completion(8)).shuts_down, "once");
}

// WITNESS: write-half.one
#[cfg(debug_assertions)]
#[test]
fn two_operations_are_a_fault_of_ours() {
    let twice = std::panic::catch_unwind(|| {
        let mut half = WriteHalf::new();
        half.begin_poll();
        half.begin_poll();
    });
    assert!(twice.is_err());
    let none = std::panic::catch_unwind(|| drop(WriteHalf::new().completed(completion(1))));
    assert!(none.is_err());
}

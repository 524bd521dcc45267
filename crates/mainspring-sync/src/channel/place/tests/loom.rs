//! Models of a place that several threads leave at once.

use crate::channel::bounded;
use crate::channel::place::{Leave, Place};
use futures_core::Stream;
use loom::cell::Cell;
use loom::future::block_on;
use loom::thread;
use mainspring_core::sync::Arc;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Counts how often it left. Loom watches the cell: two at once are a failure.
struct Counts(Cell<u32>);

impl Leave for Counts {
    fn leave(self: Pin<&mut Self>) {
        self.0.set(self.0.get() + 1);
    }
}

// WITNESS: place.alone
#[test]
fn threads_that_leave_at_once_leave_one_after_the_other_and_once() {
    loom::model(|| {
        let mut place = Place::new();
        place.wait(|| Counts(Cell::new(0)), |_| ());
        let place = Arc::new(place);
        let others = [(); 2].map(|()| {
            let place = Arc::clone(&place);
            thread::spawn(move || place.leave())
        });
        for other in others {
            other.join().unwrap();
        }
        let Some(mut place) = Arc::into_inner(place) else {
            panic!("somebody has it");
        };
        let times = place.wait(|| unreachable!("it is kept"), |counts| counts.0.get());
        assert_eq!(times, 1);
        place.leave();
        place.leave();
        let times = place.wait(|| unreachable!("it is kept"), |counts| counts.0.get());
        assert_eq!(times, 2, "it waited again, and left once more");
    });
}

// WITNESS: place.left
/// S1: the message comes before, while or after the stream's place is left.
#[test]
fn stream_that_is_left_while_it_is_told_passes_that_on() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let (tx, rx) = bounded(1);
        let mut stream = rx.clone();
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(Pin::new(&mut stream).poll_next(&mut cx), Poll::Pending);
        let sender = thread::spawn(move || {
            tx.try_send(1).unwrap();
            tx
        });
        let other = thread::spawn(move || assert_eq!(block_on(rx.recv()), Ok(1)));
        // Kept alive.
        drop(stream.recv());
        other.join().unwrap();
        drop(sender.join().unwrap());
        drop(stream);
    });
}

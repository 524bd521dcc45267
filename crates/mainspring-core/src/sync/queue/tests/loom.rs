use crate::sync::Arc;
use crate::sync::queue::{ArrayQueue, SegQueue};
use loom::thread;

// WITNESS: stand-in.once, stand-in.full, stand-in.slot
#[test]
fn value_is_popped_once_and_whole() {
    loom::model(|| {
        let queue = Arc::new(SegQueue::new());
        let theirs = Arc::clone(&queue);
        // loom's own `Arc` inside: its drop is what a torn or doubled value would break.
        // The popping side, which only loads while the queue is empty, is the spawned thread: with
        // the roles the other way round, loom forgets its loads and tries one execution.
        let popping = thread::spawn(move || theirs.pop());
        queue.push(Arc::new(7));
        let early = popping.join().unwrap();
        let late = queue.pop();
        assert_eq!(early.or(late).as_deref(), Some(&7));
        assert!(queue.is_empty());
    });
}

// WITNESS: stand-in.once
#[test]
fn two_poppers_share_what_there_is() {
    loom::model(|| {
        let queue = Arc::new(ArrayQueue::new(2));
        assert!(queue.push(1).is_ok() && queue.push(2).is_ok() && queue.is_full());
        assert_eq!(queue.push(3), Err(3));
        let theirs = Arc::clone(&queue);
        let popping = thread::spawn(move || theirs.pop());
        let mine = queue.pop();
        let other = popping.join().unwrap();
        assert_eq!(mine.unwrap() + other.unwrap(), 3);
    });
}

//! Models of the bare cell. Nobody blocks: whoever was told Pending checks that the producer's
//! verdict names its latest waker. The cell's `body` shows a free that comes before the other
//! side's last use.

use crate::handshake::{Handshake, OnCancel, OnComplete, OnPoll};
use crate::recorder::Recorder;
use crate::sync::Arc;
use loom::thread;

type Cell<T> = Arc<Handshake<T>>;

fn completing<T: Send + 'static>(cell: &Cell<T>, value: T) -> thread::JoinHandle<OnComplete<T>> {
    let cell = Arc::clone(cell);
    // SAFETY: each model has one producer, which completes once.
    thread::spawn(move || unsafe { cell.complete(value) })
}

fn poll<T>(cell: &Cell<T>, recorder: &Recorder) -> OnPoll<T> {
    // SAFETY: each model has one consumer, which stops at the value.
    unsafe { cell.poll(recorder.waker()) }
}

/// Checks what `poll` found, or finds after the producer's verdict.
fn settle(cell: &Cell<u32>, found: OnPoll<u32>, latest: &Recorder, verdict: OnComplete<u32>) {
    match (found, verdict) {
        (OnPoll::Ready(value), OnComplete::Published | OnComplete::Wake(_)) => {
            assert_eq!(value, 7, "handshake.value");
        }
        (OnPoll::Pending, OnComplete::Wake(waker)) => {
            let right = waker.will_wake(latest.waker());
            assert!(right, "handshake.waker: not the latest");
            let OnPoll::Ready(value) = poll(cell, latest) else {
                panic!("handshake.publish: woken without a value");
            };
            assert_eq!(value, 7, "handshake.value");
        }
        (OnPoll::Pending, OnComplete::Published) => panic!("handshake.park: a lost wake"),
        (_, OnComplete::Free(_)) => panic!("handshake.one-terminal: nobody cancelled"),
    }
}

/// Leaves after a Pending, and checks that exactly one side was told to free. The value is a
/// counted reference, so that loom sees one that is lost or dropped twice.
fn leave(cell: &Cell<Arc<u32>>, producer: thread::JoinHandle<OnComplete<Arc<u32>>>) {
    // SAFETY: the one consumer, which has not taken and does nothing afterwards.
    let left = unsafe { cell.cancel() };
    let verdict = producer.join().unwrap();
    match (left, verdict) {
        (OnCancel::Left(_), OnComplete::Free(value))
        | (OnCancel::Free(value), OnComplete::Published | OnComplete::Wake(_)) => {
            assert_eq!(*value, 7, "handshake.value");
        }
        (OnCancel::Left(_), _) => panic!("handshake.second-frees: neither frees"),
        (OnCancel::Free(_), _) => panic!("handshake.second-frees: both free"),
    }
}

// WITNESS: handshake.publish, handshake.park, handshake.value
#[test]
fn consumer_finds_the_value_or_is_woken_for_it() {
    loom::model(|| {
        let cell = Cell::default();
        let recorder = Recorder::new();
        let producer = completing(&cell, 7);
        let found = poll(&cell, &recorder);
        settle(&cell, found, &recorder, producer.join().unwrap());
        assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    });
}

// WITNESS: handshake.waker, handshake.park, waker-words.owned
#[test]
fn polled_again_with_another_waker_the_latest_is_woken() {
    loom::model(|| {
        let cell = Cell::default();
        let (first, second) = (Recorder::new(), Recorder::new());
        assert!(matches!(poll(&cell, &first), OnPoll::Pending));
        let producer = completing(&cell, 7);
        let found = poll(&cell, &second);
        settle(&cell, found, &second, producer.join().unwrap());
        assert_eq!(first.clones() + second.clones(), 0, "handshake.waker");
    });
}

// WITNESS: handshake.waker, waker-words.owned
#[test]
fn waker_changed_twice_under_one_completion_the_last_is_woken() {
    let mut builder = loom::model::Builder::new();
    // Two changes and the copies between them: unbounded, this takes minutes.
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let cell = Cell::default();
        let wakers = [Recorder::new(), Recorder::new(), Recorder::new()];
        assert!(matches!(poll(&cell, &wakers[0]), OnPoll::Pending));
        let producer = completing(&cell, 7);
        let mut found = poll(&cell, &wakers[1]);
        if matches!(found, OnPoll::Pending) {
            found = poll(&cell, &wakers[2]);
        }
        settle(&cell, found, &wakers[2], producer.join().unwrap());
        let clones: usize = wakers.iter().map(Recorder::clones).sum();
        assert_eq!(clones, 0, "handshake.waker");
    });
}

// WITNESS: handshake.one-terminal, handshake.second-frees, handshake.leave, handshake.publish
#[test]
fn cancel_racing_complete_one_side_frees_and_holds_the_value() {
    loom::model(|| {
        let cell = Cell::default();
        let producer = completing(&cell, Arc::new(7));
        leave(&cell, producer);
    });
}

// WITNESS: handshake.second-frees, handshake.leave, handshake.waker
#[test]
fn cancel_of_a_parked_consumer_racing_complete_one_side_frees() {
    loom::model(|| {
        let cell = Cell::default();
        let recorder = Recorder::new();
        assert!(matches!(poll(&cell, &recorder), OnPoll::Pending));
        let producer = completing(&cell, Arc::new(7));
        leave(&cell, producer);
        assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    });
}

// WITNESS: handshake.publish
#[test]
fn try_take_racing_complete_finds_the_whole_value_or_nothing() {
    loom::model(|| {
        let cell = Cell::default();
        let producer = completing(&cell, Arc::new(7));
        // SAFETY: the one consumer, which has not taken.
        match unsafe { cell.try_take() } {
            OnPoll::Ready(value) => {
                assert_eq!(*value, 7);
                assert!(matches!(producer.join().unwrap(), OnComplete::Published));
            }
            OnPoll::Pending => leave(&cell, producer),
        }
    });
}

/// The forms that circulate. Each of these models must be red.
mod printed {
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicU8, Ordering::AcqRel, Ordering::Acquire};
    use crate::sync::cell::UnsafeCell;
    use loom::thread;

    const PENDING: u8 = 0;
    const WAITING: u8 = 1;
    const READY: u8 = 2;
    const CANCELLED: u8 = 3;

    struct Shared {
        state: AtomicU8,
        waker: UnsafeCell<u32>,
        freed: UnsafeCell<bool>,
    }

    // SAFETY: it is not: the models show where.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    impl Shared {
        fn new() -> Self {
            Self {
                state: AtomicU8::new(PENDING),
                waker: UnsafeCell::new(0),
                freed: UnsafeCell::new(false),
            }
        }

        /// Publishes, and reads the waker of a consumer that waits.
        fn complete(&self) -> u32 {
            self.freed.with(|_| ());
            let before = self.state.swap(READY, AcqRel);
            let woken = match before {
                WAITING => self.waker.with(|waker| {
                    // SAFETY: none.
                    unsafe { *waker }
                }),
                _ => 0,
            };
            self.freed.with(|_| ());
            woken
        }
    }

    // CORRECTION: 16
    #[test]
    fn dropper_frees_while_the_completer_is_on_its_way() {
        loom::model(|| {
            let cell = Arc::new(Shared::new());
            let producer = {
                let cell = Arc::clone(&cell);
                thread::spawn(move || cell.complete())
            };
            // "On drop: mark cancelled and free."
            cell.state.swap(CANCELLED, AcqRel);
            cell.freed.with_mut(|_| ());
            drop(producer.join());
        });
    }

    // CORRECTION: 17
    #[test]
    fn polled_again_the_waker_is_written_under_the_completers_read() {
        loom::model(|| {
            let cell = Arc::new(Shared::new());
            cell.state.swap(WAITING, AcqRel);
            let producer = {
                let cell = Arc::clone(&cell);
                thread::spawn(move || cell.complete())
            };
            // "If it is still waiting, store the newer waker."
            if cell.state.load(Acquire) == WAITING {
                cell.waker.with_mut(|_| ());
            }
            drop(producer.join());
        });
    }
}

//! Models of the bare cell. Nobody blocks: whoever was told Pending checks that the producer's
//! verdict names its latest waker. The cell's `body` shows a free that comes before the other
//! side's last use.

use crate::handshake::{Handshake, OnCancel, OnComplete, OnPoll};
use crate::sync::Arc;
use crate::tests::recorder::{Recorder, Start, explore, race};

type Cell<T> = Arc<Handshake<T>>;

fn completing<T>(cell: &Cell<T>, value: T) -> impl FnOnce() -> OnComplete<T> + use<T> {
    let cell = Arc::clone(cell);
    // SAFETY: each model has one producer, which completes once.
    move || unsafe { cell.complete(value) }
}

fn poll<T>(cell: &Cell<T>, recorder: &Recorder) -> OnPoll<T> {
    // SAFETY: each model has one consumer, which stops at the value.
    unsafe { cell.poll(recorder.waker()) }
}

fn cancel<T>(cell: &Cell<T>) -> OnCancel<T> {
    // SAFETY: each model has one consumer, which has not taken and does nothing afterwards.
    unsafe { cell.cancel() }
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

/// Checks that exactly one side was told to free. The value is a counted reference, so that loom
/// sees one that is lost or dropped twice.
fn one_frees(verdict: OnComplete<Arc<u32>>, left: OnCancel<Arc<u32>>) {
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
    explore(None, |start| {
        let cell = Cell::default();
        let consumer = {
            let cell = Arc::clone(&cell);
            move || {
                let recorder = Recorder::new();
                (poll(&cell, &recorder), recorder)
            }
        };
        let (verdict, (found, recorder)) = race(start, completing(&cell, 7), consumer);
        settle(&cell, found, &recorder, verdict);
        assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    });
}

/// The consumer is parked with the first of `N` wakers and changes to each of the others.
fn change_wakers<const N: usize>(start: Start) {
    let cell = Cell::default();
    let wakers: [Recorder; N] = std::array::from_fn(|_| Recorder::new());
    assert!(matches!(poll(&cell, &wakers[0]), OnPoll::Pending));
    let consumer = {
        let cell = Arc::clone(&cell);
        move || {
            let mut found = OnPoll::Pending;
            for waker in &wakers[1..] {
                if matches!(found, OnPoll::Pending) {
                    found = poll(&cell, waker);
                }
            }
            (found, wakers)
        }
    };
    let (verdict, (found, wakers)) = race(start, completing(&cell, 7), consumer);
    settle(&cell, found, &wakers[N - 1], verdict);
    let clones: usize = wakers.iter().map(Recorder::clones).sum();
    assert_eq!(clones, 0, "handshake.waker: leaked");
}

// WITNESS: handshake.waker, handshake.park, waker-words.owned
#[test]
fn polled_again_with_another_waker_the_latest_is_woken() {
    explore(None, change_wakers::<2>);
}

// WITNESS: handshake.waker, waker-words.owned
#[test]
fn waker_changed_twice_under_one_completion_the_last_is_woken() {
    // Unbounded, two changes and the copies between them take minutes.
    explore(Some(3), change_wakers::<3>);
}

// WITNESS: handshake.one-terminal, handshake.second-frees, handshake.leave, handshake.publish
#[test]
fn cancel_racing_complete_one_side_frees_and_holds_the_value() {
    explore(None, |start| {
        let cell = Cell::default();
        let consumer = {
            let cell = Arc::clone(&cell);
            move || cancel(&cell)
        };
        let (verdict, left) = race(start, completing(&cell, Arc::new(7)), consumer);
        one_frees(verdict, left);
    });
}

// WITNESS: handshake.second-frees, handshake.leave, handshake.waker
#[test]
fn cancel_of_a_parked_consumer_racing_complete_one_side_frees() {
    explore(None, |start| {
        let cell = Cell::default();
        let recorder = Recorder::new();
        assert!(matches!(poll(&cell, &recorder), OnPoll::Pending));
        let consumer = {
            let cell = Arc::clone(&cell);
            move || cancel(&cell)
        };
        let (verdict, left) = race(start, completing(&cell, Arc::new(7)), consumer);
        one_frees(verdict, left);
        assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    });
}

// WITNESS: handshake.publish
#[test]
fn try_take_racing_complete_finds_the_whole_value_or_nothing() {
    explore(None, |start| {
        let cell = Cell::default();
        let consumer = {
            let cell = Arc::clone(&cell);
            // SAFETY: the one consumer, which has not taken.
            move || match unsafe { cell.try_take() } {
                OnPoll::Ready(value) => OnCancel::Free(value),
                OnPoll::Pending => cancel(&cell),
            }
        };
        let (verdict, left) = race(start, completing(&cell, Arc::new(7)), consumer);
        one_frees(verdict, left);
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

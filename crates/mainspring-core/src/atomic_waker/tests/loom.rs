//! Models of the one-waker place. What the waking side announces is the cancellation of a
//! completion: its word is read relaxed, so that only the place's own edges carry it.

use crate::handshake::completion::WithCancel;
use crate::sync::Arc;
use crate::tests::recorder::{Recorder, Start, explore, race};
use crate::{AtomicWaker, Completer, completion_with_cancel};
use loom::thread;
use std::task::Poll;

fn waking(place: &Arc<AtomicWaker>) -> thread::JoinHandle<()> {
    let place = Arc::clone(place);
    thread::spawn(move || place.wake())
}

fn three_threads(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

/// Registers, and checks that a wake which this thread took over brings what it announces.
fn register(completer: &mut Completer<(), WithCancel>, recorder: &Recorder) -> (Poll<()>, usize) {
    let found = completer.poll_cancelled(&mut recorder.context());
    let woken = recorder.wakers();
    assert!(
        !woken.contains(&thread::current().id()) || completer.is_cancelled(),
        "atomic-waker.wake: woken, and nothing to be seen"
    );
    (found, woken.len())
}

/// The one who registers may have done so before with another waker.
fn registration_racing_cancel(start: Start, before: Option<Recorder>) {
    let (mut completer, completion) = completion_with_cancel::<()>();
    if let Some(before) = &before {
        assert!(completer.poll_cancelled(&mut before.context()).is_pending());
    }
    let waiting = move || {
        let recorder = Recorder::new();
        let (found, woken) = register(&mut completer, &recorder);
        (completer, recorder, found, woken)
    };
    let ((completer, recorder, found, woken), ()) = race(start, waiting, move || drop(completion));
    assert!(
        found.is_ready() || woken + recorder.wakes() == 1,
        "atomic-waker.no-lost-wake"
    );
    drop(completer);
    let clones = recorder.clones() + before.map_or(0, |before| before.clones());
    assert_eq!(clones, 0, "atomic-waker.slot: leaked");
}

// WITNESS: atomic-waker.wake, atomic-waker.no-lost-wake
#[test]
fn event_between_look_and_registration_is_seen_or_wakes() {
    explore(None, |start| registration_racing_cancel(start, None));
}

// WITNESS: atomic-waker.lock, atomic-waker.slot, atomic-waker.wake
#[test]
fn replaced_waker_racing_wake_only_the_latest_counts() {
    explore(None, |start| {
        registration_racing_cancel(start, Some(Recorder::new()));
    });
}

// WITNESS: atomic-waker.lock, atomic-waker.slot
#[test]
fn same_waker_registered_again_racing_wake_is_woken() {
    explore(None, |start| {
        let place = Arc::new(AtomicWaker::new());
        let recorder = Recorder::new();
        place.register(recorder.waker());
        let (here, there) = (Arc::clone(&place), Arc::clone(&place));
        let again = move || {
            here.register(recorder.waker());
            recorder
        };
        let (recorder, ()) = race(start, again, move || there.wake());
        assert!(recorder.wakes() >= 1, "atomic-waker.no-lost-wake");
        drop(place.take());
        assert_eq!(recorder.clones(), 0, "atomic-waker.slot: leaked");
    });
}

// WITNESS: atomic-waker.lock, atomic-waker.slot
#[test]
fn two_registrations_and_a_wake_leave_the_slot_whole() {
    three_threads(|| {
        let place = Arc::new(AtomicWaker::new());
        let other = {
            let place = Arc::clone(&place);
            thread::spawn(move || {
                let recorder = Recorder::new();
                place.register(recorder.waker());
                recorder
            })
        };
        let waker = waking(&place);
        let recorder = Recorder::new();
        place.register(recorder.waker());
        let other = other.join().unwrap();
        waker.join().unwrap();
        let registered = place.take();
        let heard = [&recorder, &other].map(|recorder| {
            let left_in = registered
                .as_ref()
                .is_some_and(|waker| waker.will_wake(recorder.waker()));
            recorder.wakes() > 0 || left_in
        });
        // One may have replaced the other; whichever came last was not lost.
        assert!(heard[0] || heard[1], "atomic-waker.no-lost-wake");
        drop(registered);
        assert_eq!(recorder.clones() + other.clones(), 0, "atomic-waker.slot");
    });
}

// WITNESS: atomic-waker.lock, atomic-waker.no-lost-wake
#[test]
fn two_wakes_racing_a_registration_leave_the_slot_whole() {
    three_threads(|| {
        let place = Arc::new(AtomicWaker::new());
        let recorder = Recorder::new();
        place.register(recorder.waker());
        let wakers = [waking(&place), waking(&place)];
        place.register(recorder.waker());
        for waker in wakers {
            waker.join().unwrap();
        }
        assert!(recorder.wakes() >= 1, "atomic-waker.no-lost-wake");
        drop(place.take());
        assert_eq!(recorder.clones(), 0, "atomic-waker.slot: leaked");
    });
}

/// The forms that circulate. Each of these models must be red.
mod printed {
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicBool, AtomicU8, Ordering};
    use crate::sync::cell::UnsafeCell;
    use crate::tests::recorder::Recorder;
    use loom::thread;
    use std::task::Waker;

    const EMPTY: u8 = 0;
    const REGISTERED: u8 = 1;
    const REGISTERING: u8 = 2;
    const WAKING: u8 = 4;

    struct Place {
        state: AtomicU8,
        slot: UnsafeCell<Option<Waker>>,
        event: AtomicBool,
    }

    // SAFETY: the state word hands the slot over; what is wrong with it is the wake that is lost.
    unsafe impl Sync for Place {}
    // SAFETY: as above.
    unsafe impl Send for Place {}

    impl Place {
        fn register(&self, waker: &Waker) {
            self.state.swap(REGISTERING, Ordering::AcqRel);
            self.slot.with_mut(|slot| {
                // SAFETY: REGISTERING.
                unsafe { *slot = Some(waker.clone()) };
            });
            // "Store REGISTERED", over whatever came meanwhile. (A swap that looks at nothing: a
            // plain store would make loom report more than the fault.)
            self.state.swap(REGISTERED, Ordering::Release);
        }

        fn wake(&self) {
            if self.state.fetch_or(WAKING, Ordering::AcqRel) != REGISTERED {
                return;
            }
            let waker = self.slot.with_mut(|slot| {
                // SAFETY: WAKING was set on REGISTERED by this thread.
                unsafe { (*slot).take() }
            });
            self.state.swap(EMPTY, Ordering::AcqRel);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    // CORRECTION: 11
    #[test]
    fn wake_between_registering_and_registered_is_lost() {
        loom::model(|| {
            let place = Arc::new(Place {
                state: AtomicU8::new(EMPTY),
                slot: UnsafeCell::new(None),
                event: AtomicBool::new(false),
            });
            let event = {
                let place = Arc::clone(&place);
                thread::spawn(move || {
                    place.event.store(true, Ordering::Release);
                    place.wake();
                })
            };
            let recorder = Recorder::new();
            place.register(recorder.waker());
            let seen = place.event.load(Ordering::Acquire);
            event.join().unwrap();
            assert!(seen || recorder.wakes() > 0, "a lost wake");
        });
    }
}

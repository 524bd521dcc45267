use super::{Moment, Script, Scripted, Tally};
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::sync::{Arc, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;
use std::thread;

fn panics(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => false,
        Err(payload) => {
            assert!(Scripted::is(&*payload), "another panic");
            true
        }
    }
}

fn counts(tally: &Tally) -> [usize; 4] {
    [tally.woken(), tally.clones(), tally.drops(), tally.live()]
}

// WITNESS: script.counted
#[test]
fn every_waker_is_counted_from_clone_to_wake_or_drop() {
    let (waker, tally) = Script::new().waker();
    assert_eq!(counts(&tally), [0, 0, 0, 1]);
    let copies: Vec<Waker> = (0..3).map(|_| waker.clone()).collect();
    assert!(copies.iter().all(|copy| copy.will_wake(&waker)));
    assert_eq!(counts(&tally), [0, 3, 0, 4]);
    let mut copies = copies.into_iter();
    copies.next().unwrap().wake();
    assert_eq!(counts(&tally), [1, 3, 0, 3]);
    copies.next().unwrap().wake_by_ref();
    assert_eq!(counts(&tally), [2, 3, 1, 2]);
    drop(copies);
    drop(waker);
    assert_eq!(counts(&tally), [2, 3, 3, 0]);
}

// WITNESS: script.counted
#[test]
fn panics_come_once_and_leave_the_count_right() {
    let (waker, tally) = Script::new().panics(Moment::Clone).waker();
    assert!(panics(|| drop(waker.clone())));
    assert_eq!(counts(&tally), [0, 0, 0, 1]);
    drop(waker.clone());
    assert_eq!(counts(&tally), [0, 1, 1, 1]);
    drop(waker);
    for by_value in [false, true] {
        let (waker, tally) = Script::new().panics(Moment::Wake).waker();
        let copy = waker.clone();
        assert!(panics(|| if by_value {
            copy.wake();
        } else {
            copy.wake_by_ref();
        }));
        waker.wake();
        assert_eq!((tally.woken(), tally.live()), (2, 0));
    }
    let (waker, tally) = Script::new().panics(Moment::Drop).waker();
    assert!(panics(|| drop(waker)));
    assert_eq!(tally.live(), 0);
}

#[test]
fn panic_is_left_out_while_the_thread_unwinds() {
    let (waker, tally) = Script::new().panics(Moment::Drop).waker();
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _dropped_by_the_unwind = waker;
        std::panic::resume_unwind(Box::new(17));
    }));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&17));
    assert_eq!(tally.live(), 0);
}

#[test]
fn hook_may_do_to_the_waker_what_it_is_called_for() {
    for moment in Moment::ALL {
        let own: Arc<Mutex<Option<Waker>>> = Arc::default();
        let calls = Arc::new(AtomicUsize::new(0));
        let (theirs, count) = (Arc::clone(&own), Arc::clone(&calls));
        let script = Script::new().on(moment, move || {
            count.fetch_add(1, Relaxed);
            let waker = theirs.lock().clone();
            if let Some(waker) = waker {
                waker.wake_by_ref();
                drop(waker.clone());
            }
        });
        let (waker, tally) = script.waker();
        *own.lock() = Some(waker.clone());
        let before = calls.load(Relaxed);
        waker.wake_by_ref();
        drop(waker.clone());
        assert!(calls.load(Relaxed) > before, "{moment:?} was not told");
        drop(waker);
        let last = own.lock().take();
        drop(last);
        assert_eq!(tally.live(), 0, "{moment:?}");
    }
}

#[test]
fn once_is_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let script = Script::new().once(Moment::Wake, move || {
        count.fetch_add(1, Relaxed);
    });
    let (waker, tally) = script.waker();
    for _ in 0..3 {
        waker.wake_by_ref();
    }
    assert_eq!((calls.load(Relaxed), tally.woken()), (1, 3));
}

/// A script that owns its own waker would live for ever but for the tally.
// WITNESS: script.counted
#[test]
fn script_that_owns_its_waker_goes_with_the_tally() {
    let alive = Arc::new(());
    let own: Arc<Mutex<Option<Waker>>> = Arc::default();
    let (theirs, held) = (Arc::clone(&own), Arc::clone(&alive));
    let script = Script::new().on(Moment::Wake, move || {
        let _ = (&theirs, &held);
    });
    let (waker, tally) = script.panics(Moment::Drop).waker();
    *own.lock() = Some(waker);
    drop(own);
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(tally);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn wakers_of_one_script_may_be_used_by_many_threads() {
    const THREADS: usize = 4;
    const EACH: usize = 1000;
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let script = Script::new().on(Moment::Wake, move || {
        count.fetch_add(1, Relaxed);
    });
    let (waker, tally) = script.waker();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let copy = waker.clone();
                    copy.wake();
                }
            });
        }
    });
    drop(waker);
    let all = THREADS * EACH;
    assert_eq!(counts(&tally), [all, all, 1, 0]);
    // One that comes while another thread is in the hook is left out.
    assert!((1..=all).contains(&calls.load(Relaxed)));
}

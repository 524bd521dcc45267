//! Callbacks: order, taking back, panics, and what they may do.

use super::wakers::{counted, poll};
use crate::{CancelToken, Phase, Reason, Registration, Unregistered, What};
use mainspring_core::task::set_unobserved_failure_hook;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Waker;

type Log = Arc<Mutex<Vec<u32>>>;

fn noting(token: &CancelToken, log: &Log, number: u32) -> Registration {
    let log = Arc::clone(log);
    token.on_cancel(move |_| log.lock().unwrap().push(number))
}

fn noted(log: &Log) -> Vec<u32> {
    log.lock().unwrap().clone()
}

// WITNESS: wave.once
#[test]
fn callbacks_run_in_the_order_of_registration_after_everybody_was_told() {
    let root = CancelToken::new();
    let child = root.child();
    let (counter, waker) = counted();
    let mut waiting = Box::pin(child.clone().cancelled_owned());
    assert!(poll(waiting.as_mut(), &waker).is_pending());
    let log = Log::default();
    let watched = child.clone();
    let first = root.on_cancel(move |reason| {
        assert_eq!(reason.what(), What::Shutdown);
        assert!(watched.is_cancelled() && counter.count() == 1);
        assert_eq!(watched.phase(), Phase::Cancelling);
    });
    let rest: Vec<_> = (0..40).map(|number| noting(&root, &log, number)).collect();
    let below = noting(&child, &log, 99);
    root.cancel(Reason::shutdown());
    assert_eq!(noted(&log), (0..40).chain([99]).collect::<Vec<_>>());
    assert_eq!(root.phase(), Phase::Cancelled);
    for registration in rest.into_iter().chain([first, below]) {
        assert!(matches!(registration.unregister(), Unregistered::Ran));
    }
}

// C4
// WITNESS: register.never-lost, register.counted
#[test]
fn callback_registered_too_late_is_called_at_once() {
    let token = CancelToken::new();
    let hold = token.hold().unwrap();
    token.cancel(Reason::requested());
    let (log, phases) = (Log::default(), Arc::new(Mutex::new(Vec::new())));
    let watched = {
        let (token, phases, hold) = (token.clone(), Arc::clone(&phases), Mutex::new(Some(hold)));
        move |_: &Reason| {
            // It counts: with the last hold gone the token waits for this callback.
            drop(hold.lock().unwrap().take());
            phases.lock().unwrap().push(token.phase());
        }
    };
    let counting = token.on_cancel(watched);
    assert_eq!(*phases.lock().unwrap(), [Phase::Cancelling]);
    assert_eq!(token.phase(), Phase::Cancelled);
    let late = noting(&token, &log, 7);
    assert_eq!(noted(&log), [7]);
    assert!(matches!(counting.unregister(), Unregistered::Ran));
    assert!(matches!(late.unregister(), Unregistered::Ran));
}

// WITNESS: register.never-lost
#[test]
fn callback_taken_back_is_returned_and_dropped_ones_are_not_called() {
    let token = CancelToken::new();
    let log = Log::default();
    let [kept, back, dropped] = [1, 2, 3].map(|number| noting(&token, &log, number));
    drop(dropped);
    assert_eq!(Arc::strong_count(&log), 3);
    let Unregistered::Removed(callback) = back.unregister() else {
        panic!("nobody has cancelled it");
    };
    token.cancel(Reason::requested());
    assert_eq!(noted(&log), [1]);
    callback(&Reason::requested());
    assert_eq!(noted(&log), [1, 2]);
    drop(kept);
    assert_eq!(Arc::strong_count(&log), 1);
}

// C5, B209
// WITNESS: register.counted
#[test]
fn callback_may_drop_its_own_registration_and_every_token() {
    let token = CancelToken::new();
    let own: Arc<Mutex<Option<Registration>>> = Arc::default();
    let inside = Arc::clone(&own);
    let last = Mutex::new(Some(token.clone()));
    let registration = token.on_cancel(move |_| {
        let registration = inside.lock().unwrap().take().expect("put there before");
        assert!(matches!(
            registration.unregister(),
            Unregistered::Running(_)
        ));
        drop(last.lock().unwrap().take());
    });
    *own.lock().unwrap() = Some(registration);
    token.cancel(Reason::requested());
    assert_eq!(token.phase(), Phase::Cancelled);
}

// WITNESS: wave.once
#[test]
fn callback_may_cancel_register_and_take_back_others() {
    let root = CancelToken::new();
    let child = root.child();
    let log = Log::default();
    let victim: Arc<Mutex<Option<Registration>>> = Arc::default();
    let late: Arc<Mutex<Vec<Registration>>> = Arc::default();
    let (above, here, into) = (root.clone(), child.clone(), Arc::clone(&log));
    let (taken, kept) = (Arc::clone(&victim), Arc::clone(&late));
    let first = child.on_cancel(move |_| {
        assert!(above.cancel(Reason::shutdown()));
        assert!(!here.cancel(Reason::shutdown()));
        let found = taken.lock().unwrap().take().unwrap().unregister();
        assert!(matches!(found, Unregistered::Removed(_)));
        kept.lock().unwrap().push(noting(&here, &into, 2));
        assert!(here.child().is_cancelled());
    });
    *victim.lock().unwrap() = Some(noting(&child, &log, 1));
    child.cancel(Reason::requested());
    assert_eq!(noted(&log), [2]);
    assert_eq!(
        (child.phase(), root.phase()),
        (Phase::Cancelled, Phase::Cancelled)
    );
    assert_eq!(root.reason().unwrap().what(), What::Shutdown);
    drop(first);
}

// C5, C6, B209
// CORRECTION: 46
// WITNESS: register.counted
#[test]
fn unregistering_a_running_callback_does_not_wait_and_can_be_awaited() {
    let token = CancelToken::new();
    let (entered, wait_entered) = std::sync::mpsc::channel();
    let (go_on, wait_go_on) = std::sync::mpsc::channel::<()>();
    let registration = token.on_cancel(move |_| {
        entered.send(()).unwrap();
        wait_go_on.recv().unwrap();
    });
    let canceller = {
        let token = token.clone();
        std::thread::spawn(move || token.cancel(Reason::requested()))
    };
    wait_entered.recv().unwrap();
    let Unregistered::Running(mut end) = registration.unregister() else {
        panic!("it is being called");
    };
    let (counter, waker) = counted();
    assert!(poll(Pin::new(&mut end), &waker).is_pending());
    assert_eq!(token.cancel_report().callbacks.len(), 1);
    assert_eq!(token.phase(), Phase::Cancelling);
    go_on.send(()).unwrap();
    assert!(canceller.join().unwrap());
    assert_eq!(counter.count(), 1);
    assert!(poll(Pin::new(&mut end), &waker).is_ready());
    assert!(poll(Pin::new(&mut end), &waker).is_ready());
    assert_eq!(token.phase(), Phase::Cancelled);
}

// WITNESS: wave.contained
#[test]
fn panics_of_callbacks_and_wakers_keep_nobody_from_being_called() {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    set_unobserved_failure_hook(|failure| TOLD.lock().unwrap().push(failure.to_string()));

    struct Bang;
    impl std::task::Wake for Bang {
        fn wake(self: Arc<Self>) {
            resume_unwind(Box::new("in a waker"));
        }
    }
    struct BangDrop;
    impl Drop for BangDrop {
        fn drop(&mut self) {
            // It is forgotten, so it is one that nothing is allocated for.
            resume_unwind(Box::new(Bang));
        }
    }

    let root = CancelToken::new();
    let child = root.child();
    let log = Log::default();
    let mut waiting = Box::pin(child.clone().cancelled_owned());
    let _ = poll(waiting.as_mut(), &Waker::from(Arc::new(Bang)));
    let line = line!() + 1;
    let first = child.on_cancel(|_| resume_unwind(Box::new(String::from("in a callback"))));
    let second = child.on_cancel(|_| resume_unwind(Box::new(BangDrop)));
    let third = noting(&child, &log, 3);
    assert!(root.cancel(Reason::requested()));
    assert_eq!(noted(&log), [3]);
    assert_eq!(
        (child.phase(), root.phase()),
        (Phase::Cancelled, Phase::Cancelled)
    );
    for token in [&child, &root] {
        let report = token.cancel_report();
        let panics = report.panics.iter();
        let texts: Vec<_> = panics.map(|panic| panic.message.as_deref()).collect();
        assert_eq!(texts, [Some("in a waker"), Some("in a callback"), None]);
        assert_eq!(report.panics[1].at.line(), line);
        assert!(report.to_string().contains("in a callback"), "{report}");
    }
    let told = TOLD.lock().unwrap();
    let place = format!("registered at {}:{line}:", file!());
    let is_told = |text: &String| text.contains(&place) && text.ends_with("in a callback");
    assert!(told.iter().any(is_told), "{told:?}");
    drop((first, second, third));
}

// WITNESS: wave.contained
#[test]
fn report_keeps_the_first_panics_and_counts_the_others() {
    let root = CancelToken::new();
    let child = root.child();
    let bang = |token: &CancelToken| token.on_cancel(|_| resume_unwind(Box::new("again")));
    let below: Vec<_> = (0..20).map(|_| bang(&child)).collect();
    let here: Vec<_> = (0..10).map(|_| bang(&root)).collect();
    root.cancel(Reason::requested());
    let report = child.cancel_report();
    assert_eq!((report.panics.len(), report.more_panics), (16, 4));
    let report = root.cancel_report();
    assert_eq!((report.panics.len(), report.more_panics), (16, 14));
    drop((below, here));
}

/// Row 45 of the corrections: what circulates, and what is right.
mod printed {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    #[derive(PartialEq, Debug)]
    pub(super) enum Word {
        Cancelling,
        Cancelled,
    }

    /// Calls the callbacks, and then says that it is over.
    pub(super) fn cancel(word: &mut Word, callbacks: Vec<Box<dyn FnOnce()>>) {
        *word = Word::Cancelling;
        for callback in callbacks {
            callback();
        }
        *word = Word::Cancelled;
    }

    pub(super) fn after_a_panic() -> Word {
        let mut word = Word::Cancelled;
        let bang: Box<dyn FnOnce()> = Box::new(|| resume_unwind(Box::new("bang")));
        let caught = catch_unwind(AssertUnwindSafe(|| cancel(&mut word, vec![bang])));
        assert!(caught.is_err());
        word
    }
}

// CORRECTION: 45
// WITNESS: wave.contained, node.settled
#[test]
fn panic_leaves_only_the_printed_form_in_cancelling() {
    assert_eq!(printed::after_a_panic(), printed::Word::Cancelling);
    let token = CancelToken::new();
    let registration = token.on_cancel(|_| resume_unwind(Box::new("bang")));
    token.cancel(Reason::requested());
    assert_eq!(token.phase(), Phase::Cancelled);
    drop(registration);
}

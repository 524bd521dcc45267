//! Models of the pair: who frees, who drops, who is woken.

use crate::handshake::completion::{
    Completer, Completion, Dropped, Kind, TryTakeError, WithCancel, completion,
    completion_with_cancel,
};
use crate::sync::Arc;
use crate::tests::recorder::{Recorder, explore, race};
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

type Value = Arc<u32>;

fn poll<K: Kind>(
    completion: &mut Completion<Value, K>,
    recorder: &Recorder,
) -> Poll<Result<u32, Dropped>> {
    Pin::new(completion)
        .poll(&mut recorder.context())
        .map_ok(|value| *value)
}

/// A consumer that polls once.
fn polling<K: Kind + 'static>(
    mut completion: Completion<Value, K>,
) -> impl FnOnce() -> Polled<K> + use<K> {
    move || {
        let recorder = Recorder::new();
        let found = poll(&mut completion, &recorder);
        (completion, recorder, found)
    }
}

type Polled<K> = (Completion<Value, K>, Recorder, Poll<Result<u32, Dropped>>);

/// After the producer has left: what was Pending has been woken and is ready now.
fn settle<K: Kind>((mut completion, recorder, found): Polled<K>) -> Result<u32, Dropped> {
    let result = match found {
        Poll::Ready(result) => result,
        Poll::Pending => {
            assert_eq!(recorder.wakes(), 1, "handshake.park: a lost wake");
            match poll(&mut completion, &recorder) {
                Poll::Ready(result) => result,
                Poll::Pending => panic!("handshake.publish: woken for nothing"),
            }
        }
    };
    assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    result
}

// WITNESS: completion.alive, completion.freed-once
#[test]
fn awaited_value_arrives_and_nothing_is_left() {
    explore(None, |start| {
        let (completer, completion) = completion::<Value>();
        let producer = move || completer.complete(Arc::new(7)).is_ok();
        let (sent, polled) = race(start, producer, polling(completion));
        assert!(sent);
        assert_eq!(settle(polled), Ok(7));
    });
}

// WITNESS: completion.freed-once
#[test]
fn completer_dropped_resolves_to_the_error() {
    explore(None, |start| {
        let (completer, completion) = completion::<Value>();
        let ((), polled) = race(start, move || drop(completer), polling(completion));
        assert_eq!(settle(polled), Err(Dropped));
    });
}

// B149
// WITNESS: completion.alive, completion.freed-once
#[test]
fn polled_then_dropped_racing_complete_the_value_has_one_owner() {
    explore(None, |start| {
        let (completer, mut completion) = completion::<Value>();
        let recorder = Recorder::new();
        assert!(poll(&mut completion, &recorder).is_pending());
        let producer = move || completer.complete(Arc::new(7)).err();
        let (back, left) = race(start, producer, move || completion.close());
        assert_ne!(left.is_some(), back.is_some());
        assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    });
}

// B149
// WITNESS: completion.freed-once
#[test]
fn polled_then_dropped_racing_the_completers_drop_frees_once() {
    explore(None, |start| {
        let (completer, mut completion) = completion::<Value>();
        let recorder = Recorder::new();
        assert!(poll(&mut completion, &recorder).is_pending());
        race(start, move || drop(completer), move || drop(completion));
        assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    });
}

// B148
// WITNESS: completion.alive
#[test]
fn close_racing_complete_then_every_method_answers() {
    explore(None, |start| {
        let (completer, mut completion) = completion::<Value>();
        let producer = move || completer.complete(Arc::new(7)).err();
        let consumer = move || {
            let early = completion.try_take();
            let left = completion.close();
            (early, left, completion)
        };
        let (back, (early, left, mut completion)) = race(start, producer, consumer);
        let owners = [early.is_ok(), left.is_some(), back.is_some()];
        assert_eq!(owners.iter().filter(|&&owner| owner).count(), 1);
        assert_eq!(
            completion.try_take().err(),
            Some(TryTakeError::Dropped),
            "completion.alive"
        );
        assert!(completion.close().is_none());
        assert_eq!(
            poll(&mut completion, &Recorder::new()),
            Poll::Ready(Err(Dropped))
        );
    });
}

fn cancellable() -> (Completer<Value, WithCancel>, Completion<Value, WithCancel>) {
    completion_with_cancel()
}

// CORRECTION: 12
// WITNESS: atomic-waker.wake, atomic-waker.no-lost-wake
#[test]
fn waiting_producer_learns_of_the_drop_whenever_it_comes() {
    explore(None, |start| {
        let (mut completer, completion) = cancellable();
        let producer = move || {
            let recorder = Recorder::new();
            let found = completer.poll_cancelled(&mut recorder.context());
            (completer, recorder, found)
        };
        let ((completer, recorder, found), ()) = race(start, producer, move || drop(completion));
        if found.is_pending() {
            assert_eq!(recorder.wakes(), 1, "atomic-waker.no-lost-wake");
        }
        assert!(completer.complete(Arc::new(7)).is_err());
        assert_eq!(recorder.clones(), 0, "atomic-waker.slot: leaked");
    });
}

// WITNESS: completion.holders, completion.freed-once
#[test]
fn cancel_racing_complete_the_last_holder_frees() {
    explore(None, |start| {
        let (mut completer, mut completion) = cancellable();
        let recorder = Recorder::new();
        assert!(
            completer
                .poll_cancelled(&mut recorder.context())
                .is_pending()
        );
        let producer = move || completer.complete(Arc::new(7)).err();
        let (back, left) = race(start, producer, move || completion.close());
        assert_ne!(left.is_some(), back.is_some());
        assert_eq!(recorder.clones(), 0, "atomic-waker.slot: leaked");
    });
}

// WITNESS: completion.holders
#[test]
fn value_of_the_cancellable_form_arrives() {
    explore(None, |start| {
        let (completer, completion) = cancellable();
        let producer = move || completer.complete(Arc::new(7)).is_ok();
        let (sent, polled) = race(start, producer, polling(completion));
        assert!(sent);
        assert_eq!(settle(polled), Ok(7));
    });
}

/// The forms that circulate. Each of these models must be red.
mod printed {
    use crate::AtomicWaker;
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicBool, Ordering};
    use crate::tests::recorder::Recorder;
    use loom::thread;
    use std::task::{Context, Poll};

    struct Connect {
        done: AtomicBool,
        waker: AtomicWaker,
    }

    impl Connect {
        /// "Check, register, return Pending."
        fn poll(&self, cx: &Context<'_>) -> Poll<()> {
            if self.done.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            self.waker.register(cx.waker());
            Poll::Pending
        }
    }

    // CORRECTION: 12
    #[test]
    fn event_between_check_and_registration_is_lost() {
        loom::model(|| {
            let connect = Arc::new(Connect {
                done: AtomicBool::new(false),
                waker: AtomicWaker::new(),
            });
            let event = {
                let connect = Arc::clone(&connect);
                thread::spawn(move || {
                    connect.done.store(true, Ordering::Release);
                    connect.waker.wake();
                })
            };
            let recorder = Recorder::new();
            let found = connect.poll(&recorder.context());
            event.join().unwrap();
            assert!(found.is_ready() || recorder.wakes() > 0, "a lost wake");
        });
    }
}

//! Models of the pair: who frees, who drops, who is woken.

use crate::handshake::completion::{
    Completer, Completion, Dropped, TryTakeError, WithCancel, completion, completion_with_cancel,
};
use crate::recorder::Recorder;
use crate::sync::Arc;
use loom::thread;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

type Value = Arc<u32>;

fn poll<K>(completion: &mut Completion<Value, K>, recorder: &Recorder) -> Poll<Result<u32, Dropped>>
where
    K: crate::handshake::completion::Kind,
{
    Pin::new(completion)
        .poll(&mut recorder.context())
        .map_ok(|value| *value)
}

/// After the producer has left: what was Pending has been woken and is ready now.
fn settle(
    completion: &mut Completion<Value>,
    found: Poll<Result<u32, Dropped>>,
    recorder: &Recorder,
) -> Result<u32, Dropped> {
    match found {
        Poll::Ready(result) => result,
        Poll::Pending => {
            assert_eq!(recorder.wakes(), 1, "handshake.park: a lost wake");
            match poll(completion, recorder) {
                Poll::Ready(result) => result,
                Poll::Pending => panic!("handshake.publish: woken for nothing"),
            }
        }
    }
}

// WITNESS: completion.alive, completion.freed-once
#[test]
fn awaited_value_arrives_and_nothing_is_left() {
    loom::model(|| {
        let (completer, mut completion) = completion::<Value>();
        let recorder = Recorder::new();
        let producer = thread::spawn(move || completer.complete(Arc::new(7)).is_ok());
        let found = poll(&mut completion, &recorder);
        assert!(producer.join().unwrap());
        assert_eq!(settle(&mut completion, found, &recorder), Ok(7));
        assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    });
}

// WITNESS: completion.freed-once
#[test]
fn completer_dropped_resolves_to_the_error() {
    loom::model(|| {
        let (completer, mut completion) = completion::<Value>();
        let recorder = Recorder::new();
        let producer = thread::spawn(move || drop(completer));
        let found = poll(&mut completion, &recorder);
        producer.join().unwrap();
        assert_eq!(settle(&mut completion, found, &recorder), Err(Dropped));
        assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    });
}

// WITNESS: completion.alive, completion.freed-once
#[test]
fn polled_then_dropped_racing_complete_the_value_has_one_owner() {
    loom::model(|| {
        let (completer, mut completion) = completion::<Value>();
        let recorder = Recorder::new();
        assert!(poll(&mut completion, &recorder).is_pending());
        let producer = thread::spawn(move || completer.complete(Arc::new(7)).err());
        let left = completion.close();
        let back = producer.join().unwrap();
        assert_ne!(left.is_some(), back.is_some());
        assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    });
}

// WITNESS: completion.freed-once
#[test]
fn polled_then_dropped_racing_the_completers_drop_frees_once() {
    loom::model(|| {
        let (completer, mut completion) = completion::<Value>();
        let recorder = Recorder::new();
        assert!(poll(&mut completion, &recorder).is_pending());
        let producer = thread::spawn(move || drop(completer));
        drop(completion);
        producer.join().unwrap();
        assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    });
}

// WITNESS: completion.alive
#[test]
fn close_racing_complete_then_every_method_answers() {
    loom::model(|| {
        let (completer, mut completion) = completion::<Value>();
        let producer = thread::spawn(move || completer.complete(Arc::new(7)).err());
        let early = completion.try_take();
        let left = completion.close();
        let back = producer.join().unwrap();
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
    loom::model(|| {
        let (mut completer, completion) = cancellable();
        let recorder = Recorder::new();
        let consumer = thread::spawn(move || drop(completion));
        let found = completer.poll_cancelled(&mut recorder.context());
        consumer.join().unwrap();
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
    loom::model(|| {
        let (mut completer, mut completion) = cancellable();
        let recorder = Recorder::new();
        assert!(
            completer
                .poll_cancelled(&mut recorder.context())
                .is_pending()
        );
        let producer = thread::spawn(move || completer.complete(Arc::new(7)).err());
        let left = completion.close();
        let back = producer.join().unwrap();
        assert_ne!(left.is_some(), back.is_some());
        assert_eq!(recorder.clones(), 0, "atomic-waker.slot: leaked");
    });
}

// WITNESS: completion.holders
#[test]
fn value_of_the_cancellable_form_is_taken_by_one_side() {
    loom::model(|| {
        let (completer, mut completion) = cancellable();
        let producer = thread::spawn(move || completer.complete(Arc::new(7)).is_ok());
        let found = completion.try_take().is_ok();
        drop(completion);
        let sent = producer.join().unwrap();
        assert!(sent || !found);
    });
}

/// The forms that circulate. Each of these models must be red.
mod printed {
    use crate::AtomicWaker;
    use crate::recorder::Recorder;
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicBool, Ordering};
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

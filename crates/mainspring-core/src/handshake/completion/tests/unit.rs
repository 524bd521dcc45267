use crate::handshake::completion::{
    Completer, Completion, Dropped, TryTakeError, WithCancel, completion, completion_with_cancel,
};
use crate::tests::recorder::{Hooks, Recorder};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

fn poll<F: Future + Unpin>(future: &mut F, recorder: &Recorder) -> Poll<F::Output> {
    Pin::new(future).poll(&mut recorder.context())
}

#[test]
fn handles_are_send_sync_unpin_and_one_pointer_wide() {
    fn check<T: Send + Sync + Unpin>() {}
    check::<Completer<Cell<u32>>>();
    check::<Completion<Cell<u32>>>();
    check::<Completion<Cell<u32>, WithCancel>>();
    assert_eq!(size_of::<Completion<[u64; 9]>>(), size_of::<usize>());
    assert_eq!(size_of::<Completer<[u64; 9]>>(), size_of::<usize>());
}

#[test]
fn value_first_is_ready_at_the_first_poll() {
    let (completer, mut completion) = completion();
    let recorder = Recorder::new();
    assert_eq!(completer.complete("value"), Ok(()));
    assert_eq!(poll(&mut completion, &recorder), Poll::Ready(Ok("value")));
    assert_eq!(poll(&mut completion, &recorder), Poll::Ready(Err(Dropped)));
    assert_eq!(recorder.clones(), 0);
}

#[test]
fn latest_waker_is_the_one_woken() {
    let (completer, mut completion) = completion();
    let (first, second) = (Recorder::new(), Recorder::new());
    assert!(poll(&mut completion, &first).is_pending());
    assert!(poll(&mut completion, &second).is_pending());
    assert_eq!(completer.complete(7), Ok(()));
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
    assert_eq!((first.clones(), second.clones()), (0, 0));
    assert_eq!(poll(&mut completion, &second), Poll::Ready(Ok(7)));
}

#[test]
fn completer_dropped_wakes_with_the_error() {
    let (completer, mut completion) = completion::<u32>();
    let recorder = Recorder::new();
    assert!(poll(&mut completion, &recorder).is_pending());
    assert_eq!(completion.try_take(), Err(TryTakeError::Pending));
    drop(completer);
    assert_eq!(recorder.wakes(), 1);
    assert_eq!(completion.try_take(), Err(TryTakeError::Dropped));
    assert_eq!(poll(&mut completion, &recorder), Poll::Ready(Err(Dropped)));
}

#[test]
fn close_gives_what_arrived_and_sends_back_what_comes_later() {
    let (completer, mut completion) = completion();
    assert_eq!(completer.complete(7), Ok(()));
    assert_eq!(completion.close(), Some(7));
    assert_eq!(completion.close(), None);
    assert_eq!(completion.try_take(), Err(TryTakeError::Dropped));

    let (completer, mut completion) = super::super::completion();
    assert_eq!(completion.close(), None);
    assert!(completer.is_cancelled());
    assert_eq!(completer.complete(7), Err(7));
}

#[test]
fn errors_say_whether_to_try_again() {
    assert!(TryTakeError::Pending.is_transient());
    assert!(!TryTakeError::Dropped.is_transient());
    assert!(!Dropped.is_transient());
    assert_eq!(
        TryTakeError::Pending.to_string(),
        "the value has not arrived yet"
    );
    assert_eq!(TryTakeError::Dropped.to_string(), Dropped.to_string());
}

#[test]
fn completion_dropped_releases_its_waker_while_the_completer_lives() {
    let (completer, mut completion) = completion::<u32>();
    let recorder = Recorder::new();
    assert!(poll(&mut completion, &recorder).is_pending());
    drop(completion);
    assert_eq!(recorder.clones(), 0, "handshake.waker: leaked");
    assert_eq!(recorder.wakes(), 0);
    drop(completer);
}

// WITNESS: completion.registered
#[test]
fn completer_gone_releases_its_waker_while_the_completion_lives() {
    let (mut completer, completion) = completion_with_cancel();
    let recorder = Recorder::new();
    assert!(poll(&mut completer.cancelled(), &recorder).is_pending());
    assert_eq!(recorder.clones(), 1);
    assert_eq!(completer.complete(7), Ok(()));
    assert_eq!(recorder.clones(), 0);
    assert_eq!(recorder.wakes(), 0);
    drop(completion);
}

#[test]
fn drop_of_the_completion_wakes_the_waiting_producer() {
    let (mut completer, completion) = completion_with_cancel();
    let (first, second) = (Recorder::new(), Recorder::new());
    assert!(poll(&mut completer.cancelled(), &first).is_pending());
    assert!(poll(&mut completer.cancelled(), &second).is_pending());
    drop(completion);
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
    assert!(poll(&mut completer.cancelled(), &second).is_ready());
    assert_eq!(completer.complete(7), Err(7));
}

#[test]
fn value_whose_drop_panics_is_dropped_once_and_freed() {
    struct Broken(Rc<Cell<u32>>);
    impl Drop for Broken {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            panic!("on purpose");
        }
    }
    let drops = Rc::new(Cell::new(0));
    let (completer, completion) = completion();
    assert!(completer.complete(Broken(Rc::clone(&drops))).is_ok());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(completion))).is_err());
    assert_eq!(drops.get(), 1, "handshake.value: not dropped once");
}

#[test]
fn waker_that_panics_does_not_take_the_value_along() {
    let (completer, mut completion) = completion();
    let broken = Hooks {
        on_wake: || panic!("on purpose"),
        ..Hooks::default()
    }
    .waker();
    assert!(
        Pin::new(&mut completion)
            .poll(&mut Context::from_waker(&broken))
            .is_pending()
    );
    assert!(catch_unwind(AssertUnwindSafe(|| completer.complete(7))).is_err());
    assert_eq!(completion.try_take(), Ok(7));
}

#[test]
fn completer_dropped_by_thread_local_destruction_still_wakes() {
    thread_local! {
        static KEPT: RefCell<Option<Completer<u32>>> = const { RefCell::new(None) };
    }
    let (completer, mut completion) = completion();
    let recorder = Recorder::new();
    assert!(poll(&mut completion, &recorder).is_pending());
    let ended = std::thread::spawn(move || KEPT.set(Some(completer))).join();
    assert!(ended.is_ok());
    assert_eq!(recorder.wakes(), 1);
    assert_eq!(poll(&mut completion, &recorder), Poll::Ready(Err(Dropped)));
}

#[test]
fn threads_exchange_many_values() {
    for round in 0..200_u32 {
        let (completer, completion) = completion();
        let producer = std::thread::scope(|scope| {
            let consumer = scope.spawn(move || block_on(completion));
            let sent = completer.complete(round);
            (sent, consumer.join())
        });
        assert_eq!(producer.0, Ok(()));
        assert!(matches!(producer.1, Ok(Ok(value)) if value == round));
    }
}

/// Polls on this thread, which sleeps until it is unparked.
fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match Pin::new(&mut future).poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// How deep the polls of a chain are nested.
#[derive(Default)]
struct Depth {
    now: Cell<usize>,
    deepest: Cell<usize>,
}

impl Depth {
    fn enter<R>(&self, inside: impl FnOnce() -> R) -> R {
        self.now.set(self.now.get() + 1);
        self.deepest.set(self.deepest.get().max(self.now.get()));
        let result = inside();
        self.now.set(self.now.get() - 1);
        result
    }
}

const CHAIN: usize = 500;

/// A waker that schedules: it puts its task's number on the queue.
struct Schedule {
    queue: Arc<Mutex<VecDeque<usize>>>,
    task: usize,
}

impl Wake for Schedule {
    fn wake(self: Arc<Self>) {
        self.queue.lock().unwrap().push_back(self.task);
    }
}

// CORRECTION: 15
#[test]
fn chain_of_ready_completions_is_as_deep_as_it_is_long_only_in_the_printed_form() {
    let depth = Depth::default();
    let queue = Arc::new(Mutex::new(VecDeque::new()));
    let (first, mut completions): (_, Vec<_>) = {
        let (first, next) = completion();
        (first, vec![next])
    };
    let mut completers = Vec::new();
    for _ in 1..CHAIN {
        let (completer, next) = completion();
        completers.push(Some(completer));
        completions.push(next);
    }
    completers.push(None);
    let wakers: Vec<_> = (0..CHAIN)
        .map(|task| {
            let queue = Arc::clone(&queue);
            Waker::from(Arc::new(Schedule { queue, task }))
        })
        .collect();
    for (completion, waker) in completions.iter_mut().zip(&wakers) {
        let mut cx = Context::from_waker(waker);
        assert!(Pin::new(completion).poll(&mut cx).is_pending());
    }

    assert_eq!(first.complete(()), Ok(()));
    let mut polled = 0;
    loop {
        let next = queue.lock().unwrap().pop_front();
        let Some(task) = next else { break };
        depth.enter(|| {
            let mut cx = Context::from_waker(&wakers[task]);
            let result = Pin::new(&mut completions[task]).poll(&mut cx);
            assert_eq!(result, Poll::Ready(Ok(())));
            if let Some(completer) = completers[task].take() {
                assert_eq!(completer.complete(()), Ok(()));
            }
        });
        polled += 1;
    }
    assert_eq!(polled, CHAIN);
    assert_eq!(depth.deepest.get(), 1, "a wake ran a task");
    assert_eq!(printed::deepest_of_chain(CHAIN), CHAIN);
}

// CORRECTION: 16
#[test]
fn ready_and_dropped_the_value_leaks_only_in_the_printed_form() {
    let value = Rc::new(());
    let (completer, completion) = completion();
    assert!(completer.complete(Rc::clone(&value)).is_ok());
    drop(completion);
    assert_eq!(Rc::strong_count(&value), 1, "handshake.value: leaked");

    printed::drop_when_ready(Rc::clone(&value));
    assert_eq!(Rc::strong_count(&value), 2);
    // SAFETY: the count that the printed form has lost.
    unsafe { Rc::decrement_strong_count(Rc::as_ptr(&value)) };
}

/// The forms that circulate.
mod printed {
    use super::Depth;
    use std::cell::RefCell;
    use std::mem::MaybeUninit;
    use std::rc::Rc;

    /// A completion whose wake resumes the awaiter on the completer's stack.
    #[derive(Default)]
    struct Inline(RefCell<Option<Box<dyn FnOnce()>>>);

    impl Inline {
        fn complete(&self) {
            if let Some(resume) = self.0.take() {
                resume();
            }
        }
    }

    pub(super) fn deepest_of_chain(length: usize) -> usize {
        let depth = Rc::new(Depth::default());
        let links: Rc<Vec<Inline>> = Rc::new((0..length).map(|_| Inline::default()).collect());
        for task in 0..length {
            let (depth, all) = (Rc::clone(&depth), Rc::clone(&links));
            *links[task].0.borrow_mut() = Some(Box::new(move || {
                depth.enter(|| {
                    if let Some(next) = all.get(task + 1) {
                        next.complete();
                    }
                });
            }));
        }
        links[0].complete();
        depth.deepest.get()
    }

    /// "Drop: READY: free the cell."
    pub(super) fn drop_when_ready<T>(value: T) {
        let cell = Box::new(MaybeUninit::new(value));
        drop(cell);
    }
}

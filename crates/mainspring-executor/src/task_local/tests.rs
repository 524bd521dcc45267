use super::OutsideScope;
use crate::{LocalExecutor, block_on, spawn_local};
use std::cell::{Cell, RefCell};
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

task_local! {
    /// A number.
    static ID: u64;
    pub(crate) static TEXT: Arc<str>;
    static LOG: RefCell<Vec<u64>>
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Pending at its first poll, which it counts by what the key says.
async fn twice() -> (u64, u64) {
    let first = ID.get();
    mainspring_core::task::yield_now().await;
    (first, ID.get())
}

const NONE: Result<u64, OutsideScope> = Err(OutsideScope { key: "ID" });

// WITNESS: task-local.seen, task-local.nested
#[test]
fn value_is_there_in_each_poll_and_between_them_is_not() {
    let mut scope = pin!(ID.scope(7, twice()));
    assert_eq!(ID.try_get(), NONE);
    assert!(poll(scope.as_mut()).is_pending());
    assert_eq!(ID.try_get(), NONE, "task-local.nested: left behind");
    assert_eq!(poll(scope.as_mut()), Poll::Ready((7, 7)));
    assert_eq!(ID.try_get(), NONE, "task-local.nested: left behind");
}

// WITNESS: task-local.nested
#[test]
fn two_futures_of_one_thread_see_each_their_own() {
    let mut one = pin!(ID.scope(1, twice()));
    let mut two = pin!(ID.scope(2, twice()));
    assert!(poll(one.as_mut()).is_pending());
    assert!(poll(two.as_mut()).is_pending());
    assert_eq!(poll(one.as_mut()), Poll::Ready((1, 1)));
    assert_eq!(poll(two.as_mut()), Poll::Ready((2, 2)));
}

// WITNESS: task-local.nested
#[test]
fn inner_scope_hides_the_outer_while_it_lasts() {
    let seen = block_on(ID.scope(1, async {
        let inner = ID.scope(2, async {
            let inmost = ID.sync_scope(3, || ID.get());
            (inmost, twice().await)
        });
        let inner = inner.await;
        let text = TEXT.scope("other".into(), async { (ID.get(), TEXT.get()) });
        (inner, text.await, ID.get())
    }));
    assert_eq!(seen, ((3, (2, 2)), (1, "other".into()), 1));
}

// A scope within a look: the look goes on with what it found.
// WITNESS: task-local.alive, task-local.nested
#[test]
fn look_may_open_a_scope_and_look_again() {
    LOG.sync_scope(RefCell::default(), || {
        LOG.with(|outer| {
            outer.borrow_mut().push(1);
            LOG.sync_scope(RefCell::default(), || {
                LOG.with(|inner| inner.borrow_mut().push(2));
                outer.borrow_mut().push(3);
            });
            LOG.with(|again| again.borrow_mut().push(4));
            assert_eq!(*outer.borrow(), [1, 3, 4], "task-local.nested");
        });
    });
}

// WITNESS: task-local.nested
#[test]
fn panic_in_a_poll_or_a_call_restores_the_outer_value() {
    ID.sync_scope(1, || {
        let fails = poll_fn(|_| -> Poll<()> {
            assert_eq!(ID.get(), 2);
            resume_unwind(Box::new("on purpose"))
        });
        let mut scope = Box::pin(ID.scope(2, fails));
        let polled = catch_unwind(AssertUnwindSafe(|| poll(scope.as_mut())));
        assert!(polled.is_err());
        assert_eq!(ID.get(), 1, "task-local.nested: after a poll");
        let called = catch_unwind(|| ID.sync_scope(3, || resume_unwind(Box::new("too"))));
        assert!(called.is_err());
        assert_eq!(ID.get(), 1, "task-local.nested: after a call");
    });
    assert_eq!(ID.try_get(), NONE);
}

/// Says in its destructor what the key says, and panics if it is told to.
struct Says(Rc<RefCell<Vec<Result<u64, OutsideScope>>>>, bool);

impl Drop for Says {
    fn drop(&mut self) {
        self.0.borrow_mut().push(ID.try_get());
        if self.1 {
            resume_unwind(Box::new("on purpose"));
        }
    }
}

// WITNESS: task-local.seen
#[test]
fn destructor_of_the_future_sees_the_value_however_it_ends() {
    let heard = Rc::default();
    let says = |panics| Says(Rc::clone(&heard), panics);
    let waits = |says| async move {
        let _says = says;
        pending::<()>().await;
    };
    // Ready; dropped after a poll; dropped unpolled.
    let ready = says(false);
    block_on(ID.scope(
        1,
        poll_fn(move |_| {
            let _kept = &ready;
            Poll::Ready(())
        }),
    ));
    let mut polled = Box::pin(ID.scope(2, waits(says(false))));
    assert!(poll(polled.as_mut()).is_pending());
    drop(polled);
    drop(ID.scope(3, waits(says(false))));
    assert_eq!(*heard.borrow(), [Ok(1), Ok(2), Ok(3)], "task-local.seen");
    // One that panics, in a poll and in a drop.
    let ready = says(true);
    let mut polled = Box::pin(ID.scope(
        4,
        poll_fn(move |_| {
            let _kept = &ready;
            Poll::Ready(())
        }),
    ));
    assert!(catch_unwind(AssertUnwindSafe(|| poll(polled.as_mut()))).is_err());
    drop(polled);
    let unpolled = ID.scope(5, waits(says(true)));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(unpolled))).is_err());
    assert_eq!(heard.borrow()[3..], [Ok(4), Ok(5)], "task-local.seen");
    assert_eq!(ID.try_get(), NONE, "task-local.nested");
}

task_local! {
    static SELF: Says;
}

// WITNESS: task-local.seen
#[test]
fn value_is_dropped_after_its_future_and_once() {
    let heard: Rc<RefCell<Vec<_>>> = Rc::default();
    ID.sync_scope(9, || {
        let scope = SELF.scope(Says(Rc::clone(&heard), false), async {
            SELF.with(|says| assert!(says.0.borrow().is_empty()));
        });
        let mut scope = Box::pin(scope);
        assert!(poll(scope.as_mut()).is_ready());
        assert!(heard.borrow().is_empty(), "task-local.alive: dropped early");
        drop(scope);
    });
    assert_eq!(*heard.borrow(), [Ok(9)]);
}

// WITNESS: task-local.alive, task-local.seen
#[test]
fn value_moves_between_threads_with_its_future() {
    let mut scope = Box::pin(TEXT.scope("moves".into(), async {
        let first = (TEXT.get(), thread::current().id());
        mainspring_core::task::yield_now().await;
        (first, (TEXT.get(), thread::current().id()))
    }));
    assert!(poll(scope.as_mut()).is_pending());
    let elsewhere = thread::spawn(move || poll(scope.as_mut()));
    let Poll::Ready((first, second)) = elsewhere.join().unwrap() else {
        panic!("pending twice");
    };
    assert_eq!((&*first.0, &*second.0), ("moves", "moves"));
    assert_ne!(first.1, second.1);
    assert!(TEXT.try_get().is_err());
}

// WITNESS: task-local.seen
#[test]
fn tasks_do_not_inherit_and_each_sees_its_own() {
    let executor = LocalExecutor::new();
    let seen = executor.block_on(ID.scope(1, async {
        let bare = spawn_local(async { ID.try_get() });
        let own = spawn_local(ID.scope(2, twice()));
        (bare.await.unwrap(), own.await.unwrap(), ID.get())
    }));
    assert_eq!(seen, (NONE, (2, 2), 1));
}

// WITNESS: task-local.seen
#[test]
fn aborted_task_drops_its_future_within_its_scope() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let executor = LocalExecutor::new();
    let told = Arc::clone(&heard);
    executor.block_on(async move {
        let task = spawn_local(ID.scope(8, async move {
            let _tells = Tells(told);
            pending::<()>().await;
        }));
        mainspring_core::task::yield_now().await;
        task.abort();
        assert!(task.await.is_err());
    });
    assert_eq!(*heard.lock().unwrap(), [Ok(8)], "task-local.seen");
}

struct Tells(Arc<Mutex<Vec<Result<u64, OutsideScope>>>>);

impl Drop for Tells {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(ID.try_get());
    }
}

#[test]
fn error_outside_names_the_key_its_code_and_the_way_out() {
    let error = TEXT.try_with(|_| ()).unwrap_err();
    assert_eq!((error.key, error.is_transient()), ("TEXT", false));
    let text = error.to_string();
    assert!(text.starts_with("MS0014: the task-local `TEXT`"), "{text}");
    let panicked = catch_unwind(|| ID.get()).unwrap_err();
    let message = panicked.downcast_ref::<String>().unwrap();
    assert!(
        message.starts_with("MS0014: the task-local `ID`"),
        "{message}"
    );
    assert!(catch_unwind(|| ID.with(|_| ())).is_err());
    assert_eq!(format!("{ID:?}"), "TaskLocal(\"ID\")");
}

#[test]
#[should_panic(expected = "MS0017: a task-local's scope was polled after its end")]
fn scope_polled_after_it_was_ready_panics() {
    let mut scope = pin!(ID.scope(1, async {}));
    assert!(poll(scope.as_mut()).is_ready());
    let _ = poll(scope.as_mut());
}

/// Compares its address with the one of its first poll.
struct Pinned(Cell<Option<usize>>, std::marker::PhantomPinned);

impl Future for Pinned {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let here = std::ptr::from_ref(&*self).addr();
        match self.0.replace(Some(here)) {
            None => Poll::Pending,
            Some(before) => {
                assert_eq!(before, here, "task-local.pinned");
                Poll::Ready(())
            }
        }
    }
}

// WITNESS: task-local.pinned
#[test]
fn future_stays_where_it_was_polled_first() {
    let future = Pinned(Cell::new(None), std::marker::PhantomPinned);
    let mut scope = Box::pin(ID.scope(1, future));
    assert!(poll(scope.as_mut()).is_pending());
    assert!(poll(scope.as_mut()).is_ready());
}

//! Who makes the value, and who runs when he does not.

use crate::OnceCell;
use crate::once_cell::{GetOrInit, OnceCellError};
use crate::parked::tests::hooks::{Touch, hooked};
use crate::parked::tests::threads::send_sync;
use crate::parked::tests::wakers::{poll, tasks};
use mainspring_core::completion;
use std::cell::Cell;
use std::future::{Future, Pending, Ready, pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;

fn get<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    poll(future, Waker::noop())
}

// WITNESS: once-cell.right, once-cell.pinned
#[test]
fn one_initialiser_runs_and_everybody_gets_its_value() {
    let cell = OnceCell::new();
    let [a, b] = tasks();
    let (completer, completion) = completion();
    let mut first = pin!(cell.get_or_init(|| async { completion.await.unwrap() }));
    let mut second = pin!(cell.get_or_init(|| async { unreachable!("the first makes it") }));
    assert!(poll(first.as_mut(), &a.1).is_pending());
    assert!(poll(second.as_mut(), &b.1).is_pending());
    assert_eq!(cell.get(), None);
    let refused = cell.set(8).unwrap_err();
    assert!(refused.is_transient() && refused.into_inner() == 8);
    completer.complete(7).unwrap();
    assert_eq!(a.0.calls(), 1);
    assert_eq!(poll(first.as_mut(), &a.1), Poll::Ready(&7));
    assert_eq!(b.0.calls(), 1);
    assert_eq!(poll(second.as_mut(), &b.1), Poll::Ready(&7));
    assert_eq!(get(pin!(cell.get_or_init(|| ready(9)))), Poll::Ready(&7));
    assert!(cell.set(8).unwrap_err().is_set());
}

// WITNESS: once-cell.right
#[test]
fn next_runs_its_own_when_the_initialiser_is_dropped_fails_or_panics() {
    for how in ["dropped", "failed", "panicked", "panicked at the start"] {
        let cell = OnceCell::new();
        let [a, b] = tasks();
        let (completer, completion) = completion::<()>();
        let mut first = Box::pin(cell.get_or_try_init(|| async {
            completion.await.unwrap();
            assert_ne!(how, "panicked");
            Err(how)
        }));
        if how == "panicked at the start" {
            let starts = || -> Ready<Result<u32, ()>> { panic!("on purpose") };
            let mut broken = Box::pin(cell.get_or_try_init(starts));
            assert!(catch_unwind(AssertUnwindSafe(|| get(broken.as_mut()))).is_err());
            assert_eq!(get(pin!(cell.get_or_init(|| ready(7)))), Poll::Ready(&7));
            continue;
        }
        assert!(poll(first.as_mut(), &a.1).is_pending());
        let mut second = pin!(cell.get_or_init(|| ready(2)));
        let mut third = pin!(cell.get_or_init(|| ready(3)));
        assert!(poll(second.as_mut(), &b.1).is_pending());
        assert!(get(third.as_mut()).is_pending());
        match how {
            "dropped" => drop(first),
            "failed" => {
                completer.complete(()).unwrap();
                assert_eq!(poll(first.as_mut(), &a.1), Poll::Ready(Err(how)));
            }
            _ => {
                completer.complete(()).unwrap();
                let polled = catch_unwind(AssertUnwindSafe(|| poll(first.as_mut(), &a.1)));
                assert!(polled.is_err(), "and the future lives on");
            }
        }
        assert_eq!(b.0.calls(), 1, "{how}");
        assert!(cell.set(8).unwrap_err().is_transient(), "offered");
        assert_eq!(get(third.as_mut()), Poll::Pending, "the second was first");
        assert_eq!(poll(second.as_mut(), &b.1), Poll::Ready(&2));
        assert_eq!(get(third.as_mut()), Poll::Ready(&2));
    }
}

// S1
// WITNESS: once-cell.right
#[test]
fn right_that_was_offered_is_handed_on_or_laid_down() {
    let cell = OnceCell::new();
    let [a, b] = tasks();
    let mut first = Box::pin(cell.get_or_init(pending::<u32>));
    let mut second = Box::pin(cell.get_or_init(|| ready(2)));
    let mut third = Box::pin(cell.get_or_init(|| ready(3)));
    assert!(get(first.as_mut()).is_pending());
    assert!(poll(second.as_mut(), &a.1).is_pending());
    assert!(poll(third.as_mut(), &b.1).is_pending());
    drop(first);
    assert_eq!((a.0.calls(), b.0.calls()), (1, 0));
    drop(second);
    assert_eq!(b.0.calls(), 1);
    drop(third);
    assert_eq!(cell.set(8), Ok(()), "nobody makes it any more");
    assert_eq!(cell.get(), Some(&8));
}

#[test]
fn threads_make_one_value() {
    static CELL: OnceCell<usize> = OnceCell::new();
    let makers =
        [0, 1, 2, 3].map(|number| thread::spawn(move || *CELL.get_or_init_blocking(|| number)));
    let values = makers.map(|maker| maker.join().unwrap());
    assert!(values.iter().all(|value| *value == values[0]));
    let cell = OnceCell::new();
    assert_eq!(cell.get_or_try_init_blocking(|| Err("no")), Err("no"));
    assert_eq!(cell.get_or_try_init_blocking(|| Ok::<_, ()>(7)), Ok(&7));
}

// S5, B124, S11
#[test]
fn waker_that_comes_back_finds_the_cell_usable() {
    for when in [Touch::Clone, Touch::Wake, Touch::Drop] {
        let cell = Arc::new(OnceCell::new());
        let waker = {
            let cell = Arc::clone(&cell);
            hooked(move |touch| {
                if touch == when {
                    let _ = cell.set(0);
                    let _ = get(pin!(cell.get_or_init(pending)));
                }
            })
        };
        let mut making = Box::pin(cell.get_or_init(pending));
        let _ = get(making.as_mut());
        let mut waits = Box::pin(cell.get_or_init(|| ready(7)));
        let _ = poll(waits.as_mut(), &waker);
        let _ = poll(waits.as_mut(), Waker::noop());
        let _ = poll(waits.as_mut(), &waker);
        drop(making);
        let found = poll(waits.as_mut(), &waker);
        assert!(found.is_ready(), "{when:?}");
    }
}

// S18, B142, B143
#[test]
fn threads_and_forms_are_as_promised() {
    assert_eq!(send_sync!(OnceCell<u32>), (true, true));
    assert_eq!(send_sync!(OnceCell<Cell<u32>>), (true, false));
    assert_eq!(send_sync!(OnceCell<Rc<u32>>), (false, false));
    type Making<T, Fut> = GetOrInit<'static, T, fn() -> Fut, Fut>;
    assert_eq!(send_sync!(Making<u32, Pending<u32>>), (true, true));
    assert_eq!(
        send_sync!(Making<Cell<u32>, Ready<Cell<u32>>>),
        (false, false)
    );
    assert_eq!(
        format!("{:?}", OnceCell::<u32>::default()),
        "OnceCell { value: None, .. }"
    );
    let cell = OnceCell::new();
    assert!(format!("{:?}", cell.get_or_init(|| ready(1))).contains("is_making: false"));
    let refused = OnceCellError::Set(Rc::new(7));
    assert_eq!(
        format!("{refused:?} {refused}"),
        "Set(..) the value has been set before"
    );
}

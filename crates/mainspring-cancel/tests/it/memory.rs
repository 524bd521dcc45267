//! What comes and goes leaves nothing behind in what stays.

use mainspring_cancel::{CancelToken, Reason};
use mainspring_core::time::Deadline;
use mainspring_testkit::Heap;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

fn heap() -> Heap {
    Heap::now().expect("the allocator that counts is installed")
}

const MANY: usize = 1_000_000;

/// Many at once, first: what they needed may stay, up to this.
const SLACK: isize = 4_096;

// C7, B206
#[test]
fn a_million_children_come_and_go_and_memory_is_flat() {
    let root = CancelToken::new();
    drop(root.child());
    let before = heap();
    for _ in 0..MANY {
        drop(root.child());
    }
    assert_eq!(heap().since(before).blocks, 0);
    assert_eq!(heap().since(before).bytes, 0);
    // A token that is replaced by its child grows no chain.
    let mut token = root.child();
    let before = heap();
    for _ in 0..MANY / 10 {
        token = token.child();
    }
    assert_eq!(heap().since(before).blocks, 0);
    drop(token);
    root.cancel(Reason::requested());
}

// C7, B206
#[test]
fn room_of_many_children_at_once_is_given_back() {
    let root = CancelToken::new();
    let mut first = root.child();
    let before = heap();
    let children: Vec<_> = (0..100_000).map(|_| root.child()).collect();
    first = first.child();
    drop(children);
    assert!(
        heap().since(before).bytes < SLACK,
        "{:?}",
        heap().since(before)
    );
    drop(first);
}

// C7, B206
#[test]
fn callbacks_holds_waits_and_deadlines_leave_nothing_in_a_token_that_stays() {
    let root = CancelToken::new();
    let far = Deadline::after(Duration::from_secs(86_400));
    let mut cx = Context::from_waker(Waker::noop());
    let mut use_all = || {
        drop(root.on_cancel(|_| ()));
        drop(root.hold());
        drop(root.clone().drop_guard().disarm());
        let token = root.with_deadline(far);
        assert!(pin!(root.cancelled()).as_mut().poll(&mut cx).is_pending());
        assert!(pin!(token.drained()).as_mut().poll(&mut cx).is_pending());
    };
    // The timers of the process start at the first use.
    use_all();
    let before = heap();
    for _ in 0..10_000 {
        use_all();
    }
    let after = heap().since(before);
    assert!(after.bytes < SLACK && after.blocks < 16, "{after:?}");
    root.cancel(Reason::requested());
}

// C7
#[test]
fn cancelled_tree_frees_all_that_it_was_made_of() {
    let before = heap();
    let root = CancelToken::new();
    let children: Vec<_> = (0..1_000).map(|_| root.child()).collect();
    let registrations: Vec<_> = children
        .iter()
        .map(|child| child.on_cancel(|_| ()))
        .collect();
    let holds: Vec<_> = children.iter().map(|child| child.child().hold()).collect();
    root.cancel(Reason::custom(String::from("enough")));
    drop((children, registrations));
    drop(root);
    drop(holds);
    assert_eq!(heap().since(before), Heap::default());
}

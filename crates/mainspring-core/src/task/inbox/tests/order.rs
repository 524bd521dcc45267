use crate::sync::Arc;
use crate::task::tests::support::{Drops, Queue, scheduler};
use crate::task::{self, Inbox, Pushed, Runnable, TaskId};

fn runnable(queue: &Arc<Queue>, drops: &Drops) -> Runnable {
    let guard = drops.guard();
    let (runnable, join) = task::create(async move { drop(guard) }, scheduler(queue));
    join.detach();
    runnable
}

// WITNESS: inbox.once-told, inbox.owned
#[test]
fn runnables_leave_in_the_order_they_came_and_the_first_push_tells() {
    let (queue, drops) = (Queue::new(), Drops::new());
    let inbox = Inbox::new();
    for round in 0..3 {
        assert!(inbox.is_empty());
        let mut ids: Vec<TaskId> = Vec::new();
        for i in 0..5 {
            let runnable = runnable(&queue, &drops);
            ids.push(runnable.id());
            let pushed = inbox.push(runnable);
            let expected_first = i == 0;
            assert_eq!(
                matches!(pushed, Pushed::First),
                expected_first,
                "inbox.once-told"
            );
        }
        let taken = inbox.take_all();
        assert_eq!(taken.len(), 5);
        let left: Vec<_> = taken.map(|runnable| runnable.id()).collect();
        assert_eq!(left, ids);
        assert_eq!(drops.count(), 5 * (round + 1), "dropped runnables cancel");
    }
    assert!(inbox.take_all().is_empty());
}

// WITNESS: inbox.closed, inbox.owned
#[test]
fn closed_inbox_gives_back_what_comes_and_what_was_there() {
    let (queue, drops) = (Queue::new(), Drops::new());
    let inbox = Inbox::new();
    assert!(matches!(
        inbox.push(runnable(&queue, &drops)),
        Pushed::First
    ));
    assert_eq!(inbox.close().len(), 1);
    assert_eq!(drops.count(), 1);
    let late = runnable(&queue, &drops);
    let id = late.id();
    let Pushed::Closed(back) = inbox.push(late) else {
        panic!("inbox.closed: a push succeeded");
    };
    assert_eq!(back.id(), id);
    assert!(inbox.is_empty() && inbox.take_all().is_empty() && inbox.close().is_empty());
}

// WITNESS: inbox.owned
#[test]
fn dropped_inbox_cancels_what_is_inside() {
    let (queue, drops) = (Queue::new(), Drops::new());
    let inbox = Inbox::new();
    for _ in 0..3 {
        let _ = inbox.push(runnable(&queue, &drops));
    }
    drop(inbox);
    assert_eq!(drops.count(), 3);
}

//! A hand-made event is run through the suite: what is wrong with it is told by name.

use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Shape, Subject, Suite, Waited};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// Keeps one notification, and the waker of whoever came last.
#[derive(Default)]
struct Event(Mutex<(bool, Option<Waker>)>);

impl Subject for Event {
    fn shape() -> Shape {
        Shape::remembering()
    }

    fn new() -> Self {
        Self::default()
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let this = Arc::clone(self);
        Box::pin(poll_fn(move |cx| {
            let mut state = this.0.lock().expect("nothing panics under the lock");
            if std::mem::take(&mut state.0) {
                return Poll::Ready(Waited::Granted);
            }
            // Wrong: whoever waited here before is forgotten.
            state.1 = Some(cx.waker().clone());
            Poll::Pending
        }))
    }

    fn grant(&self) {
        let mut state = self.0.lock().expect("nothing panics under the lock");
        state.0 = true;
        let waker = state.1.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

fn main() {
    // It clones a waker under its lock, and waiting for that case to hang takes a minute.
    let suite = Suite::of_subject::<Event>().except(&["clone_calls_back", "drop_calls_back"]);
    let report = suite.run();
    println!("{report}");
    assert!(report.misses().contains(&"dropped_waiting"));
}

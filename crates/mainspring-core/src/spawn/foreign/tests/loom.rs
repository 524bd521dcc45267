use super::super::{Bridge, carry};
use crate::completion;
use crate::park::Parker;
use crate::task;
use loom::thread;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

// WITNESS: bridge.carried
#[test]
fn wake_racing_the_carriers_poll_is_not_lost() {
    loom::model(|| {
        let (completer, value) = completion::<u8>();
        let bridge = Bridge::new();
        let (runnable, join) = task::create(value, Bridge::scheduler(&bridge));
        let mut carrier = pin!(carry(bridge, runnable));
        let parker = Parker::new();
        let waker = Waker::from(std::sync::Arc::new(parker.unparker()));
        let giving = thread::spawn(move || completer.complete(7).is_ok());
        while carrier
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_pending()
        {
            parker.park();
        }
        assert!(giving.join().unwrap());
        assert!(join.is_finished());
    });
}

// WITNESS: bridge.closed
#[test]
fn wake_racing_the_carriers_end_leaves_no_task_behind() {
    loom::model(|| {
        let (completer, value) = completion::<u8>();
        let bridge = Bridge::new();
        let (runnable, join) = task::create(value, Bridge::scheduler(&bridge));
        let mut carrier = Box::pin(carry(bridge, runnable));
        assert!(
            carrier
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
        let giving = thread::spawn(move || completer.complete(7).is_ok());
        drop(carrier);
        // Taken or not: the task may have been cancelled first.
        let _taken = giving.join().unwrap();
        assert!(join.is_finished(), "bridge.closed");
    });
}

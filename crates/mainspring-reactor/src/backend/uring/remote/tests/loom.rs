use crate::backend::notify::{Notify, OnNotify, OnSleep};
use crate::backend::uring::remote::Remote;
use loom::sync::Arc;
use loom::thread;

/// A ring's inbox and the word by which its owner is called.
struct Shared {
    remote: Remote<u32>,
    notify: Notify,
}

fn shared() -> Arc<Shared> {
    Arc::new(Shared {
        remote: Remote::new(),
        notify: Notify::new(),
    })
}

// WITNESS: remote.seen
#[test]
fn owner_that_does_not_sleep_through_a_call_finds_what_was_handed_in() {
    loom::model(|| {
        let shared = shared();
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.remote.hand_in(7).unwrap();
                shared.notify.notify()
            })
        };
        let mut taken = shared.remote.take();
        let slept = shared.notify.fall_asleep();
        if slept == OnSleep::Wait {
            // It is called back by a system call, or has not been called yet.
            let kick = other.join().unwrap();
            assert_eq!(kick, OnNotify::Kick);
            shared.notify.wake_up();
            taken.extend(shared.remote.take());
        } else {
            // The token was there: the next turn finds it.
            taken.extend(shared.remote.take());
            let _ = other.join().unwrap();
        }
        assert_eq!(taken, [7]);
    });
}

// WITNESS: remote.kept, remote.closed
#[test]
fn hand_in_racing_close_is_taken_or_refused() {
    loom::model(|| {
        let shared = shared();
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.remote.hand_in(7).is_ok())
        };
        let mut taken = shared.remote.take();
        taken.extend(shared.remote.close());
        let was_taken_in = other.join().unwrap();
        assert_eq!(taken.len(), usize::from(was_taken_in));
        assert!(shared.remote.take().is_empty());
    });
}

//! Numbers, and who has them.

use super::{Crew, Manner};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

fn crew() -> Crew {
    let manner = Manner {
        grace: None,
        patience: None,
        on_left: None,
    };
    Crew::new(channel(), manner)
}

// WITNESS: crew.goodbye
#[test]
fn number_is_taken_until_its_thread_has_said_goodbye_and_then_free() {
    let crew = crew();
    let (end, ended) = channel::<()>();
    let waits = move || assert!(ended.recv().is_err());
    assert!(crew.start(7, "first".into(), waits).unwrap());
    let (ran, runs) = channel();
    let second = || {
        let ran = ran.clone();
        crew.start(7, "second".into(), move || ran.send(()).unwrap())
    };
    assert!(!second().unwrap(), "two threads of one number");
    assert!(runs.try_recv().is_err());
    drop(end);
    // Until it is free: the goodbye is the last that the first one says.
    while !second().unwrap() {
        thread::yield_now();
    }
    runs.recv().unwrap();
    let (gone, left) = crew.dismiss(0, Instant::now() + Duration::from_secs(60));
    gone.join();
    assert_eq!(left, []);
}

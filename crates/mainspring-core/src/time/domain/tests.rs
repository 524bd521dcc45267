use super::Domain;
use crate::time::{Nanos, anchor, now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

// WITNESS: domain.forward
#[test]
fn clock_stands_moves_forward_and_runs_on() {
    let domain = Domain::new();
    let _entered = domain.enter();
    let before = now();
    domain.pause();
    let start = now();
    assert!(start >= before && domain.is_paused() && domain.is_virtual());
    assert_eq!((now(), anchor(), domain.now()), (start, start, start));
    let later = start.saturating_add(HOUR);
    assert_eq!(domain.move_to(later), later);
    assert_eq!(domain.move_to(start), later, "it never goes back");
    domain.pause();
    assert_eq!(now(), later);
    domain.resume();
    assert!(now() >= later && now().since(later) < HOUR && !domain.is_paused());
    let ran = now();
    assert!(
        domain.move_to(Nanos::MAX) >= ran,
        "one that runs is left alone"
    );
    assert!(now().since(ran) < HOUR);
    domain.pause();
    assert!(now() >= ran);
}

#[test]
fn clock_is_the_real_one_outside_and_in_another_domain() {
    let (domain, other) = (Domain::new(), Domain::new());
    domain.pause();
    domain.move_to(domain.now().saturating_add(2 * HOUR));
    let real = now();
    assert!(domain.now().since(real) > HOUR);
    let entered = domain.enter();
    assert_eq!(
        (now(), Domain::current().as_ref()),
        (domain.now(), Some(&domain))
    );
    let inner = other.enter();
    assert!(now().since(real) < HOUR && !other.is_virtual());
    drop(inner);
    assert_eq!(now(), domain.now());
    drop(entered);
    assert!(now().since(real) < HOUR && Domain::current().is_none());
}

// WITNESS: domain.at-once
#[test]
fn pause_holds_on_every_thread_that_comes_after_it() {
    let domain = Domain::new();
    let (ask, asked) = std::sync::mpsc::channel::<()>();
    let (tell, told) = std::sync::mpsc::channel();
    let other = {
        let domain = domain.clone();
        std::thread::spawn(move || {
            // Entered long before, and in the midst of something.
            let _entered = domain.enter();
            let _real = now();
            while asked.recv().is_ok() {
                tell.send(now()).expect("somebody listens");
            }
        })
    };
    let ask_it = || {
        ask.send(()).expect("it listens");
        told.recv().expect("it answers")
    };
    let before = ask_it();
    domain.pause();
    let stands = domain.now();
    assert!(before <= stands && ask_it() == stands && ask_it() == stands);
    domain.move_to(stands.saturating_add(HOUR));
    assert_eq!(ask_it().since(stands), HOUR);
    drop(ask);
    other.join().expect("no panic");
}

struct Counts(Arc<AtomicUsize>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn what_is_kept_is_one_of_a_type_and_what_came_along_goes_with_the_thread() {
    let domain = Domain::new();
    let one = domain.kept(|| 7_u8);
    assert!(Arc::ptr_eq(&one, &domain.kept(|| 8_u8)));
    assert_eq!((*domain.kept(|| 9_u16), *one), (9, 7));
    let drops = Arc::<AtomicUsize>::default();
    let entered = domain.enter_with(Counts(Arc::clone(&drops)));
    assert_eq!(drops.load(SeqCst), 0);
    drop(entered);
    assert_eq!(drops.load(SeqCst), 1);
    assert!(format!("{domain:?}").contains("is_paused: false"));
}

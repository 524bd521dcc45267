//! Models of the semaphore: the shipped code, whose permits guard a cell that is watched.

use crate::semaphore::Semaphore;
use crate::semaphore::tests::support::{Watched, poll_alone};
use loom::future::block_on;
use mainspring_core::sync::{Arc, thread};

struct Scene {
    semaphore: Semaphore,
    cell: Watched,
}

fn scene(permits: usize) -> Arc<Scene> {
    Arc::new(Scene {
        semaphore: Semaphore::new(permits),
        cell: Watched::new(),
    })
}

/// Runs `model` with either of two on the thread that loom starts with.
fn explore<A: 'static, B: 'static>(
    permits: usize,
    first: impl Fn(&Scene) -> A + Copy + Send + Sync + 'static,
    second: impl Fn(&Scene) -> B + Copy + Send + Sync + 'static,
    after: impl Fn(&Scene, A, B) + Copy + Send + Sync + 'static,
) {
    loom::model(move || {
        let scene = scene(permits);
        let other = spawn(&scene, second);
        let a = first(&scene);
        after(&scene, a, other.join().unwrap());
    });
    loom::model(move || {
        let scene = scene(permits);
        let other = spawn(&scene, first);
        let b = second(&scene);
        after(&scene, other.join().unwrap(), b);
    });
}

fn spawn<R: 'static>(
    scene: &Arc<Scene>,
    run: impl Fn(&Scene) -> R + 'static,
) -> thread::JoinHandle<R> {
    let scene = Arc::clone(scene);
    thread::spawn(move || run(&scene))
}

/// One whose permits another thread can own.
fn owned(permits: usize) -> std::sync::Arc<Semaphore> {
    std::sync::Arc::new(Semaphore::new(permits))
}

/// Takes, touches, gives back.
fn visit(scene: &Scene, permits: usize) {
    let permit = block_on(scene.semaphore.acquire(permits)).unwrap();
    scene.cell.touch();
    drop(permit);
}

// S3
// WITNESS: semaphore.permit, semaphore.slow, semaphore.conserved
#[test]
fn one_permit_is_handed_over_whoever_is_first() {
    explore(
        1,
        |scene| visit(scene, 1),
        |scene| visit(scene, 1),
        |scene, (), ()| {
            assert_eq!(scene.cell.look(), 2);
            assert_eq!(scene.semaphore.available(), 1);
        },
    );
}

// WITNESS: semaphore.permit, semaphore.slow
#[test]
fn large_request_sees_what_every_holder_did() {
    explore(
        2,
        |scene| visit(scene, 2),
        |scene| {
            let permit = block_on(scene.semaphore.acquire(1)).unwrap();
            scene.cell.touch();
            drop(permit);
        },
        |scene, (), ()| assert_eq!(scene.semaphore.available(), 2),
    );
}

/// Two waiters, of which the first is dropped while the permit is given back.
fn give_up(spawns_drop: bool) {
    let shared = owned(1);
    let held = shared.try_acquire_owned(1).unwrap();
    let mut given_up = Box::pin(shared.acquire_owned(1));
    assert!(poll_alone(given_up.as_mut()).is_pending());
    let mut waits = Box::pin(shared.acquire_owned(1));
    assert!(poll_alone(waits.as_mut()).is_pending());
    if spawns_drop {
        let other = thread::spawn(move || drop(given_up));
        drop(held);
        other.join().unwrap();
    } else {
        let other = thread::spawn(move || drop(held));
        drop(given_up);
        other.join().unwrap();
    }
    let permit = poll_alone(waits.as_mut());
    assert!(permit.is_ready(), "the permit went with the waiter");
    drop(permit);
    assert_eq!(shared.available(), 1);
    assert!(shared.diagnose().offers.is_empty());
}

// S1
// WITNESS: semaphore.conserved, semaphore.slow, semaphore.pinned
#[test]
fn release_racing_the_drop_of_a_waiter_reaches_the_other() {
    for spawns_drop in [false, true] {
        loom::model(move || give_up(spawns_drop));
    }
}

// WITNESS: semaphore.conserved, semaphore.slow
#[test]
fn request_that_is_dropped_while_it_is_served_takes_nothing_along() {
    explore(
        1,
        |scene| visit(scene, 1),
        |scene| {
            let mut given_up = Box::pin(scene.semaphore.acquire(1));
            let permit = poll_alone(given_up.as_mut());
            if permit.is_ready() {
                scene.cell.touch();
            }
            drop(permit);
        },
        |scene, (), ()| {
            assert_eq!(scene.semaphore.available(), 1);
            assert!(scene.semaphore.try_acquire(1).is_ok());
        },
    );
}

// S9 of permits: whoever gets one may use it, whoever does not is told the end.
// WITNESS: semaphore.closed, semaphore.sticky
#[test]
fn who_finds_it_closed_sees_what_was_done_before() {
    explore(
        1,
        |scene| {
            scene.cell.touch();
            scene.semaphore.close();
        },
        |scene| {
            if scene.semaphore.try_acquire(1).is_err() {
                assert_eq!(scene.cell.look(), 1);
            }
        },
        |scene, (), ()| assert!(scene.semaphore.is_closed()),
    );
    explore(
        1,
        |scene| {
            scene.cell.touch();
            scene.semaphore.close();
        },
        |scene| {
            if scene.semaphore.is_closed() {
                assert_eq!(scene.cell.look(), 1);
            }
        },
        |scene, (), ()| assert!(scene.semaphore.is_closed()),
    );
}

// WITNESS: semaphore.sticky, semaphore.conserved
#[test]
fn close_racing_acquire_and_release_ends_the_wait_and_loses_nothing() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let shared = owned(1);
        let held = shared.try_acquire_owned(1).unwrap();
        let waits = {
            let shared = std::sync::Arc::clone(&shared);
            thread::spawn(move || block_on(shared.acquire(1)).is_ok())
        };
        let gives = thread::spawn(move || drop(held));
        shared.close();
        let _ = waits.join().unwrap();
        gives.join().unwrap();
        assert_eq!(shared.available(), 1);
        assert!(shared.is_closed());
        assert!(shared.try_acquire(1).unwrap_err().is_closed());
    });
}

// WITNESS: semaphore.permit, semaphore.conserved
#[test]
fn two_requests_and_one_permit_that_comes_back() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let scene = scene(1);
        let held = scene.semaphore.try_acquire(1).unwrap();
        scene.cell.touch();
        let others = [(); 2].map(|()| spawn(&scene, |scene| visit(scene, 1)));
        drop(held);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(scene.cell.look(), 3);
        assert_eq!(scene.semaphore.available(), 1);
    });
}

// The other way round: the permit comes back on a spawned thread.
// WITNESS: semaphore.slow, semaphore.conserved
#[test]
fn two_requests_and_one_permit_that_another_thread_gives_back() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let shared = owned(1);
        let held = shared.try_acquire_owned(1).unwrap();
        let other = {
            let shared = std::sync::Arc::clone(&shared);
            thread::spawn(move || drop(block_on(shared.acquire(1)).unwrap()))
        };
        let gives = thread::spawn(move || drop(held));
        drop(block_on(shared.acquire(1)).unwrap());
        gives.join().unwrap();
        other.join().unwrap();
        assert_eq!(shared.available(), 1);
    });
}

// WITNESS: semaphore.permit, semaphore.conserved
#[test]
fn two_requests_and_one_permit_given_back_by_another() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let scene = scene(1);
        let others = [(); 2].map(|()| spawn(&scene, |scene| visit(scene, 1)));
        visit(&scene, 1);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(scene.cell.look(), 3);
        assert_eq!(scene.semaphore.available(), 1);
    });
}

// WITNESS: semaphore.slow, semaphore.books
#[test]
fn debt_is_paid_by_whoever_gives_back() {
    explore(
        2,
        |scene| drop(block_on(scene.semaphore.acquire(2)).unwrap()),
        |scene| {
            scene.semaphore.resize(1).unwrap();
            scene.semaphore.add(1).unwrap();
        },
        |scene, (), ()| {
            assert_eq!(scene.semaphore.available(), 2);
            assert_eq!(scene.semaphore.capacity(), 2);
        },
    );
}

//! What a burst of waiters leaves behind.

use super::drops::lets_one_go;
use super::trail::ensure;
use super::world::World;
use super::{Check, Miss, Subject, Trail};
use crate::alloc::Heap;

/// After a burst of waiters, some served and some dropped, the memory is given back; after another
/// one there is no more of it than after the first, and with the primitive it is gone.
pub(super) fn burst_gives_memory_back<S: Subject>(trail: &Trail) -> Check {
    /// What may be kept for the next burst. `WAITERS` pointers could not hide in it.
    const KEPT_BYTES: isize = 16 * 1024;
    /// What may differ between two readings of the same state.
    const SLACK_BYTES: isize = 1024;
    let Some(start) = Heap::now() else {
        return Miss::skip("`CountingAlloc` is not this program's allocator");
    };
    let world = World::<S>::new();
    trail.at("a few waiters come and go");
    burst(&world, 4)?;
    let before = Heap::now().unwrap_or_default();
    let mut kept = Vec::with_capacity(2);
    for round in 1..=2 {
        trail.at(format_args!("burst {round} of waiters comes and goes"));
        burst(&world, WAITERS)?;
        kept.push(Heap::now().unwrap_or_default().since(before).bytes);
    }
    let (first, second) = (kept[0], kept[1]);
    drop(kept);
    ensure!(
        first < KEPT_BYTES,
        "{first} bytes are kept after {WAITERS} waiters"
    );
    let more = second - first;
    ensure!(
        more < SLACK_BYTES,
        "{more} bytes more are kept after a second burst"
    );
    trail.at("the primitive is dropped");
    drop(world);
    let left = Heap::now().unwrap_or_default().since(start).bytes;
    ensure!(left < KEPT_BYTES, "{left} bytes are left when it is gone");
    Ok(())
}

const WAITERS: usize = 4096;

fn burst<S: Subject>(world: &World<S>, count: usize) -> Check {
    let mut waiters = Vec::with_capacity(count);
    for _ in 0..count {
        let mut waiter = world.waiter();
        world.must_wait(&mut waiter, "with nothing granted")?;
        waiters.push(waiter);
    }
    if lets_one_go::<S>() {
        for _ in 0..count / 2 {
            world.grant();
            let woken = waiters.iter().position(crate::hand::Hand::is_woken);
            let Some(woken) = woken else {
                return Err(Miss::Fails("a grant woke nobody".to_owned()));
            };
            world.must_be_granted(&mut waiters.swap_remove(woken), "though it was woken")?;
        }
    } else if !S::shape().latches {
        world.subject.grant_all();
        waiters.retain_mut(|waiter| waiter.poll().is_pending());
        ensure!(waiters.is_empty(), "released and not let go");
    }
    drop(waiters);
    Ok(())
}

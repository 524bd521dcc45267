use super::is_in_turn;
use crate::pool::worker::tests::script::workers;
use std::sync::{Arc, Mutex};

// WITNESS: pulse.odd, pulse.one-writer
#[test]
fn pulse_beats_with_each_poll_and_rests_between_turns() {
    let (rig, mut workers) = workers(2);
    let pulses = [0, 1].map(|worker| Arc::clone(&rig.shared.remotes[worker].pulse));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let ids = workers[0].here(|_| {
        [0, 1].map(|_| {
            let (pulse, seen) = (Arc::clone(&pulses[0]), Arc::clone(&seen));
            let task = rig.spawn(async move {
                let inside = (pulse.beats(), pulse.task());
                seen.lock().unwrap().push(inside);
            });
            task.id().as_u64()
        })
    });
    let before = pulses[0].beats();
    workers[0].run();
    let inside = std::mem::take(&mut *seen.lock().unwrap());
    let (beats, tasks): (Vec<u64>, Vec<u64>) = inside.into_iter().unzip();
    assert_eq!(tasks, ids);
    assert!(beats.iter().all(|beats| is_in_turn(*beats)), "pulse.odd");
    let after = pulses[0].beats();
    assert!(!is_in_turn(before) && !is_in_turn(after), "pulse.odd");
    assert!(before < beats[0] && beats[0] < beats[1] && beats[1] < after);
    assert_eq!(pulses[1].beats(), 0, "pulse.one-writer");
}

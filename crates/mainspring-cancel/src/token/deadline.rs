//! A token that is cancelled when its time is up.
//!
//! The timer's entry belongs to the node, and its waker publishes the phase and wakes, wherever it
//! is called; callbacks, which may be long, go to a task.
//!
//! # Invariants
//!
//! - **deadline.watched** — from its making until it is cancelled or gone a token with a deadline
//!   is registered with timers, or being registered; where none can be had it is cancelled at once.
//! - **deadline.one-look** — one thread looks at the sleep at a time, and looks again if it was
//!   woken meanwhile; the sleep is polled and dropped without the lock.

use super::node::Node;
use super::wave::Wave;
use super::{CancelToken, Phase};
use crate::reason::{Reason, What};
use mainspring_core::payload::{contain, discard};
use mainspring_core::spawn::{self, Spawner};
use mainspring_core::sync::{Arc, Mutex};
use mainspring_core::time::Sleep;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Wake, Waker};

/// How often in a row a sleep may ask to be polled again: once when it fires while it is looked at,
/// or when its timers shut down; always, when no timers can be had.
const LOOKS: u32 = 8;

/// What cancels a node when its time is up.
struct Timer {
    watch: Mutex<Watch>,
    node: Arc<Node>,
    at: &'static Location<'static>,
    /// Where the callbacks are called.
    spawner: Option<Spawner>,
}

enum Watch {
    /// Registered, and looked at by nobody.
    Armed(Pin<Box<Sleep>>),
    /// Somebody looks at it; `true` if it was woken since.
    Looking(bool),
    /// It has fired, or is not needed.
    Over,
}

/// A node's hold on its timer, which ends with it.
pub(super) struct Armed {
    // DOOR: a waker's receiver type, which only this one can be.
    timer: std::sync::Arc<Timer>,
}

impl Drop for Armed {
    fn drop(&mut self) {
        let watch = std::mem::replace(&mut *self.timer.watch.lock(), Watch::Over);
        // CLAIM: [deadline.one-look] without the lock, which the sleep's waker takes.
        drop(watch);
    }
}

/// Arms the timer of a node that was just made.
pub(super) fn arm(token: &CancelToken, at: &'static Location<'static>) {
    let node = &token.node;
    if node.deadline.is_never() {
        return;
    }
    let timer = std::sync::Arc::new(Timer {
        watch: Mutex::new(Watch::Armed(Box::pin(Sleep::until(node.deadline.nanos())))),
        node: Arc::clone(node),
        at,
        spawner: spawn::current(),
    });
    let armed = Armed {
        timer: std::sync::Arc::clone(&timer),
    };
    let mut state = node.lock();
    if !node.has_reached(Phase::Cancelling) {
        state.timer = Some(armed);
        drop(state);
        // CLAIM: [deadline.watched]
        look(&timer);
    }
}

fn look(timer: &std::sync::Arc<Timer>) {
    let waker = Waker::from(std::sync::Arc::clone(timer));
    for _ in 0..LOOKS {
        let Some(mut sleep) = timer.begin_look() else {
            return;
        };
        let mut cx = Context::from_waker(&waker);
        let is_due = sleep.as_mut().poll_elapsed(&mut cx).is_ready();
        if timer.end_look(sleep, is_due) {
            if is_due {
                timer.fire(Reason::at(What::Timeout, timer.at));
            }
            return;
        }
    }
    let reason = Reason::at(What::Overload, timer.at);
    timer.fire(reason.because("no timer for its deadline could be started"));
}

impl Timer {
    /// The sleep, if there is one that nobody else looks at.
    fn begin_look(&self) -> Option<Pin<Box<Sleep>>> {
        let mut watch = self.watch.lock();
        match std::mem::replace(&mut *watch, Watch::Looking(false)) {
            Watch::Armed(sleep) => Some(sleep),
            Watch::Looking(_) => {
                *watch = Watch::Looking(true);
                None
            }
            Watch::Over => {
                *watch = Watch::Over;
                None
            }
        }
    }

    /// Puts the sleep back, unless it is over. Whether no other look is needed.
    fn end_look(&self, sleep: Pin<Box<Sleep>>, is_due: bool) -> bool {
        let mut watch = self.watch.lock();
        let was_woken = matches!(*watch, Watch::Looking(true));
        let is_over = matches!(*watch, Watch::Over);
        if is_over || is_due {
            *watch = Watch::Over;
            drop(watch);
            // CLAIM: [deadline.one-look]
            drop(sleep);
            return true;
        }
        *watch = Watch::Armed(sleep);
        !was_woken
    }

    fn fire(&self, reason: Reason) {
        let wave = Wave::start(&self.node, reason);
        match &self.spawner {
            Some(spawner) if wave.has_callbacks() => {
                // One that refuses drops the wave, and so calls them here.
                let spawned = contain(|| spawner.spawn(async move { drop(wave) }).detach());
                if let Some(payload) = spawned {
                    discard(payload);
                }
            }
            _ => drop(wave),
        }
    }
}

impl Wake for Timer {
    fn wake(self: std::sync::Arc<Self>) {
        look(&self);
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        look(self);
    }
}

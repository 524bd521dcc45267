//! What is left of a cancellation, and what went wrong in it: for people to read.

use super::node::{self, Node};
use super::{CancelToken, Phase};
use crate::reason::Reason;
use mainspring_core::payload::Payload;
use mainspring_core::sync::Arc;
use mainspring_core::task::report_callback_panic;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::Location;

/// A place in the code.
type Place = &'static Location<'static>;

/// How many panics a token keeps; further ones are counted.
const KEPT: usize = 16;

/// A panic that was contained while a token was cancelled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ContainedPanic {
    /// Where the callback was registered; for a waker's panic, where the token was cancelled.
    pub at: &'static Location<'static>,
    /// What the panic said, if that was a text.
    pub message: Option<String>,
}

/// The panics of a token, and of those below it that have ended.
#[derive(Clone, Default)]
pub(super) struct Panics {
    kept: Vec<ContainedPanic>,
    more: usize,
}

impl Panics {
    pub(super) fn add(to: &mut Option<Box<Self>>, at: Place, payload: &(dyn Any + Send)) {
        let to = to.get_or_insert_default();
        if to.kept.len() == KEPT {
            to.more += 1;
            return;
        }
        let text = payload.downcast_ref::<&'static str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        to.kept.push(ContainedPanic {
            at,
            message: text.map(str::to_owned),
        });
    }

    /// Adds those of one that has ended to those of the one above.
    pub(super) fn hand_up(from: Option<&Self>, to: &mut Option<Box<Self>>) {
        let Some(from) = from else { return };
        let to = to.get_or_insert_default();
        let room = from.kept.len().min(KEPT - to.kept.len());
        to.kept.extend_from_slice(&from.kept[..room]);
        to.more += from.more + from.kept.len() - room;
    }
}

/// Tells the hook of failures that nobody awaits.
pub(super) fn report(at: Place, payload: &Payload) {
    report_callback_panic(at, &**payload);
}

/// How far a cancellation has come: what [`CancelToken::cancel_report`] returns.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CancelReport {
    /// The token's phase.
    pub phase: Phase,
    /// Why it was cancelled, if it was.
    pub reason: Option<Reason>,
    /// Where those holds were taken that have not been released, of the token and of those below.
    pub holds: Vec<&'static Location<'static>>,
    /// Where those callbacks were registered that have not returned, of the token and of those
    /// below.
    pub callbacks: Vec<&'static Location<'static>>,
    /// What panicked, in the token and in those below: the first few.
    pub panics: Vec<ContainedPanic>,
    /// How many panics there were besides.
    pub more_panics: usize,
}

impl CancelReport {
    pub(super) fn of(node: &Arc<Node>) -> Self {
        let mut report = Self {
            phase: node.waiters.kind().phase(),
            reason: node.lock().reason.clone(),
            holds: Vec::new(),
            callbacks: Vec::new(),
            panics: Vec::new(),
            more_panics: 0,
        };
        node::for_each_below(node, |state| {
            report.holds.extend(state.holds.values().copied());
            let running = state.running.iter().map(|running| running.at);
            report.callbacks.extend(running);
            let waiting = state.callbacks.values().map(|callback| callback.at);
            report.callbacks.extend(waiting);
            if let Some(panics) = &state.panics {
                report.panics.extend_from_slice(&panics.kept);
                report.more_panics += panics.more;
            }
        });
        report
    }
}

impl fmt::Display for CancelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reason, self.phase) {
            (Some(reason), Phase::Cancelled) => write!(f, "cancelled: {reason}")?,
            (Some(reason), _) => write!(f, "being cancelled: {reason}")?,
            (None, _) => f.write_str("not cancelled")?,
        }
        left(f, &self.holds, &self.callbacks)?;
        for panic in &self.panics {
            let message = panic.message.as_deref().unwrap_or("no message");
            write!(f, "\n  panicked ({}): {message}", panic.at)?;
        }
        if self.more_panics > 0 {
            write!(f, "\n  and {} more panics", self.more_panics)?;
        }
        Ok(())
    }
}

fn left(f: &mut fmt::Formatter<'_>, holds: &[Place], callbacks: &[Place]) -> fmt::Result {
    for at in holds {
        write!(f, "\n  held since {at}")?;
    }
    for at in callbacks {
        write!(f, "\n  callback of {at} has not returned")?;
    }
    Ok(())
}

/// The limit of [`CancelToken::drained_within`] passed, and this was left.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NotDrained {
    /// The token's phase.
    pub phase: Phase,
    /// Where those holds were taken that have not been released.
    pub holds: Vec<&'static Location<'static>>,
    /// Where those callbacks were registered that have not returned.
    pub callbacks: Vec<&'static Location<'static>>,
}

impl NotDrained {
    pub(super) fn of(token: &CancelToken) -> Self {
        let CancelReport {
            phase,
            holds,
            callbacks,
            ..
        } = token.cancel_report();
        Self {
            phase,
            holds,
            callbacks,
        }
    }
}

impl fmt::Display for NotDrained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.phase {
            Phase::Alive => "nobody has cancelled the token",
            _ => "the limit passed before the token was drained",
        })?;
        left(f, &self.holds, &self.callbacks)
    }
}

impl Error for NotDrained {}

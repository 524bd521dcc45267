//! Why the ends of channels may be looked at after a panic was caught.
//!
//! A panic inside a call on an end comes from a user's code: a waker, a `Drop` of a message, a
//! `Clone`. None of it runs under a lock or between two steps of a protocol, so that the channel is
//! whole when it unwinds: the call has either happened or not, as its *Panics* says. A message is
//! passed on or dropped, never half of it. What a message refers to is the sender's affair, as it
//! is with the standard library's channels, whose ends have these traits for every message, too.

use crate::{broadcast, channel, oneshot, watch};
use std::panic::{RefUnwindSafe, UnwindSafe};

impl<T> UnwindSafe for channel::Sender<T> {}
impl<T> RefUnwindSafe for channel::Sender<T> {}
impl<T> UnwindSafe for channel::WeakSender<T> {}
impl<T> RefUnwindSafe for channel::WeakSender<T> {}
impl<T> UnwindSafe for channel::Receiver<T> {}
impl<T> RefUnwindSafe for channel::Receiver<T> {}

impl<T> UnwindSafe for channel::rendezvous::Sender<T> {}
impl<T> RefUnwindSafe for channel::rendezvous::Sender<T> {}
impl<T> UnwindSafe for channel::rendezvous::WeakSender<T> {}
impl<T> RefUnwindSafe for channel::rendezvous::WeakSender<T> {}
impl<T> UnwindSafe for channel::rendezvous::Receiver<T> {}
impl<T> RefUnwindSafe for channel::rendezvous::Receiver<T> {}

impl<T> UnwindSafe for broadcast::Sender<T> {}
impl<T> RefUnwindSafe for broadcast::Sender<T> {}
impl<T> UnwindSafe for broadcast::LossySender<T> {}
impl<T> RefUnwindSafe for broadcast::LossySender<T> {}
impl<T> UnwindSafe for broadcast::Receiver<T> {}
impl<T> RefUnwindSafe for broadcast::Receiver<T> {}

impl<T> UnwindSafe for oneshot::Sender<T> {}
impl<T> RefUnwindSafe for oneshot::Sender<T> {}
impl<T> UnwindSafe for oneshot::Receiver<T> {}
impl<T> RefUnwindSafe for oneshot::Receiver<T> {}

// A watched value can be left half changed by a closure that panics in `send_modify`, which says
// so: it has to vouch for that itself.
impl<T: RefUnwindSafe> UnwindSafe for watch::Sender<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for watch::Sender<T> {}
impl<T: RefUnwindSafe> UnwindSafe for watch::Receiver<T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for watch::Receiver<T> {}

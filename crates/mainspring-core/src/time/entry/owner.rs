//! The owner's side of an entry: the future that has it pinned.

use super::{EntryRef, OnDeregister, OnRegister, OnReset, OnRewake, TimersRef};
use super::{FIRED, IDLE, OnExtend, Phase, TimerClass, TimerEntry};
use crate::sync::atomic::Ordering::Relaxed;
use crate::time::Nanos;
use std::pin::Pin;
use std::task::Waker;

impl TimerEntry {
    /// Another class, for an entry that nobody has pinned yet.
    pub fn set_class(&mut self, class: TimerClass) {
        debug_assert_eq!(
            self.phase(),
            Phase::Idle,
            "entry.pinned: armed and not pinned"
        );
        self.class = class;
    }

    /// The timers it was registered with last.
    #[must_use]
    pub fn registered_with(&self) -> Option<TimersRef> {
        self.timers
    }

    /// Registers the entry with `timers`, to wake `waker` at `deadline`. If it is armed, it is
    /// taken out of where it was first.
    ///
    /// Takes one lock; clones the waker before, outside of it.
    pub fn arm(
        mut self: Pin<&mut Self>,
        timers: TimersRef,
        deadline: Nanos,
        waker: &Waker,
    ) -> OnRegister {
        self.as_mut().disarm();
        self.register(timers, deadline, waker.clone())
    }

    fn register(
        self: Pin<&mut Self>,
        timers: TimersRef,
        deadline: Nanos,
        waker: Waker,
    ) -> OnRegister {
        debug_assert!(
            !matches!(self.phase(), Phase::Armed(_)),
            "entry.linked: registered twice"
        );
        // SAFETY: [entry.pinned] nothing is moved out of the entry.
        let this = unsafe { self.get_unchecked_mut() };
        this.timers = Some(timers);
        let entry = EntryRef::new(this);
        // SAFETY: [entry.pinned] out of ARMED the entry is ours alone; it is pinned, and its drop
        // takes it out of ARMED.
        unsafe { timers.timers().register(entry, deadline, waker) }
    }

    /// The entry's phase, after making sure that an armed one wakes `waker`.
    ///
    /// Takes the lock only when the waker is not the one that was there.
    pub fn poll(self: Pin<&mut Self>, waker: &Waker) -> Phase {
        let phase = self.phase();
        let (Phase::Armed(_), Some(timers)) = (phase, self.timers) else {
            return phase;
        };
        if self.wakes(waker) {
            return phase;
        }
        let entry = EntryRef::new(&self);
        let waker = waker.clone();
        // SAFETY: [entry.alive] registered there last, by this owner.
        match unsafe { timers.timers().rewake(entry, waker) } {
            OnRewake::Replaced(old) => drop(old),
            OnRewake::Gone(new) => drop(new),
        }
        self.phase()
    }

    /// Whether the waker in an armed entry wakes the same task. Read without the lock; the header
    /// says why that is enough.
    fn wakes(&self, waker: &Waker) -> bool {
        self.waker.with(|cell| {
            // SAFETY: [entry.init] the cell was written before the word said ARMED, by calls of
            // this owner, and is only read by others since.
            let cell = unsafe { &*cell };
            // SAFETY: [entry.init] the bytes are those of a waker. If it has been fired meanwhile,
            // they are a copy's, and comparing addresses touches nothing behind them.
            unsafe { cell.assume_init_ref() }.will_wake(waker)
        })
    }

    /// Takes the entry out of wherever it is registered: afterwards it is idle.
    ///
    /// Costs a load if it was not armed, otherwise the shard's lock; the waker is dropped outside
    /// it.
    pub fn disarm(self: Pin<&mut Self>) {
        drop(self.take_out());
    }

    fn take_out(&self) -> Option<Waker> {
        let mut waker = None;
        if let (Phase::Armed(_), Some(timers)) = (self.phase(), self.timers) {
            // SAFETY: [entry.alive] registered there last, by this owner.
            match unsafe { timers.timers().deregister(EntryRef::new(self)) } {
                OnDeregister::Removed(removed) => waker = Some(removed),
                OnDeregister::Gone => {}
            }
        }
        // The verdict came through the lock, under which the timers left the entry: it is ours.
        if self.word.load(Relaxed) == FIRED {
            self.word.swap(IDLE, Relaxed);
        }
        debug_assert_eq!(
            self.word.load(Relaxed),
            IDLE,
            "entry.linked: the timers did not let go of the entry"
        );
        waker
    }

    /// Moves the deadline, of an armed entry at once, of another when it is armed next.
    ///
    /// A later deadline is one store, which the old place honours when it comes up; an earlier one
    /// takes the lock. If `timers` are other ones than it is registered with, the entry moves
    /// there, one lock after the other. An entry that has fired is idle afterwards; so is one that
    /// `timers` refused, and its task is woken to find that out.
    pub fn reset(self: Pin<&mut Self>, timers: Option<TimersRef>, deadline: Nanos) {
        let Some(current) = self.timers else {
            return;
        };
        if let Some(other) = timers.filter(|other| *other != current) {
            return self.move_to(other, deadline);
        }
        match self.extend(deadline) {
            OnExtend::Extended => return,
            OnExtend::Earlier => {
                let entry = EntryRef::new(&self);
                // SAFETY: [entry.alive] registered there last, by this owner.
                if unsafe { current.timers().reset(entry, deadline) } == OnReset::Armed {
                    return;
                }
            }
            OnExtend::NotArmed => {}
        }
        self.disarm();
    }

    fn move_to(self: Pin<&mut Self>, timers: TimersRef, deadline: Nanos) {
        let Some(waker) = self.take_out() else {
            return;
        };
        match self.register(timers, deadline, waker) {
            OnRegister::Armed => {}
            OnRegister::Refused(waker) => waker.wake(),
        }
    }
}

impl Drop for TimerEntry {
    #[inline]
    fn drop(&mut self) {
        // ARMED is where somebody else reaches the entry; the check is the acquire load of `phase`.
        if let Phase::Armed(_) = self.phase() {
            drop(self.take_out());
        }
    }
}

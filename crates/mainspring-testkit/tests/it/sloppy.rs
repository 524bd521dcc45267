//! A small semaphore that is correct, and wrong in one way for each [`Fault`].

use mainspring_core::budget;
use mainspring_core::sync::{Arc, Mutex};
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Shape, Subject, Waited};
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    LosesGrantOfDropped,
    LosesGrantOfLast,
    KeepsDropped,
    MintsAtDrop,
    QueuesUnpolled,
    WakesUnderLock,
    ClonesUnderLock,
    DropsUnderLock,
    StopsAtPanic,
    PoisonedByPanic,
    PoisonedByPanicInDrop,
    KeepsFirstWaker,
    KeepsWakerOfEnded,
    WakesAllForOne,
    GrowsPerPoll,
    SharesEntryByWaker,
    NewcomersOvertake,
    LastInFirstOut,
    BudgetBeforeQueue,
    ReleasesNewcomers,
    Reopens,
    ClosesForFirst,
    LooksBeforeItQueues,
    LeavesToChangeWaker,
    NeverShrinks,
    ForgetsStored,
    NeverWakes,
    HandsOnToNobodyDuringWake,
    TakesNoticeOfCloseAlong,
    CloseMissesNewcomer,
    LosesCounts,
}

/// Gives a type its fault.
pub(crate) trait Has: Send + Sync + 'static {
    const FAULT: Fault;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Waiting,
    Granted,
    Released,
}

struct Entry {
    id: u64,
    waker: Option<Waker>,
    place: Place,
}

#[derive(Default)]
struct State {
    free: usize,
    next: u64,
    is_closed: bool,
    is_waking: bool,
    is_poisoned: bool,
    entries: VecDeque<Entry>,
}

pub(crate) struct Sloppy<F> {
    state: Mutex<State>,
    fault: PhantomData<fn() -> F>,
}

struct Wait<F: Has> {
    list: Arc<Sloppy<F>>,
    id: Option<u64>,
}

/// Marks the state when the code that holds it unwinds, as a mutex of `std` does.
struct Poisons<'a>(&'a mut State, bool);

impl Drop for Poisons<'_> {
    fn drop(&mut self) {
        if self.1 && std::thread::panicking() {
            self.0.is_poisoned = true;
        }
    }
}

impl<F: Has> Sloppy<F> {
    fn has(fault: Fault) -> bool {
        F::FAULT == fault
    }

    fn locked<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock();
        assert!(!state.is_poisoned, "poisoned");
        f(&mut state)
    }

    fn wake(&self, wakers: Vec<Waker>) {
        let mut panicked = None;
        for waker in wakers {
            if Self::has(Fault::StopsAtPanic) {
                waker.wake();
                continue;
            }
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
                panicked.get_or_insert(payload);
            }
        }
        if let Some(payload) = panicked {
            resume_unwind(payload);
        }
    }

    fn release(&self, count: usize) {
        let mut state = self.state.lock();
        assert!(!state.is_poisoned, "poisoned");
        if Self::has(Fault::Reopens) {
            state.is_closed = false;
        }
        let mut wakers = Vec::new();
        for _ in 0..count {
            grant::<F>(&mut state, &mut wakers);
        }
        if Self::has(Fault::WakesUnderLock) {
            self.wake(wakers);
            return;
        }
        state.is_waking = true;
        drop(state);
        self.wake(wakers);
        self.state.lock().is_waking = false;
    }

    fn release_all(&self, close: bool) {
        let mut wakers = Vec::new();
        self.locked(|state| {
            state.is_closed |= close && !Self::has(Fault::CloseMissesNewcomer);
            let waiting = |entry: &&mut Entry| entry.place == Place::Waiting;
            let most = if close && Self::has(Fault::ClosesForFirst) {
                1
            } else {
                usize::MAX
            };
            for entry in state.entries.iter_mut().filter(waiting).take(most) {
                entry.place = Place::Released;
                wakers.extend(entry.waker.take());
            }
        });
        self.wake(wakers);
        if close && Self::has(Fault::CloseMissesNewcomer) {
            gap();
            self.locked(|state| state.is_closed = true);
        }
        // It goes on for as long as somebody waits.
        if !close && Self::has(Fault::ReleasesNewcomers) {
            let more = self.locked(|state| {
                let mut entries = state.entries.iter();
                entries.any(|entry| entry.place == Place::Waiting)
            });
            if more {
                self.release_all(false);
            }
        }
    }
}

/// Long enough for another thread to get in between, also on one processor.
fn gap() {
    for _ in 0..100 {
        std::thread::yield_now();
    }
}

/// Gives one permit to the first who waits.
fn grant<F: Has>(state: &mut State, wakers: &mut Vec<Waker>) {
    if F::FAULT == Fault::NewcomersOvertake {
        state.free += 1;
        let next = state.entries.iter_mut().find(|entry| entry.waker.is_some());
        wakers.extend(next.and_then(|entry| entry.waker.take()));
        return;
    }
    let mut waiting = state
        .entries
        .iter_mut()
        .filter(|entry| entry.place == Place::Waiting);
    let next = if F::FAULT == Fault::LastInFirstOut {
        waiting.next_back()
    } else {
        waiting.next()
    };
    let Some(entry) = next else {
        if F::FAULT != Fault::ForgetsStored {
            state.free += 1;
        }
        return;
    };
    entry.place = Place::Granted;
    if F::FAULT != Fault::NeverWakes {
        wakers.extend(entry.waker.take());
    }
    if F::FAULT == Fault::WakesAllForOne {
        let others = state.entries.iter_mut();
        wakers.extend(others.filter_map(|entry| entry.waker.clone()));
    }
}

impl<F: Has> Wait<F> {
    /// What a waiter that has no entry finds; it gets one if it has to wait.
    fn first(&mut self, state: &mut State, waker: &mut Option<Waker>) -> Poll<Waited> {
        if state.is_closed {
            return Poll::Ready(Waited::Closed);
        }
        if state.free > 0 {
            state.free -= usize::from(F::FAULT != Fault::LosesCounts || state.next % 3 != 0);
            state.next += 1;
            return Poll::Ready(Waited::Granted);
        }
        let same = |entry: &&Entry| {
            let both = entry.waker.as_ref().zip(waker.as_ref());
            both.is_some_and(|(old, new)| old.will_wake(new))
        };
        if F::FAULT == Fault::SharesEntryByWaker {
            self.id = state.entries.iter().find(same).map(|entry| entry.id);
        }
        if self.id.is_none() {
            self.push(state, waker.take());
        }
        Poll::Pending
    }

    fn push(&mut self, state: &mut State, waker: Option<Waker>) {
        let id = state.next;
        state.next += 1;
        self.id = Some(id);
        state.entries.push_back(Entry {
            id,
            waker,
            place: Place::Waiting,
        });
    }

    /// What a waiter with an entry finds. `waker` is the new one, and then the one to be dropped.
    fn again(&mut self, id: u64, state: &mut State, waker: &mut Option<Waker>) -> Poll<Waited> {
        let at = state.entries.iter().position(|entry| entry.id == id);
        let Some(at) = at else {
            return Poll::Pending;
        };
        let place = state.entries[at].place;
        if F::FAULT == Fault::NewcomersOvertake && state.free > 0 {
            state.free -= 1;
            state.entries[at].place = Place::Granted;
        } else if place == Place::Waiting {
            let entry = &mut state.entries[at];
            if F::FAULT == Fault::GrowsPerPoll {
                self.push(state, waker.take());
            } else if F::FAULT != Fault::KeepsFirstWaker || entry.waker.is_none() {
                std::mem::swap(&mut entry.waker, waker);
            }
            return Poll::Pending;
        }
        self.id = None;
        if F::FAULT == Fault::KeepsWakerOfEnded {
            // As if it had been granted under this waker and nobody had cleaned up.
            state.entries[at].waker = waker.take();
            state.entries[at].place = Place::Released;
            return Poll::Ready(Waited::Granted);
        }
        let entry = state.entries.remove(at);
        shrink::<F>(state);
        match entry {
            Some(Entry {
                waker: left,
                place: Place::Released,
                ..
            }) => {
                *waker = left.or(waker.take());
                Poll::Ready(if state.is_closed {
                    Waited::Closed
                } else {
                    Waited::Granted
                })
            }
            Some(Entry { waker: left, .. }) => {
                *waker = left.or(waker.take());
                Poll::Ready(Waited::Granted)
            }
            None => Poll::Pending,
        }
    }
}

fn shrink<F: Has>(state: &mut State) {
    if F::FAULT != Fault::NeverShrinks && state.entries.capacity() > 64 && state.entries.len() < 16
    {
        state.entries.shrink_to(32);
    }
}

impl<F: Has> Future for Wait<F> {
    type Output = Waited;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Waited> {
        if F::FAULT == Fault::BudgetBeforeQueue && budget::poll_proceed(cx).is_pending() {
            return Poll::Pending;
        }
        let list = Arc::clone(&self.list);
        let under_lock = matches!(F::FAULT, Fault::ClonesUnderLock | Fault::PoisonedByPanic);
        // Cloned before the lock is taken.
        let mut waker = (!under_lock).then(|| cx.waker().clone());
        if F::FAULT == Fault::LooksBeforeItQueues && self.id.is_none() {
            let found = list.locked(|state| state.free > 0 || state.is_closed);
            if !found {
                gap();
                list.locked(|state| self.push(state, waker.take()));
                return Poll::Pending;
            }
        }
        if F::FAULT == Fault::LeavesToChangeWaker {
            if let Some(id) = self.id {
                return leave_and_come_back(&mut self, &list, id, waker);
            }
        }
        let polled = list.locked(|state| {
            let state = &mut *state;
            if under_lock {
                let poisons = Poisons(state, F::FAULT == Fault::PoisonedByPanic);
                waker = Some(cx.waker().clone());
                drop(poisons);
            }
            let polled = match self.id {
                None => self.first(state, &mut waker),
                Some(id) => self.again(id, state, &mut waker),
            };
            if F::FAULT == Fault::DropsUnderLock || F::FAULT == Fault::PoisonedByPanicInDrop {
                let _poisons = Poisons(state, F::FAULT == Fault::PoisonedByPanicInDrop);
                drop(waker.take());
            }
            polled
        });
        drop(waker);
        polled
    }
}

fn leave_and_come_back<F: Has>(
    wait: &mut Wait<F>,
    list: &Sloppy<F>,
    id: u64,
    mut waker: Option<Waker>,
) -> Poll<Waited> {
    let left = list.locked(|state| {
        let at = state.entries.iter().position(|entry| entry.id == id)?;
        if state.entries[at].place != Place::Waiting {
            return None;
        }
        state.entries.remove(at)
    });
    let Some(old) = left else {
        return list.locked(|state| wait.again(id, state, &mut waker));
    };
    gap();
    list.locked(|state| {
        let closed = state.is_closed;
        state.entries.push_front(Entry {
            waker,
            ..Entry {
                id,
                waker: None,
                place: if closed {
                    Place::Released
                } else {
                    Place::Waiting
                },
            }
        });
    });
    drop(old);
    Poll::Pending
}

impl<F: Has> Drop for Wait<F> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        if F::FAULT == Fault::KeepsDropped {
            return;
        }
        let mut wakers = Vec::new();
        let list = Arc::clone(&self.list);
        let mut state = list.state.lock();
        if state.is_poisoned {
            return;
        }
        let at = state.entries.iter().position(|entry| entry.id == id);
        let entry = at.and_then(|at| state.entries.remove(at));
        shrink::<F>(&mut state);
        let was_granted = entry
            .as_ref()
            .is_some_and(|entry| entry.place == Place::Granted);
        let somebody_waits = state
            .entries
            .iter()
            .any(|entry| entry.place == Place::Waiting);
        let loses = match F::FAULT {
            Fault::LosesGrantOfDropped => true,
            Fault::LosesGrantOfLast => !somebody_waits,
            Fault::HandsOnToNobodyDuringWake => state.is_waking,
            _ => false,
        };
        if was_granted && !loses || F::FAULT == Fault::MintsAtDrop && !was_granted {
            grant::<F>(&mut state, &mut wakers);
        }
        if F::FAULT == Fault::TakesNoticeOfCloseAlong && state.is_closed {
            for entry in &mut state.entries {
                entry.place = Place::Waiting;
            }
        }
        if matches!(
            F::FAULT,
            Fault::DropsUnderLock | Fault::PoisonedByPanicInDrop
        ) {
            let _poisons = Poisons(&mut state, F::FAULT == Fault::PoisonedByPanicInDrop);
            drop(entry);
            self.list.wake(wakers);
            return;
        }
        drop(state);
        drop(entry);
        self.list.wake(wakers);
    }
}

impl<F: Has> Subject for Sloppy<F> {
    fn shape() -> Shape {
        Shape::counting().fifo().releases_all().closes()
    }

    fn new() -> Self {
        Self {
            state: Mutex::default(),
            fault: PhantomData,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        let mut wait = Wait {
            list: Arc::clone(self),
            id: None,
        };
        if Self::has(Fault::QueuesUnpolled) {
            self.locked(|state| wait.push(state, None));
        }
        Box::pin(wait)
    }

    fn grant(&self) {
        self.release(1);
    }

    fn grant_many(&self, count: usize) -> bool {
        self.release(count);
        true
    }

    fn grant_all(&self) {
        self.release_all(false);
    }

    fn close(&self) {
        self.release_all(true);
    }
}

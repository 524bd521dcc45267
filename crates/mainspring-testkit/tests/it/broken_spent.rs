//! A small semaphore that asks its task's budget for what it lets go, correct, and wrong in one way
//! for each fault: each fault turns the case red that is there for it.

use crate::broken::assert_red;
use mainspring_core::budget;
use mainspring_core::sync::{Arc, Mutex};
use mainspring_testkit::Boxed;
use mainspring_testkit::conformance::{Outcome, Shape, Subject, Suite, Waited};
use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// What it found when it came goes with one that yields.
    TakesFoundAlong,
    /// What it had waited for goes with one that yields.
    TakesGrantAlong,
    /// One that yields is granted what its drop hands on, and what it handed on before.
    HandsOnTwice,
    /// One that yields wakes nobody.
    YieldsAsleep,
    /// One that yields has no place in line.
    YieldsOutsideTheLine,
    /// It lets go whoever comes.
    AsksNoBudget,
}

trait Has: Send + Sync + 'static {
    const FAULT: Fault;
}

/// One in line, in the order in which they came.
struct Entry {
    id: u64,
    waker: Option<Waker>,
    is_granted: bool,
    has_waited: bool,
    has_yielded: bool,
}

/// While some are free, everybody in line is granted.
#[derive(Default)]
struct State {
    free: usize,
    next: u64,
    line: VecDeque<Entry>,
}

struct Meek<F> {
    state: Mutex<State>,
    fault: PhantomData<fn() -> F>,
}

struct Wait<F: Has> {
    pool: Arc<Meek<F>>,
    id: Option<u64>,
}

impl State {
    /// Gives one permit to the first who waits; whom to wake for it.
    fn grant(&mut self) -> Option<Waker> {
        match self.line.iter_mut().find(|entry| !entry.is_granted) {
            Some(entry) => {
                entry.is_granted = true;
                entry.waker.take()
            }
            None => {
                self.free += 1;
                None
            }
        }
    }

    /// Where it stands in line; at the end, if it has just come.
    fn place(&mut self, id: &mut Option<u64>) -> usize {
        if let Some(id) = *id {
            let at = self.line.iter().position(|entry| entry.id == id);
            return at.expect("it is in line until it has gone");
        }
        let is_granted = self.free > 0;
        self.free -= usize::from(is_granted);
        *id = Some(self.next);
        self.line.push_back(Entry {
            id: self.next,
            waker: None,
            is_granted,
            has_waited: !is_granted,
            has_yielded: false,
        });
        self.next += 1;
        self.line.len() - 1
    }

    /// Takes one out of the line, and gives memory back after a burst.
    fn take(&mut self, at: usize) -> Option<Entry> {
        let entry = self.line.remove(at);
        if self.line.len() < 16 {
            self.line.shrink_to(32);
        }
        entry
    }
}

impl<F: Has> Future for Wait<F> {
    type Output = Waited;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Waited> {
        let pool = Arc::clone(&self.pool);
        let mut waker = Some(cx.waker().clone());
        let is_spent = budget::is_spent() && F::FAULT != Fault::AsksNoBudget;
        if is_spent && self.id.is_none() && F::FAULT == Fault::YieldsOutsideTheLine {
            return budget::poll_proceed(cx).map(|_| Waited::Granted);
        }
        let mut state = pool.state.lock();
        let at = state.place(&mut self.id);
        let entry = &mut state.line[at];
        let is_granted = entry.is_granted;
        let lets_go = is_granted && !is_spent;
        let old = if lets_go {
            self.id = None;
            state.take(at).and_then(|entry| entry.waker)
        } else {
            entry.has_yielded |= is_granted;
            std::mem::replace(&mut entry.waker, waker.take())
        };
        drop(state);
        drop((old, waker));
        if lets_go {
            budget::consume();
            return Poll::Ready(Waited::Granted);
        }
        if is_granted && F::FAULT != Fault::YieldsAsleep {
            let _ = budget::poll_proceed(cx);
        }
        Poll::Pending
    }
}

impl<F: Has> Drop for Wait<F> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut state = self.pool.state.lock();
        let at = state.line.iter().position(|entry| entry.id == id);
        let Some(entry) = at.and_then(|at| state.take(at)) else {
            return;
        };
        let is_along = match F::FAULT {
            Fault::TakesFoundAlong => entry.has_yielded && !entry.has_waited,
            Fault::TakesGrantAlong => entry.has_yielded && entry.has_waited,
            _ => false,
        };
        let is_doubled = F::FAULT == Fault::HandsOnTwice && entry.has_yielded;
        let count = usize::from(entry.is_granted && !is_along) + usize::from(is_doubled);
        let wakers: Vec<_> = (0..count).map(|_| state.grant()).collect();
        drop(state);
        drop(entry);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }
}

impl<F: Has> Subject for Meek<F> {
    fn shape() -> Shape {
        Shape::counting().fifo().budgeted()
    }

    fn new() -> Self {
        Self {
            state: Mutex::default(),
            fault: PhantomData,
        }
    }

    fn wait(self: &Arc<Self>) -> Boxed<Waited> {
        Box::pin(Wait {
            pool: Arc::clone(self),
            id: None,
        })
    }

    fn grant(&self) {
        let waker = self.state.lock().grant();
        waker.into_iter().for_each(Waker::wake);
    }
}

macro_rules! faults {
    ($($test:ident: $fault:ident => $case:ident $(, and $($other:ident),+)?;)*) => {
        $(
            #[test]
            fn $test() {
                struct Faulty;
                impl Has for Faulty {
                    const FAULT: Fault = Fault::$fault;
                }
                let suite = Suite::of_subject::<Meek<Faulty>>;
                assert_red(suite, stringify!($case), &[$($(stringify!($other)),+)?]);
            }
        )*
    };
}

#[test]
fn no_fault_passes_everything() {
    struct Sound;
    impl Has for Sound {
        const FAULT: Fault = Fault::None;
    }
    let report = Suite::of_subject::<Meek<Sound>>().run();
    report.assert_clean();
    // And is not passed over.
    for case in ["dropped_yielding", "dropped_yielding_granted"] {
        assert_eq!(report.outcome(case), Some(&Outcome::Passed), "{report}");
    }
}

faults! {
    takes_what_it_found_along: TakesFoundAlong => dropped_yielding;
    takes_what_it_was_granted_along: TakesGrantAlong => dropped_yielding_granted;
    hands_on_twice: HandsOnTwice => dropped_yielding, and dropped_yielding_granted;
    nobody_polls_it_again: YieldsAsleep => dropped_yielding, and
        dropped_yielding_granted, budget_keeps_the_order;
    has_no_place_in_line: YieldsOutsideTheLine => dropped_yielding, and budget_keeps_the_order;
    asks_no_budget: AsksNoBudget => dropped_yielding;
}

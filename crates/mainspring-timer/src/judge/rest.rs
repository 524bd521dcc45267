//! A driver in the books: how it falls asleep, looks, and judges.

use super::{Asleep, Judge, Member, Presence};
use crate::driver::Handle;
use mainspring_core::blocking::{self, BlockingGroup};
use mainspring_core::driver::{DriverHandle, Until};
use mainspring_core::load;
use mainspring_core::time::{Domain, Nanos};
use std::sync::Arc;
use std::task::{Context, Waker};

/// A driver's place in the books.
pub(crate) struct Membership {
    judge: Arc<Judge>,
    number: u64,
}

impl Membership {
    /// Enters a driver that is made on this thread into the books.
    pub(crate) fn new(handle: &Arc<Handle>) -> Self {
        let place = handle.place();
        let judge = Arc::clone(place.judge());
        let mut books = judge.books.lock();
        let number = books.next;
        books.next += 1;
        books.members.push(Member {
            number,
            thread: place.thread(),
            handle: Arc::clone(handle),
            asleep: None,
        });
        drop(books);
        Self { judge, number }
    }

    /// Falls asleep in the paused domain of `handle`, whose unparks were last counted as `seen`.
    /// `None` if it has been told since, or the clock runs.
    pub(crate) fn fall_asleep(&self, handle: &Handle, seen: u64, until: Until) -> Option<Rest> {
        let place = handle.place();
        // For a driver that is parked and was never entered.
        let presence = self.judge.arrive(place.thread());
        let jobs = blocking::entered();
        let mut books = self.judge.books.lock();
        if !place.domain().is_paused() || handle.bell().unparks() != seen {
            drop(books);
            return None;
        }
        let looked = books.round;
        let member = books.member(self.number);
        debug_assert!(member.asleep.is_none(), "judge.awake: asleep twice");
        member.asleep = Some(Asleep {
            seen,
            until,
            looked,
            jobs,
        });
        books.awake -= 1;
        books.begin_round_if_quiet(Some(self.number)).settle(books);
        Some(Rest {
            domain: place.domain().clone(),
            number: self.number,
            judge: Arc::clone(&self.judge),
            _presence: presence,
        })
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut books = self.judge.books.lock();
        let at = books
            .members
            .iter()
            .position(|one| one.number == self.number);
        let member = at.map(|at| books.members.swap_remove(at));
        drop(books);
        debug_assert!(
            member.is_some_and(|member| member.asleep.is_none()),
            "judge.members: dropped asleep"
        );
    }
}

/// What a sleeper has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a sleeper that does not look keeps the clock"]
pub(crate) enum Step {
    /// It was told: wake up.
    WakeUp,
    /// Look at the outside world, for this round.
    Look(u64),
    /// Wait for whatever comes.
    Wait,
}

/// What a verdict came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "whoever is due has something to fire"]
pub(crate) enum Verdict {
    /// The clock has moved to this moment, and the judge's own deadline has come.
    Due(Nanos),
    /// It has moved for others, or it stands.
    GoOn,
}

/// A driver is asleep while this lives.
pub(crate) struct Rest {
    judge: Arc<Judge>,
    domain: Domain,
    number: u64,
    /// Goes after the sleep has ended.
    _presence: Presence,
}

impl Rest {
    pub(crate) fn step(&self) -> Step {
        let mut books = self.judge.books.lock();
        let (round, awake) = (books.round, books.awake);
        let member = books.member(self.number);
        let looked = member.asleep.as_ref().map_or(round, |asleep| asleep.looked);
        if member.is_told() {
            Step::WakeUp
        } else if looked != round && awake == 0 {
            Step::Look(round)
        } else {
            Step::Wait
        }
    }

    /// Nothing was there in this round. The last one to say so judges.
    pub(crate) fn looked(&self, round: u64) -> Verdict {
        let Some(mut case) = self.close_round(round) else {
            return Verdict::GoOn;
        };
        match case.examine(&self.judge) {
            Some(moment) => self.pronounce(&case, moment),
            None => Verdict::GoOn,
        }
    }

    fn close_round(&self, round: u64) -> Option<Case> {
        let mut books = self.judge.books.lock();
        if books.round != round {
            return None;
        }
        if let Some(asleep) = &mut books.member(self.number).asleep {
            asleep.looked = round;
        }
        // CLAIM: [judge.looked] whoever looks last finds this, and nobody before.
        if !books.is_quiet() || !books.have_all_looked() {
            return None;
        }
        let sleepers = books.members.iter().filter_map(|member| {
            let asleep = member.asleep.as_ref()?;
            Some(Sleeper {
                number: member.number,
                handle: Arc::clone(&member.handle),
                until: asleep.until,
                jobs: asleep.jobs.clone(),
                next: None,
            })
        });
        Some(Case {
            round,
            sleepers: sleepers.collect(),
        })
    }

    /// The clock moves to `moment`, unless the case is void or somebody holds it.
    fn pronounce(&self, case: &Case, moment: Nanos) -> Verdict {
        let mut books = self.judge.books.lock();
        if books.round != case.round || !books.is_quiet() {
            return Verdict::GoOn;
        }
        if books.holds > 0 && moment > books.granted.max(self.domain.now()) {
            return Verdict::GoOn;
        }
        let now = self.domain.move_to(moment);
        books.round += 1;
        let round = books.round;
        // Nobody has to look again before somebody has been awake.
        for member in &mut books.members {
            if let Some(asleep) = &mut member.asleep {
                asleep.looked = round;
            }
        }
        let due = case.sleepers.iter().filter(|one| one.is_due(now));
        let due: Vec<u64> = due.map(|one| one.number).collect();
        // CLAIM: [judge.next] in the same critical section as the move.
        let others = |member: &Member| member.number != self.number && due.contains(&member.number);
        books.tell(others).settle(books);
        if due.contains(&self.number) {
            Verdict::Due(now)
        } else {
            Verdict::GoOn
        }
    }
}

impl Drop for Rest {
    /// Wakes up.
    fn drop(&mut self) {
        let mut books = self.judge.books.lock();
        books.member(self.number).asleep = None;
        books.awake += 1;
        books.round += 1;
    }
}

/// What the judge has to judge: a round in which everybody has looked.
struct Case {
    round: u64,
    sleepers: Vec<Sleeper>,
}

struct Sleeper {
    number: u64,
    handle: Arc<Handle>,
    until: Until,
    jobs: Option<BlockingGroup>,
    /// Its deadline, once it has been asked.
    next: Option<Nanos>,
}

impl Sleeper {
    fn ask(&mut self) {
        self.next = match self.until.cap(self.handle.next()) {
            Until::At(moment) => Some(moment),
            Until::Now | Until::Forever => None,
        };
    }

    fn is_due(&self, now: Nanos) -> bool {
        self.next.is_some_and(|moment| moment <= now)
    }
}

impl Case {
    /// The earliest deadline, if there is one and nothing keeps the clock. Without the books: this
    /// asks the drivers, the blocking jobs and the executor.
    fn examine(&mut self, judge: &Arc<Judge>) -> Option<Nanos> {
        let waker = Waker::from(Arc::clone(judge));
        let mut cx = Context::from_waker(&waker);
        let groups = self.sleepers.iter().filter_map(|one| one.jobs.as_ref());
        // Each of them, so that each tells when it is settled.
        let unsettled = groups.filter(|jobs| jobs.poll_settled(&mut cx).is_pending());
        if unsettled.count() > 0 || load::has_work() {
            return None;
        }
        self.sleepers.iter_mut().for_each(Sleeper::ask);
        self.sleepers.iter().filter_map(|one| one.next).min()
    }
}

//! Who moves the paused clock of a domain, and when.
//!
//! Paused, no driver waits for a deadline. When all threads of a domain wait for one another, the
//! clock moves to the earliest deadline of all, and whose that is, is called. One of the sleeping
//! threads does it: the *judge*, which is whoever looks last.
//!
//! # Words
//!
//! | word | means |
//! |---|---|
//! | member | a driver that was made in the domain |
//! | present | a thread that has entered the handle of a member that was made on it, or parks |
//! | awake | present, and not asleep |
//! | asleep | waiting in a driver for whatever comes, with nothing woken and nobody told |
//! | told | unparked since it fell asleep; it wakes up without fail |
//! | round | a look of every sleeper at its own outside world, begun when nobody was awake |
//!
//! # Protocol
//!
//! ```text
//!   thread parks, has woken nothing, was not told ──▶ ASLEEP (awake - 1)
//!   the last one, awake = 0 ──▶ begins a round: calls every sleeper
//!   sleeper, called ──▶ looks ──▶ something came: AWAKE (awake + 1, the round is void)
//!                            └──▶ nothing: has looked; asleep again, if others have yet to look
//!   the last one to have looked is the judge:
//!     blocking jobs? tasks that nobody was called for? ──▶ not now, and asleep again
//!     under the lock: the same round, nobody awake, nobody told, no hold ──▶ the clock moves, and
//!     those whose deadline it is are told
//! ```
//!
//! The books are kept under one lock, and only while the clock is paused; which threads are present
//! is kept always, which is a lock when one comes or goes.
//!
//! # Invariants
//!
//! - **judge.awake** — the clock moves only while every present thread is asleep and none is told.
//! - **judge.looked** — between the moment at which the last thread fell asleep and the move, every
//!   sleeper has looked at its own outside world, and nothing was there. So what a task has sent
//!   over a socket to another worker's is seen before time goes on.
//! - **judge.next** — the clock moves to the earliest deadline of the sleepers, not past it, and
//!   whoever has that one is told with the move.
//! - **judge.no-hang** — when everybody is asleep and nobody told, a round is under way, or the
//!   last one ended in *not now*, and whatever it was that kept the clock begins another when it is
//!   over.
//! - **judge.members** — a driver is in the books from its making to its drop.
//!
//! # Edges
//!
//! | edge | release side | acquire side | carries |
//! |---|---|---|---|
//! | `judge.told` | `Bell::note` | `Bell::unparks` | what the teller wrote before |
//!
//! # Why no time is lost and nobody hangs
//!
//! *Judge × a wake from a thread outside.* The wake counts the unpark, then unparks. The judge
//! compares the counts in its last step. Either it sees the count: the verdict is void, and the
//! sleeper wakes up by the unpark. Or it does not: then the wake had not returned when the clock
//! moved, and came after it. What the thread does before its wake is seen after it. A thread
//! outside that must not be overtaken takes a hold: its drop takes the lock, behind which the judge
//! sees all that came before.
//!
//! *Judge × a thread about to park.* It is awake until it has taken the lock to fall asleep. If it
//! does so before the judge's last step, it is a sleeper that has not looked: void, and the round
//! that it has begun as the last one goes on without the judge. If afterwards, it was awake: void.
//! What it told others before, they have been told.
//!
//! *Judge × a task that arms a timer with another worker.* The task runs on a thread that is awake:
//! no verdict. When that one has fallen asleep, the judge reads every deadline after it. If the
//! task's thread is none of the domain's, arming something earlier tells the sleeper: as above.
//!
//! *Judge × a blocking job that ends.* The job is settled after the waker of whoever waits for it
//! was called, and the judge asks before its last step. Either it is told of an unsettled job: then
//! the settling, which comes after, begins a round, for the judge has registered under the same
//! lock under which it asked. Or all are settled: then the wakes have been, and whoever was woken
//! is told or awake, or stands in a queue that the executor knows of (`Load::has_work`).
//!
//! *A round that is void.* It is void because somebody is awake or was told, that is, will be: the
//! last of those to fall asleep begins another. A thread that leaves while the others sleep begins
//! one; so do the end of the last hold and of the last job.
//!
//! # Rejected
//!
//! The executor's idle word as the judge's: it knows the workers, but neither the threads in
//! `block_on` nor what a driver has been told. `DriverHandle::rescue` by the judge in place of the
//! look of each sleeper: a sleeping owner holds what the rescuer needs, and what the kernel has for
//! a ring's owner is posted when the owner enters it.

mod rest;

pub(crate) use self::rest::{Membership, Step, Verdict};

use crate::driver::Handle;
use mainspring_core::blocking::BlockingGroup;
use mainspring_core::driver::Until;
use mainspring_core::sync::{Mutex, MutexGuard};
use mainspring_core::time::{Domain, Nanos};
use std::sync::Arc;
use std::task::Wake;

/// The books of one domain.
pub(crate) struct Judge {
    books: Mutex<Books>,
}

struct Books {
    members: Vec<Member>,
    present: Vec<Present>,
    /// How many of the present are not asleep.
    awake: usize,
    /// Grows with whatever makes a verdict void.
    round: u64,
    holds: usize,
    /// How far holds let the clock go.
    granted: Nanos,
    /// The next member's number.
    next: u64,
}

struct Member {
    number: u64,
    thread: u64,
    handle: Arc<Handle>,
    asleep: Option<Asleep>,
}

struct Asleep {
    /// How many unparks had been counted when it fell asleep.
    seen: u64,
    /// How long its executor would have it wait.
    until: Until,
    /// In which round it has looked.
    looked: u64,
    /// The blocking jobs of its executor.
    jobs: Option<BlockingGroup>,
}

impl Member {
    fn is_told(&self) -> bool {
        let asleep = self.asleep.as_ref();
        asleep.is_some_and(|asleep| asleep.seen != self.handle.bell().unparks())
    }
}

/// A thread that is in the domain, and how often it has entered.
struct Present {
    thread: u64,
    times: usize,
}

/// Those that are to be called when the books are free.
#[must_use = "who is to be called waits for it"]
struct Calls(Vec<Arc<Handle>>);

impl Calls {
    const NONE: Self = Self(Vec::new());

    /// Calls them, with the lock free.
    fn settle(self, books: MutexGuard<'_, Books>) {
        drop(books);
        for handle in self.0 {
            handle.bell().call();
        }
    }
}

impl Books {
    /// Nobody is awake: everybody is to look, but `caller`, who knows.
    fn begin_round(&mut self, caller: Option<u64>) -> Calls {
        debug_assert_eq!(
            self.awake, 0,
            "judge.awake: a round while somebody is awake"
        );
        self.round += 1;
        let sleepers = self
            .members
            .iter()
            .filter(|member| member.asleep.is_some() && Some(member.number) != caller);
        Calls(sleepers.map(|member| Arc::clone(&member.handle)).collect())
    }

    /// Somebody who was awake is so no more, or something that kept the clock is over.
    fn begin_round_if_quiet(&mut self, caller: Option<u64>) -> Calls {
        // CLAIM: [judge.no-hang] whoever makes it zero comes through here, under this lock.
        if self.awake == 0 {
            self.begin_round(caller)
        } else {
            Calls::NONE
        }
    }

    fn member(&mut self, number: u64) -> &mut Member {
        let found = self.members.iter_mut().find(|one| one.number == number);
        found.expect("a driver is in the books until it is dropped")
    }

    /// Whether the clock may move, as far as the books know.
    fn is_quiet(&self) -> bool {
        // CLAIM: [judge.awake] asked under the lock under which the clock moves.
        self.awake == 0 && !self.members.iter().any(Member::is_told)
    }

    fn have_all_looked(&self) -> bool {
        let mut sleepers = self.members.iter().filter_map(|one| one.asleep.as_ref());
        sleepers.all(|asleep| asleep.looked == self.round)
    }

    /// Tells those of the members that `is_meant` says.
    fn tell(&self, is_meant: impl Fn(&Member) -> bool) -> Calls {
        let meant = self.members.iter().filter(|member| is_meant(member));
        let told = meant.map(|member| {
            member.handle.bell().note();
            Arc::clone(&member.handle)
        });
        Calls(told.collect())
    }
}

impl Judge {
    pub(crate) fn new() -> Self {
        Self {
            books: Mutex::new(Books {
                members: Vec::new(),
                present: Vec::new(),
                awake: 0,
                round: 0,
                holds: 0,
                granted: Nanos::ZERO,
                next: 0,
            }),
        }
    }

    /// That of a domain.
    pub(crate) fn of(domain: &Domain) -> Arc<Self> {
        domain.kept(Self::new)
    }

    pub(crate) fn has_members(&self) -> bool {
        !self.books.lock().members.is_empty()
    }

    /// Stops the clock, and calls everybody who waits for a deadline. By a thread that does not.
    pub(crate) fn pause(&self, domain: &Domain, thread: u64) {
        let books = self.books.lock();
        if domain.is_paused() {
            return;
        }
        domain.pause();
        books.tell(|member| member.thread != thread).settle(books);
    }

    /// Lets the clock run, and calls everybody who is asleep: there are deadlines to wait for.
    pub(crate) fn resume(&self, domain: &Domain) {
        let books = self.books.lock();
        domain.resume();
        books.tell(|member| member.asleep.is_some()).settle(books);
    }

    /// Lets holds let the clock go to `moment`.
    pub(crate) fn grant(&self, moment: Nanos) {
        let mut books = self.books.lock();
        books.granted = books.granted.max(moment);
    }

    pub(crate) fn hold(&self) {
        self.books.lock().holds += 1;
    }

    pub(crate) fn release(&self) {
        let mut books = self.books.lock();
        debug_assert!(books.holds > 0, "clock.held: released twice");
        books.holds -= 1;
        if books.holds == 0 {
            books.begin_round_if_quiet(None).settle(books);
        }
    }

    /// The thread is present while this lives.
    pub(crate) fn arrive(self: &Arc<Self>, thread: u64) -> Presence {
        let mut books = self.books.lock();
        let books = &mut *books;
        match books.present.iter_mut().find(|one| one.thread == thread) {
            Some(present) => present.times += 1,
            None => {
                books.present.push(Present { thread, times: 1 });
                books.awake += 1;
                books.round += 1;
            }
        }
        Presence {
            judge: Arc::clone(self),
            thread,
        }
    }

    fn depart(&self, thread: u64) {
        let mut books = self.books.lock();
        let at = books.present.iter().position(|one| one.thread == thread);
        let at = at.expect("a thread is present until it departs");
        books.present[at].times -= 1;
        if books.present[at].times > 0 {
            return;
        }
        books.present.swap_remove(at);
        books.awake -= 1;
        books.begin_round_if_quiet(None).settle(books);
    }
}

/// The last job is settled.
impl Wake for Judge {
    fn wake(self: Arc<Self>) {
        let mut books = self.books.lock();
        books.begin_round_if_quiet(None).settle(books);
    }
}

/// That a thread is present.
pub(crate) struct Presence {
    judge: Arc<Judge>,
    thread: u64,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.judge.depart(self.thread);
    }
}

#[cfg(test)]
mod tests;

//! The queues, on the kernel.

use super::super::provided::Pool;
use super::{Completed, Profile, REFUSALS_MAX, Ring};
use io_uring::{opcode, squeue::Entry, types::Fd};
use mainspring_core::time;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// More than the queue of entries holds.
const MANY: u64 = 1500;
/// More than the queue of completions holds.
const TOO_MANY: u64 = 9000;

fn ring(profile: Profile) -> Option<Ring> {
    let made = Ring::new(profile, |ring| Ok(Pool::register(ring)?.1));
    made.map_err(|refusal| eprintln!("NOT RUN, for want of a ring: {refusal}"))
        .ok()
}

fn nop(number: u64) -> Entry {
    opcode::Nop::new().build().user_data(number)
}

/// An entry that does not end by itself.
fn sleeper(quiet: &UnixStream) -> Entry {
    opcode::PollAdd::new(Fd(quiet.as_raw_fd()), libc::POLLIN as u32)
        .build()
        .user_data(u64::MAX)
}

fn push(ring: &Ring, entry: Entry) {
    // SAFETY: [uring.memory] it points to nothing.
    unsafe { ring.push(entry) };
}

/// The numbers of what has completed, as they come, until there are so many.
fn reap(ring: &Ring, count: usize) -> Vec<u64> {
    let mut reaped: Vec<Completed> = Vec::new();
    while reaped.len() < count {
        ring.wait(None).unwrap();
        ring.reap(&mut reaped);
    }
    reaped.iter().map(|one| one.data).collect()
}

/// The printed form of row 25: what is prepared is written behind the tail, without a look at the
/// head; what the kernel says to the entry is ignored, and the list is cleared.
mod printed {
    pub(super) const ROOM: usize = 4;

    /// The queue, and a kernel that takes what it likes.
    #[derive(Default)]
    pub(super) struct Queue {
        entries: [u64; ROOM],
        head: usize,
        tail: usize,
        pub(super) pending: Vec<u64>,
        pub(super) taken: Vec<u64>,
    }

    impl Queue {
        pub(super) fn flush_submissions(&mut self, kernel_takes: usize) {
            for entry in &self.pending {
                self.entries[self.tail % ROOM] = *entry;
                self.tail += 1;
            }
            let _ = self.enter(kernel_takes);
            self.pending.clear();
        }

        fn enter(&mut self, kernel_takes: usize) -> usize {
            // The kernel reads no more than a ring.
            let most = (self.tail - self.head).min(ROOM).min(kernel_takes);
            for _ in 0..most {
                self.taken.push(self.entries[self.head % ROOM]);
                self.head += 1;
            }
            most
        }
    }
}

// CORRECTION: 25
// WITNESS: uring.kept
#[test]
fn more_entries_than_the_queue_has_places_are_all_submitted_in_order() {
    let mut queue = printed::Queue::default();
    queue.pending.extend(0..6);
    queue.flush_submissions(printed::ROOM);
    assert_eq!(queue.taken, [4, 5, 2, 3], "the printed form loses two");

    let Some(ring) = ring(Profile::Owned) else {
        return;
    };
    for number in 0..MANY {
        push(&ring, nop(number));
    }
    assert!((0..MANY).eq(reap(&ring, MANY as usize)), "ours loses none");
}

// WITNESS: uring.kept
#[test]
fn what_has_no_room_waits_in_order_and_nobody_sleeps_over_it() {
    const LIMIT: Duration = Duration::from_secs(30);
    let Some(ring) = ring(Profile::Owned) else {
        return;
    };
    let (quiet, _other) = UnixStream::pair().unwrap();
    // As if the kernel had taken nothing for a while.
    ring.with_backlog(|backlog| {
        backlog.extend((0..MANY).map(|_| sleeper(&quiet)));
        backlog.push_back(nop(1));
    });
    push(&ring, nop(2));
    let began = time::now();
    let mut reaped = Vec::new();
    while reaped.len() < 2 {
        ring.wait(Some(LIMIT)).unwrap();
        ring.reap(&mut reaped);
    }
    assert!(
        time::now().since(began) < LIMIT,
        "it slept over the backlog"
    );
    let order: Vec<u64> = reaped.iter().map(|one| one.data).collect();
    assert_eq!(order, [1, 2]);
    assert!(!ring.has_backlog());
}

// WITNESS: uring.kept
#[test]
fn completions_above_the_queues_room_come_too() {
    for profile in [Profile::Owned, Profile::Shared] {
        let Some(ring) = ring(profile) else { return };
        for number in 0..TOO_MANY {
            push(&ring, nop(number));
        }
        assert!((0..TOO_MANY).eq(reap(&ring, TOO_MANY as usize)));
    }
}

// WITNESS: uring.owner
#[cfg(debug_assertions)]
#[test]
fn submission_side_is_refused_to_other_threads() {
    let Some(ring) = ring(Profile::Shared) else {
        return;
    };
    assert!(ring.is_owner());
    thread::scope(|scope| {
        scope.spawn(|| {
            assert!(!ring.is_owner());
            let pushed = catch_unwind(AssertUnwindSafe(|| ring.has_backlog()));
            assert!(pushed.is_err());
        });
    });
}

#[test]
fn a_kernel_that_refuses_for_ever_is_reported_and_one_that_does_for_a_moment_is_not() {
    let Some(ring) = ring(Profile::Owned) else {
        return;
    };
    let refuse = |code| ring.settle(Err(io::Error::from_raw_os_error(code)));
    for code in [libc::EAGAIN, libc::EBUSY] {
        for _ in 0..REFUSALS_MAX {
            refuse(code).unwrap();
        }
        assert_eq!(refuse(code).unwrap_err().raw_os_error(), Some(code));
        // A completion that is taken, or an entry that is let in, ends the row.
        push(&ring, nop(7));
        ring.settle(Ok(1)).unwrap();
        refuse(code).unwrap();
        assert_eq!(reap(&ring, 1), [7]);
    }
    for _ in 0..=REFUSALS_MAX {
        refuse(libc::EINTR).unwrap();
        refuse(libc::ETIME).unwrap();
    }
}

// WITNESS: uring.baton, uring.memory
#[test]
fn rescuers_and_the_owner_take_each_completion_once() {
    let Some(ring) = ring(Profile::Shared) else {
        return;
    };
    let all = Mutex::new(Vec::new());
    let is_done = |all: &Mutex<Vec<u64>>| all.lock().unwrap().len() == MANY as usize;
    thread::scope(|scope| {
        for limit in [1, 7] {
            let (ring, all) = (&ring, &all);
            scope.spawn(move || {
                while !is_done(all) {
                    let mut mine = Vec::new();
                    ring.rescue(limit, &mut mine);
                    assert!(mine.len() <= limit);
                    all.lock().unwrap().extend(mine.iter().map(|one| one.data));
                }
            });
        }
        for number in 0..MANY {
            push(&ring, nop(number));
            if number % 64 == 0 {
                let mut mine = Vec::new();
                ring.look().unwrap();
                ring.reap(&mut mine);
                all.lock().unwrap().extend(mine.iter().map(|one| one.data));
            }
        }
        // The rest, which was pushed and not submitted, is the rescuers'.
    });
    let mut all = all.into_inner().unwrap();
    all.sort_unstable();
    assert!((0..MANY).eq(all));
}

//! Each fault turns the case red that is there for it. A fault that goes deep turns others red as
//! well, which are listed; no other case may.

use crate::sloppy::{Fault, Has, Sloppy};
use mainspring_testkit::conformance::{Outcome, Suite};
use std::time::Duration;

/// The case of that name is red; others only if they are listed.
///
/// A fault that takes two threads may stay hidden when the machine is busy: the case is run again.
pub(crate) fn assert_red(suite: impl Fn() -> Suite, named: &str, others: &[&str]) {
    const AGAIN: usize = 10;
    let report = suite().run();
    let mut misses = report.misses();
    for _ in 0..AGAIN {
        if !misses.contains(&named) {
            misses.extend(suite().only(named).run().misses());
        }
    }
    assert!(misses.contains(&named), "`{named}` is not red:\n{report}");
    for miss in misses {
        let is_listed = miss == named || others.contains(&miss);
        assert!(is_listed, "`{miss}` is red:\n{report}");
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
                let suite = Suite::of_subject::<Sloppy<Faulty>>;
                assert_red(suite, stringify!($case), &[$($(stringify!($other)),+)?]);
            }
        )*
    };
}

/// As `faults`, of those that deadlock: these cases hang, and no other is red.
macro_rules! deadlocks {
    ($($test:ident: $fault:ident => $($case:ident),+;)*) => {
        $(
            #[test]
            fn $test() {
                struct Faulty;
                impl Has for Faulty {
                    const FAULT: Fault = Fault::$fault;
                }
                let suite = Suite::of_subject::<Sloppy<Faulty>>;
                assert_hangs(suite, &[$(stringify!($case)),+]);
            }
        )*
    };
}

pub(crate) fn assert_hangs(suite: impl Fn() -> Suite, cases: &[&str]) {
    for case in cases {
        let report = suite().only(case).limit(Duration::from_secs(1)).run();
        let is_hung = matches!(report.outcome(case), Some(Outcome::Hung(_)));
        assert!(is_hung, "`{case}` comes back:\n{report}");
    }
    suite().except(cases).run().assert_clean();
}

#[test]
fn no_fault_passes_everything() {
    struct Sound;
    impl Has for Sound {
        const FAULT: Fault = Fault::None;
    }
    let report = Suite::of_subject::<Sloppy<Sound>>().run();
    report.assert_clean();
}

faults! {
    grant_of_a_dropped_one_is_lost: LosesGrantOfDropped => dropped_granted, and
        dropped_granted_alone, dropped_repolled, dropped_in_a_wake, random_drops,
        clone_calls_back, grant_races_drop, threads_lose_nothing, branches_of_one_task;
    grant_of_the_last_one_is_lost: LosesGrantOfLast => dropped_granted_alone, and
        dropped_in_a_wake, random_drops, threads_lose_nothing, branches_of_one_task;
    dropped_ones_stay_in_line: KeepsDropped => dropped_waiting, and
        dropped_granted, dropped_granted_alone, dropped_repolled, dropped_in_a_wake,
        random_drops, stale_wakers_are_dropped, first_come_first_served, wake_calls_back,
        clone_calls_back, drop_calls_back, clone_panics, drop_panics, grant_races_drop,
        burst_gives_memory_back, threads_lose_nothing, branches_of_one_task;
    drops_mint_permits: MintsAtDrop => dropped_waiting, and
        granted_is_let_go, dropped_in_a_wake, random_drops, stale_wakers_are_dropped,
        one_node_a_future, first_come_first_served, wake_calls_back, clone_calls_back,
        drop_calls_back, clone_panics, drop_panics, grant_races_drop, close_races_poll,
        threads_lose_nothing, burst_gives_memory_back, branches_of_one_task;
    unpolled_ones_stand_in_line: QueuesUnpolled => dropped_unpolled, and
        stored_grant_is_found, dropped_granted_alone, random_drops,
        newcomer_overtakes_nobody, dropped_yielding, clone_calls_back, drop_calls_back,
        close_lets_all_go, close_is_for_good, threads_lose_nothing;
    stops_at_a_panic: StopsAtPanic => wake_panics;
    keeps_the_first_waker: KeepsFirstWaker => latest_waker_counts, and
        dropped_repolled, random_drops, stale_wakers_are_dropped, clone_calls_back,
        grant_races_repoll, threads_lose_nothing;
    keeps_the_waker_of_one_that_ended: KeepsWakerOfEnded => stale_wakers_are_dropped, and
        dropped_closed, close_races_poll, burst_gives_memory_back;
    wakes_all_for_one: WakesAllForOne => woken_at_most_granted, and
        first_come_first_served, budget_keeps_the_order, burst_gives_memory_back;
    grows_per_poll: GrowsPerPoll => one_node_a_future, and
        dropped_repolled, random_drops, latest_waker_counts, stale_wakers_are_dropped,
        woken_at_most_granted, first_come_first_served, budget_keeps_the_order,
        clone_calls_back, drop_calls_back, drop_panics, grant_races_repoll,
        threads_lose_nothing, branches_of_one_task;
    shares_an_entry_by_waker: SharesEntryByWaker => branches_of_one_task;
    newcomers_overtake: NewcomersOvertake => newcomer_overtakes_nobody, and
        dropped_granted, dropped_repolled, dropped_in_a_wake, budget_keeps_the_order,
        grant_races_drop, random_drops;
    last_in_first_out: LastInFirstOut => first_come_first_served, and budget_keeps_the_order;
    budget_comes_before_the_queue: BudgetBeforeQueue => budget_keeps_the_order, and
        dropped_yielding;
    newcomers_are_released_too: ReleasesNewcomers => release_spares_newcomers;
    a_grant_reopens: Reopens => close_is_for_good, and close_races_poll;
    closes_for_the_first_alone: ClosesForFirst => close_lets_all_go, and
        dropped_in_a_wake, wake_panics, dropped_closed, close_races_poll;
    looks_before_it_queues: LooksBeforeItQueues => grant_races_first_poll, and
        close_races_poll, threads_lose_nothing;
    leaves_to_change_its_waker: LeavesToChangeWaker => grant_races_repoll, and
        first_come_first_served, threads_lose_nothing, one_node_a_future;
    memory_is_never_given_back: NeverShrinks => burst_gives_memory_back;
    stored_grants_are_forgotten: ForgetsStored => stored_grant_is_found, and
        dropped_granted_alone, dropped_yielding, random_drops, clone_calls_back, drop_calls_back,
        grant_races_first_poll, threads_lose_nothing, dropped_in_a_wake;
    nobody_is_woken: NeverWakes => granted_is_let_go, and
        dropped_unpolled, dropped_waiting, dropped_granted, dropped_repolled,
        dropped_in_a_wake, random_drops, latest_waker_counts, first_come_first_served,
        newcomer_overtakes_nobody, budget_keeps_the_order, dropped_yielding_granted,
        wake_calls_back, clone_calls_back, drop_calls_back, wake_panics, clone_panics,
        drop_panics, grant_races_first_poll, grant_races_repoll, grant_races_drop,
        close_races_poll, threads_lose_nothing, burst_gives_memory_back,
        branches_of_one_task;
    hands_on_to_nobody_during_a_wake: HandsOnToNobodyDuringWake => dropped_in_a_wake, and
        grant_races_drop, threads_lose_nothing, random_drops;
    a_drop_takes_the_news_of_a_close: TakesNoticeOfCloseAlong => dropped_closed, and
        dropped_in_a_wake, wake_calls_back, close_races_poll;
    close_misses_a_newcomer: CloseMissesNewcomer => close_races_poll;
    more_is_taken_than_given: LosesCounts => random_drops, and
        stored_grant_is_found, grant_races_first_poll, threads_lose_nothing;
}

deadlocks! {
    wakes_under_the_lock: WakesUnderLock => wake_calls_back, dropped_in_a_wake;
    clones_under_the_lock: ClonesUnderLock => clone_calls_back;
    drops_under_the_lock: DropsUnderLock => drop_calls_back;
}

/// What panics under the lock is called under the lock, so that this one hangs too.
fn assert_poisoned<F: Has>(named: &str, hangs: &str) {
    let suite = || Suite::of_subject::<Sloppy<F>>().except(&[hangs]);
    assert_red(suite, named, &[]);
}

#[test]
fn poisoned_by_a_panic_in_clone() {
    struct Faulty;
    impl Has for Faulty {
        const FAULT: Fault = Fault::PoisonedByPanic;
    }
    assert_poisoned::<Faulty>("clone_panics", "clone_calls_back");
}

#[test]
fn poisoned_by_a_panic_in_drop() {
    struct Faulty;
    impl Has for Faulty {
        const FAULT: Fault = Fault::PoisonedByPanicInDrop;
    }
    assert_poisoned::<Faulty>("drop_panics", "drop_calls_back");
}

//! The tables of cases, and the macros that make tests of them.

use super::{Channel, Check, Subject, Trail};
use super::{channel, closing, drops, memory, order, panics, races, reentry, sends, spent, wakers};

/// What the outcome of a case hangs on, besides the primitive.
///
/// On a primitive that is right every case passes every time. On one that is not, a case that
/// [`is_lucky`](Self::is_lucky) may miss what it is there for, and find it in one run of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Luck {
    /// Nothing: it takes the same steps every time.
    Steps,
    /// The seed, which draws its steps and replays them.
    Draws,
    /// The order in which threads run, too: the seed replays what was drawn, and not the order.
    Races,
}

impl Luck {
    /// Whether two runs may come to different things.
    #[must_use]
    pub fn is_lucky(self) -> bool {
        self != Self::Steps
    }
}

/// A case, ready to be run on one primitive.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What its outcome hangs on.
    pub luck: Luck,
    pub(super) run: fn(&Trail) -> Check,
}

macro_rules! table {
    ($($luck:ident: $module:ident :: $name:ident ::<$subject:ident>),* $(,)?) => {
        vec![$(Case {
            name: stringify!($name),
            luck: Luck::$luck,
            run: $module::$name::<$subject>,
        }),*]
    };
}

/// Every case there is about waiting, in the order in which the suite runs them: one that fails
/// early may explain those that fail after it.
#[must_use]
pub fn subject_cases<S: Subject>() -> Vec<Case> {
    table![
        Steps: drops::granted_is_let_go::<S>,
        Steps: drops::stored_grant_is_found::<S>,
        Steps: drops::dropped_unpolled::<S>,
        Steps: drops::dropped_waiting::<S>,
        Steps: drops::dropped_granted::<S>,
        Steps: drops::dropped_granted_alone::<S>,
        Steps: drops::dropped_repolled::<S>,
        Steps: drops::dropped_in_a_wake::<S>,
        Draws: drops::random_drops::<S>,
        Steps: wakers::latest_waker_counts::<S>,
        Steps: wakers::stale_wakers_are_dropped::<S>,
        Steps: wakers::one_node_a_future::<S>,
        Steps: wakers::woken_at_most_granted::<S>,
        Steps: wakers::branches_of_one_task::<S>,
        Steps: order::first_come_first_served::<S>,
        Steps: order::newcomer_overtakes_nobody::<S>,
        Steps: order::budget_keeps_the_order::<S>,
        Steps: spent::dropped_yielding::<S>,
        Steps: spent::dropped_yielding_granted::<S>,
        Steps: reentry::wake_calls_back::<S>,
        Steps: reentry::clone_calls_back::<S>,
        Steps: reentry::drop_calls_back::<S>,
        Steps: panics::wake_panics::<S>,
        Steps: panics::clone_panics::<S>,
        Steps: panics::drop_panics::<S>,
        Steps: closing::release_spares_newcomers::<S>,
        Steps: closing::close_lets_all_go::<S>,
        Steps: closing::close_is_for_good::<S>,
        Steps: closing::dropped_closed::<S>,
        Races: races::grant_races_first_poll::<S>,
        Races: races::grant_races_repoll::<S>,
        Races: races::grant_races_drop::<S>,
        Races: races::close_races_poll::<S>,
        Races: races::threads_lose_nothing::<S>,
        Steps: memory::burst_gives_memory_back::<S>,
    ]
}

/// Every case there is about values.
#[must_use]
pub fn channel_cases<C: Channel>() -> Vec<Case> {
    table![
        Steps: channel::values_arrive_in_order::<C>,
        Steps: channel::dropped_receive_loses_nothing::<C>,
        Steps: channel::closed_delivers_what_was_sent::<C>,
        Steps: channel::dropped_end_frees_values::<C>,
        Steps: channel::value_drop_calls_back::<C>,
        Steps: channel::value_drop_panics::<C>,
        Races: channel::threads_receive_exactly_once::<C>,
        Steps: sends::dropped_send_is_withdrawn::<C>,
        Steps: sends::repolled_send_is_woken::<C>,
        Steps: sends::dropped_granted_send::<C>,
        Steps: sends::closed_send_is_settled::<C>,
        Steps: sends::orphaned_send_is_settled::<C>,
        Steps: sends::waiting_value_drop_calls_back::<C>,
        Steps: sends::waiting_value_drop_panics::<C>,
        Races: sends::threads_withdraw_sends::<C>,
    ]
}

/// Makes a module with one `#[test]` for each case about waiting.
///
/// ```
/// # use std::sync::Arc;
/// # use mainspring_testkit::conformance::{Shape, Subject, Waited};
/// # pub struct MySemaphore;
/// # impl Subject for MySemaphore {
/// #     fn shape() -> Shape {
/// #         Shape::counting()
/// #     }
/// #     fn new() -> Self {
/// #         Self
/// #     }
/// #     fn wait(self: &Arc<Self>) -> mainspring_testkit::Boxed<Waited> {
/// #         Box::pin(std::future::pending())
/// #     }
/// # }
/// mainspring_testkit::conformance! {
///     mod semaphore: crate::MySemaphore;
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! conformance {
    (mod $name:ident : $subject:ty;) => {
        $crate::__case_tests! {
            $name, $crate::conformance::Suite::of_subject::<$subject>();
            granted_is_let_go, stored_grant_is_found, dropped_unpolled, dropped_waiting,
            dropped_granted, dropped_granted_alone, dropped_repolled, dropped_in_a_wake,
            random_drops, latest_waker_counts, stale_wakers_are_dropped, one_node_a_future,
            woken_at_most_granted, branches_of_one_task,
            first_come_first_served, newcomer_overtakes_nobody,
            budget_keeps_the_order, dropped_yielding, dropped_yielding_granted,
            wake_calls_back, clone_calls_back, drop_calls_back, wake_panics, clone_panics,
            drop_panics, release_spares_newcomers, close_lets_all_go, close_is_for_good,
            dropped_closed, grant_races_first_poll, grant_races_repoll, grant_races_drop,
            close_races_poll, threads_lose_nothing, burst_gives_memory_back,
        }
    };
}

/// Makes a module with one `#[test]` for each case about values, as [`conformance!`] does for those
/// about waiting.
#[macro_export]
macro_rules! channel_conformance {
    (mod $name:ident : $channel:ty;) => {
        $crate::__case_tests! {
            $name, $crate::conformance::Suite::of_channel::<$channel>();
            values_arrive_in_order, dropped_receive_loses_nothing,
            closed_delivers_what_was_sent, dropped_end_frees_values, value_drop_calls_back,
            value_drop_panics, threads_receive_exactly_once, dropped_send_is_withdrawn,
            repolled_send_is_woken, dropped_granted_send, closed_send_is_settled,
            orphaned_send_is_settled, waiting_value_drop_calls_back,
            waiting_value_drop_panics, threads_withdraw_sends,
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __case_tests {
    ($name:ident, $suite:expr; $($case:ident),* $(,)?) => {
        mod $name {
            $(
                #[test]
                fn $case() {
                    let report = $suite.only(stringify!($case)).run();
                    println!("{report}");
                    report.assert_clean();
                }
            )*

            #[test]
            fn no_case_is_missing() {
                let names: Vec<_> = $suite.names().collect();
                assert_eq!(names, [$(stringify!($case)),*]);
            }
        }
    };
}

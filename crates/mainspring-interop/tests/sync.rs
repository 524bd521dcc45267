//! Channels, locks and permits under other people's executors, between them, and beside threads.

#[path = "sync/hosts.rs"]
mod hosts;
#[path = "sync/locks.rs"]
mod locks;
#[path = "sync/messages.rs"]
mod messages;
#[path = "sync/mixed.rs"]
mod mixed;
#[path = "sync/signals.rs"]
mod signals;
#[path = "sync/timeouts.rs"]
mod timeouts;

use hosts::{Futures, Smol, TokioMulti, TokioSingle};

macro_rules! under_each {
    ($($module:ident::$name:ident),* $(,)?) => {
        mod under_tokio {
            $(#[test] fn $name() { super::$module::$name::<super::TokioMulti>(); })*
        }
        mod under_tokio_on_one_thread {
            $(#[test] fn $name() { super::$module::$name::<super::TokioSingle>(); })*
        }
        mod under_smol {
            $(#[test] fn $name() { super::$module::$name::<super::Smol>(); })*
        }
        mod under_futures {
            $(#[test] fn $name() { super::$module::$name::<super::Futures>(); })*
        }
    };
}

under_each! {
    locks::semaphore_bounds_what_runs,
    locks::mutex_lets_one_in,
    locks::rwlock_shows_whole_values,
    locks::condvar_hands_over,
    messages::channel_carries_each_message_once,
    messages::channel_is_a_stream,
    messages::rendezvous_carries_each_message_once,
    messages::rendezvous_is_a_stream,
    messages::sink_carries_each_message_once,
    messages::select_to_the_end_of_a_stream,
    messages::permits_and_batches_carry_each_message_once,
    messages::lossless_broadcast_reaches_all_in_order,
    messages::lossy_broadcast_counts_what_was_lost,
    messages::oneshot_answers_each_request,
    signals::notify_plays_ping_pong,
    signals::watch_ends_with_the_last_value,
    signals::barrier_has_one_leader_a_round,
    signals::wait_group_waits_for_all,
    signals::cells_are_made_once,
    timeouts::timed_out_receives_lose_nothing,
    timeouts::timed_out_streams_are_in_nobodys_way,
    timeouts::timed_out_sinks_give_their_room_up,
    timeouts::timed_out_permits_come_back,
    timeouts::timed_out_locks_are_free,
    timeouts::timed_out_notifications_are_passed_on,
}

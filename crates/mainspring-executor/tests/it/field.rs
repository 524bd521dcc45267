//! What went wrong with other schedulers, tried on the pool.
//!
//! | entry | here |
//! |---|---|
//! | B016 to B018, B035 to B047 in all their combinations | `shutdown` |
//! | B023 jobs that never start | the blocking pool is core's, and so are its tests |
//! | B025 a thread is refused | `end`: `driver_that_cannot_be_made…`, the same way for threads |
//! | B026 one task keeps its worker | `others_go_on_while_one_worker_is_stuck` |
//! | B028 a pair starves the queue | `pool::worker::tests::corrections`: `pair_that_wakes…` |
//! | B029 a task behind a long poll | `task_that_a_stuck_worker_has_woken_is_run_by_another` |
//! | B031 a yield that is not flushed | `yield_by_hand_wakes_at_once` |
//! | B032 a driver that is never polled | `short_block_ons_look_at_the_driver_each_time` |
//! | B034 a yield that starves | `pool::worker::tests::corrections`: `spent_budget_yields…` |
//! | B035 tasks ended one by one | `drop_of_the_pool_ends_all_tasks_at_once` |
//! | B037 dropped on a foreign thread | `pinned_task_is_dropped_at_home_whoever_ends_it` |
//! | B038 abort from anywhere | `abort_from_anywhere_is_an_abort` |
//! | B040 spawned during the end | `spawns_racing_the_end_are_run_or_refused` |
//! | B041 an end that waits for a job | `end_does_not_wait_for_a_running_job` |
//! | B043 wakers that keep their tasks | `tasks_that_own_their_wakers_leak_nothing` |
//! | B044 kept in a thread-local | `pool_and_handles_in_thread_locals_end_with_their_thread` |
//! | B046 a local task nobody is told of | `pool::lane::tests::loom` |
//! | B047 wakers held elsewhere | `wakers_held_elsewhere_outlive_the_pool` |
//! | B049 busy while idle | `idle_pool_parks_and_stays_there` |
//! | B050 executors that interleave | `two_pools_and_a_local_executor_interleave` |
//! | B052 gauges | `gauges_are_zero_after_the_end` |
//! | B053 a poor seed | `pool::worker::tests::order`: `every_victim_is_tried_first…` |

use mainspring_executor::Pool;

mod ending;
mod running;

fn pool(workers: usize) -> Pool {
    Pool::builder().workers(workers).build().expect("threads")
}

//! Running a composition under many schedules, and saying how to see a failing one again.
//!
//! An exploration is made of rounds. A round has one seed, and runs the body [`ROUND`] times under
//! the random scheduler and as often under PCT at each depth of [`DEPTHS`] (Burckhardt et al.,
//! 2010: with n threads, k steps and a bug that takes d ordered points to show, each execution
//! finds it with probability 1/(n·k^(d−1)) at least). Each round begins with some schedules that
//! are run twice: a body that is random by itself fails, so that a seed replays what it says.
//!
//! | variable | is |
//! |---|---|
//! | `MAINSPRING_SHUTTLE_SEED` | the seed of the first round, in decimal |
//! | `MAINSPRING_SHUTTLE_ITERATIONS` | executions under each scheduler; rounded up to rounds |
//!
//! # Invariants
//!
//! - **shuttle.balance** — what an execution takes from [`alloc`], it has given back when it is
//!   over.

use ::shuttle::current::{context_switches, try_get_current_task};
use ::shuttle::rand::{Rng, RngCore, thread_rng};
use ::shuttle::scheduler::{
    PctScheduler, RandomScheduler, Scheduler, UncontrolledNondeterminismCheckScheduler,
};
use ::shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use ::std::alloc::Layout;
use ::std::cell::Cell;
use ::std::fmt;
use ::std::panic::{set_hook, take_hook};
use ::std::sync::{Arc, Once};
use ::std::time::Duration;

/// Executions under each scheduler in one round.
const ROUND: usize = 50;

/// The depths at which PCT looks, and what it is called there: ordering bugs of two and three
/// points, and a few beyond.
const DEPTHS: [(usize, &str); 3] = [(2, "PCT 2"), (3, "PCT 3"), (5, "PCT 5")];

/// Schedules of a round that are run twice.
const TWICE: usize = 3;

/// Steps after which an execution is said to run for ever.
const STEPS_MAX: usize = 200_000;

/// The stack of a thread, in bytes: unoptimised futures are large.
const STACK_BYTES: usize = 1 << 18;

/// The seed of the first round where the environment names none.
const SEED: u64 = 0x6d61_696e_7370_7269;

/// Runs `body` again and again, each time under another schedule, until one fails or all have
/// been seen that the environment asks for (one round if it asks for nothing).
///
/// The body, and all threads that it starts, run to their ends in each execution; a thread that
/// sleeps then for ever is a deadlock, which shuttle reports. Nothing may outlive an execution in a
/// static that holds a primitive which is not at rest.
///
/// # Panics
///
/// With the panic of a failing execution, after a line that says how to replay it.
pub fn explore(body: impl Fn() + Send + Sync + 'static) {
    announce_failures();
    let body = Arc::new(body);
    let iterations = variable("ITERATIONS").unwrap_or(1).max(1);
    let mut seed = variable("SEED").unwrap_or(SEED);
    for _ in 0..iterations.div_ceil(ROUND as u64) {
        let twice = RandomScheduler::new_from_seed(seed, TWICE);
        let twice = UncontrolledNondeterminismCheckScheduler::new(twice);
        run(seed, "random, twice", twice, &body);
        let random = RandomScheduler::new_from_seed(seed, ROUND);
        run(seed, "random", random, &body);
        for (depth, name) in DEPTHS {
            let pct = PctScheduler::new_from_seed(seed, depth, ROUND);
            run(seed, name, pct, &body);
        }
        // The step of Steele, Lea and Flood's SplitMix64; the schedulers mix it.
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    }
}

/// One scheduler of one round.
fn run<F: Fn() + Send + Sync + 'static>(
    seed: u64,
    scheduler: &'static str,
    schedule: impl Scheduler + 'static,
    body: &Arc<F>,
) {
    NOW.set(Some(Now { seed, scheduler }));
    LIVE.set(0);
    let body = Arc::clone(body);
    Runner::new(schedule, config()).run(move || {
        assert_balance();
        body();
    });
    assert_balance();
    NOW.set(None);
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    // The seed replays it; the schedule itself is long.
    config.failure_persistence = FailurePersistence::None;
    config.silence_warnings = true;
    config
}

/// A number of the environment's.
fn variable(name: &str) -> Option<u64> {
    let name = format!("MAINSPRING_SHUTTLE_{name}");
    let value = ::std::env::var(&name).ok()?;
    match value.parse() {
        Ok(number) => Some(number),
        // PANIC: whoever set it has to hear of it, and this runs in tests alone.
        Err(_) => panic!("{name}={value} is no number"),
    }
}

/// What is being explored on this thread of the operating system, on which all of it runs.
#[derive(Clone, Copy, Debug)]
struct Now {
    seed: u64,
    scheduler: &'static str,
}

impl fmt::Display for Now {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, scheduler } = self;
        let thread = ::std::thread::current();
        let name = thread.name().unwrap_or("NAME");
        write!(
            f,
            "under {scheduler}; to see it again: cargo xtask shuttle "
        )?;
        write!(f, "--seed {seed} --iterations {ROUND} {name}")
    }
}

::std::thread_local! {
    static NOW: Cell<Option<Now>> = const { Cell::new(None) };
    /// Blocks that were taken from [`alloc`] and not given back.
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

/// Lets each panic of an execution say how to see it again. Before the panic is told, because a
/// second one in a destructor ends the process.
fn announce_failures() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let rest = take_hook();
        set_hook(Box::new(move |info| {
            if let Some(now) = NOW.get() {
                eprintln!("{now}");
            }
            rest(info);
        }));
    });
}

/// A number below `bound`, which a replay draws again. To be called in an execution.
///
/// # Panics
///
/// If `bound` is 0.
pub fn below(bound: u32) -> u32 {
    thread_rng().gen_range(0..bound)
}

/// 64 random bits, which a replay draws again. To be called in an execution.
pub fn entropy() -> u64 {
    thread_rng().next_u64()
}

/// The time since an execution began: a microsecond a step, so that it is the same in a replay.
#[must_use]
pub fn elapsed() -> Duration {
    let is_in_one = try_get_current_task().is_some();
    let steps = if is_in_one { context_switches() } else { 0 };
    Duration::from_micros(steps as u64)
}

fn assert_balance() {
    let live = LIVE.get();
    assert_eq!(live, 0, "shuttle.balance: blocks left by an execution");
}

/// [`std::alloc::alloc`], counted.
///
/// # Safety
///
/// As there.
#[must_use]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    LIVE.set(LIVE.get() + 1);
    // SAFETY: [shuttle.balance] the caller answers for the layout; counting changes nothing.
    unsafe { ::std::alloc::alloc(layout) }
}

/// [`std::alloc::dealloc`], counted.
///
/// # Safety
///
/// As there.
pub unsafe fn dealloc(pointer: *mut u8, layout: Layout) {
    LIVE.set(LIVE.get() - 1);
    // SAFETY: [shuttle.balance] the caller answers for the block; counting changes nothing.
    unsafe { ::std::alloc::dealloc(pointer, layout) }
}

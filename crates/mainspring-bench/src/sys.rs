//! The few calls to the operating system that measuring needs.

use std::fs;
use std::io;
use std::time::Duration;

/// What the scheduler did with this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scheduling {
    /// Time on a core, all threads.
    pub ran_ns: u64,
    /// Time runnable but waiting for a core, all threads.
    pub waited_ns: u64,
}

/// Reads `/proc/self/task/*/schedstat`.
pub fn scheduling() -> Scheduling {
    let mut sum = Scheduling::default();
    for thread in fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
    {
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        let mut fields = text
            .split_whitespace()
            .map(|field| field.parse().unwrap_or(0));
        sum.ran_ns += fields.next().unwrap_or(0);
        sum.waited_ns += fields.next().unwrap_or(0);
    }
    sum
}

/// Pins the calling thread, and all that it will start, to one core, or to the last core there
/// is when the machine has fewer.
pub fn pin_process(core: usize) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    pin_thread(core.min(cores - 1));
}

/// Pins the calling thread.
pub fn pin_thread(core: usize) {
    // SAFETY: all zeroes is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is valid and `core` far below its 1,024 bits.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: the pointer and the size describe `set`; 0 is the calling thread.
    let failed = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
    assert_eq!(
        failed,
        0,
        "cannot pin to core {core}: {}",
        io::Error::last_os_error()
    );
}

/// Lifts the soft limit on descriptors to the hard one.
pub fn raise_descriptor_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is valid for the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0 {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: the pointer is valid for the call. A refusal shows up as a failed accept.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    }
}

/// The CPU time that this process has used so far.
pub fn cpu_time() -> Duration {
    cpu_time_of(std::process::id())
}

/// CPU time of a whole process, its ended threads included: what getrusage counts, in
/// nanoseconds and from outside.
pub fn cpu_time_of(process: u32) -> Duration {
    let mut clock = 0;
    // SAFETY: the pointer is valid for the call.
    let failed = unsafe { libc::clock_getcpuclockid(process as libc::pid_t, &mut clock) };
    assert_eq!(failed, 0, "process {process} has no clock");
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid for the call.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(failed, 0, "process {process} is gone");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Memory of this process that is in pages of its own.
pub fn resident_bytes() -> i64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: i64 = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * 4_096
}

/// A small, seeded generator (splitmix64): the rows must not measure randomness.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, evenly enough for a benchmark.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// Shields this process from its neighbours as far as it may: a session of its own, with the
/// highest weight for the session's scheduling group and for the process. Says whether it was
/// allowed to. (While the kernel groups by session, a plain nice value counts only within one.)
///
/// Must come before any thread: what returns is a forked child, because the driver makes its
/// children leaders of a group, and such a one cannot start a session. The first process
/// waits for it and ends as it ends; when the driver dies, both die.
pub fn calm() -> bool {
    end_with_parent();
    // SAFETY: there is one thread, so the child may go on as if nothing had happened.
    match unsafe { libc::fork() } {
        -1 => return false,
        0 => {}
        child => exit_like(child),
    }
    end_with_parent();
    // SAFETY: no pointers; a freshly forked process leads no group.
    unsafe { libc::setsid() };
    // SAFETY: no pointers; 0 is this process.
    let niced = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) } == 0;
    let group = fs::write("/proc/self/autogroup", "-20");
    let grouping = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled");
    niced && (group.is_ok() || !grouping.is_ok_and(|on| on.trim() == "1"))
}

/// Has the kernel kill this process when its parent ends.
pub fn end_with_parent() {
    // SAFETY: this option takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

fn exit_like(child: libc::pid_t) -> ! {
    let mut status = 0;
    // SAFETY: the pointer is valid for the call.
    while unsafe { libc::waitpid(child, &mut status, 0) } == -1 {}
    let code = if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        70
    };
    std::process::exit(code)
}

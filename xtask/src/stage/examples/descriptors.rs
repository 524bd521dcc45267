//! How many descriptors this process, and what it starts, may have.

/// How many of `wanted` connections fit, after the limit was raised as far as it goes: one
/// descriptor each here, and one each in the server.
#[cfg(target_os = "linux")]
pub(super) fn affordable(wanted: usize) -> usize {
    const OTHERS: usize = 64;
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is to a whole `rlimit`.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return wanted.min(512);
    }
    limit.rlim_cur = limit.rlim_max;
    // If it fails, what was there before counts.
    // SAFETY: as above.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    // SAFETY: as above.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let most = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX);
    wanted.min(most.saturating_sub(OTHERS))
}

/// Elsewhere nobody asks.
#[cfg(not(target_os = "linux"))]
pub(super) fn affordable(wanted: usize) -> usize {
    wanted.min(128)
}

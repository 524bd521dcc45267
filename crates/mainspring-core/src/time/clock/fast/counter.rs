//! The time stamp counter of x86-64 under Linux.

use std::sync::OnceLock;

const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Asked once: a kernel that distrusts the counter later costs accuracy within an anchor's 10 ms,
/// and the next anchor finds the rate contradicted.
#[inline]
pub(super) fn is_trusted() -> bool {
    static TRUSTED: OnceLock<bool> = OnceLock::new();
    *TRUSTED.get_or_init(|| std::fs::read_to_string(SOURCE).is_ok_and(|name| name.trim() == "tsc"))
}

/// The counter, if the kernel trusts it.
#[inline]
pub(super) fn read() -> Option<u64> {
    is_trusted().then(|| {
        // SAFETY: [clock.trusted] every x86-64 processor has the instruction, and a kernel whose
        // own clock source it is lets programs execute it.
        unsafe { std::arch::x86_64::_rdtsc() }
    })
}

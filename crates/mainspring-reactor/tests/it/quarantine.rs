//! The allocator of these tests: it sees writes into memory that was freed.
//!
//! No sanitizer sees what the kernel writes. So a freed block is filled with one byte and parked
//! instead of being given back; when it leaves the parking lot, and at the end of a test, it still
//! has to be full of that byte. A block that is not ends the process, with a line that says where.
//!
//! It also counts the bytes that live.

use std::alloc::{GlobalAlloc, Layout, System};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: Quarantine = Quarantine;

/// What a freed block is full of.
const FILL: u8 = 0xDD;
/// How many blocks are parked.
const PLACES: usize = 4096;
/// How many bytes are parked, if that is more than one block.
const BYTES_MAX: usize = 64 << 20;

struct Quarantine;

#[derive(Clone, Copy)]
struct Parked {
    start: *mut u8,
    layout: Layout,
}

/// A ring of parked blocks.
struct Lot {
    places: [Option<Parked>; PLACES],
    first: usize,
    count: usize,
    bytes: usize,
}

// SAFETY: [cell.lent] the blocks belong to nobody but the lot.
unsafe impl Send for Lot {}

static LOT: Mutex<Lot> = Mutex::new(Lot {
    places: [None; PLACES],
    first: 0,
    count: 0,
    bytes: 0,
});

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// How many bytes live.
pub(crate) fn live_bytes() -> usize {
    LIVE.load(Relaxed)
}

/// Checks every block that is parked.
pub(crate) fn check() {
    let lot = lot();
    for parked in lot.places.iter().flatten() {
        parked.check();
    }
}

fn lot() -> MutexGuard<'static, Lot> {
    // On Linux it allocates nothing.
    LOT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Parked {
    fn check(&self) {
        let (start, bytes) = (self.start, self.layout.size());
        // SAFETY: [cell.lent] the block is the lot's, and was filled when it came.
        let block = unsafe { slice::from_raw_parts(start, bytes) };
        let Some(first) = block.first() else { return };
        // Each byte is the one before it: one comparison of memory, also in a debug build.
        if *first == FILL && block[1..] == block[..bytes - 1] {
            return;
        }
        if let Some(place) = block.iter().position(|byte| *byte != FILL) {
            complain(start, bytes, place, block[place]);
        }
    }
}

/// Ends the process, without allocating.
fn complain(start: *const u8, bytes: usize, place: usize, found: u8) -> ! {
    use std::io::Write;
    let mut line = [0_u8; 160];
    let mut rest = &mut line[..];
    let _ = writeln!(
        rest,
        "quarantine: byte {place} of a freed block of {bytes} at {start:p} became {found:#04x}"
    );
    let written = 160 - rest.len();
    let _ = std::io::stderr().write_all(&line[..written]);
    std::process::abort();
}

impl Lot {
    /// Parks a block. Returns those that have to leave.
    fn park(&mut self, parked: Parked) -> [Option<Parked>; 2] {
        let mut leaving = [None; 2];
        let mut most = leaving.iter_mut();
        while self.count == PLACES || (self.count > 0 && self.bytes > BYTES_MAX) {
            let Some(place) = most.next() else { break };
            *place = self.places[self.first].take();
            self.bytes -= place.map_or(0, |parked| parked.layout.size());
            self.first = (self.first + 1) % PLACES;
            self.count -= 1;
        }
        self.places[(self.first + self.count) % PLACES] = Some(parked);
        self.count += 1;
        self.bytes += parked.layout.size();
        leaving
    }
}

// SAFETY: [cell.lent] blocks are the system's; each is given back once, after it has left the lot.
unsafe impl GlobalAlloc for Quarantine {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: [cell.lent] the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: [cell.lent] the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: [cell.lent] the block is the caller's, who gives it up.
        unsafe { start.write_bytes(FILL, layout.size()) };
        let leaving = lot().park(Parked { start, layout });
        for parked in leaving.into_iter().flatten() {
            parked.check();
            // SAFETY: [cell.lent] it came by `dealloc`, once, and has left the lot.
            unsafe { System.dealloc(parked.start, parked.layout) };
        }
    }
}

#[test]
fn write_into_freed_memory_is_found() {
    use std::os::fd::AsRawFd;
    let name = "quarantine::write_into_freed_memory_is_found";
    let output = crate::rig::child(name, || {
        let (reader, mut writer) = std::os::unix::net::UnixStream::pair().unwrap();
        std::io::Write::write_all(&mut writer, b"late").unwrap();
        let block = vec![0_u8; 64];
        let start = block.as_ptr().cast_mut();
        drop(block);
        check();
        // The kernel writes, as it does for an operation whose buffer was freed too early.
        let late = start.wrapping_add(7).cast();
        // SAFETY: [cell.lent] the block is parked: nobody uses it, and it is still mapped.
        unsafe { libc::read(reader.as_raw_fd(), late, 4) };
        check();
        unreachable!("nobody has seen it");
    });
    let Some(output) = output else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("quarantine: byte 7 of a freed block of 64"),
        "{said}"
    );
    assert!(!output.status.success());
}

#[test]
fn live_bytes_are_counted() {
    let before = live_bytes();
    let block = std::hint::black_box(vec![0_u8; 1 << 20]);
    // Other tests allocate, too, but not that much in between.
    assert!(live_bytes() >= before.saturating_sub(1 << 19) + block.len());
}

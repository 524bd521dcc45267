//! What the program does when nothing fails: which calls it makes, and how often.

use super::matrix::{self, Served};
use crate::context::Context;
use crate::run::Command;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Why there is no reference run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Without {
    /// The machine does not allow it.
    MayBeSkipped(String),
    /// The program fails when nothing else does.
    Fault(String),
}

/// The calls of a run without a fault.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    /// How often the busiest thread makes each call.
    counts: BTreeMap<String, u32>,
    /// Which calls of mmap belong to the making of the ring.
    ring_maps: Vec<u32>,
}

impl Reference {
    pub(super) fn run(ctx: &Context, program: &Path, served: Served) -> Result<Self, Without> {
        let calls = matrix::calls().join(",");
        let (strace, log) =
            log_of(ctx, &[&format!("trace={calls}")]).map_err(Without::MayBeSkipped)?;
        let command = (strace.arg(program)).args(["--backend", served.option()]);
        let output = command.capture();
        let log = log.take();
        if log.is_empty() {
            let reason = format!("nobody may be traced here: {}", output.stderr.trim_end());
            return Err(Without::MayBeSkipped(reason));
        }
        if output.stdout.contains("MS0009") {
            let reason = format!("no ring here: {}", output.stdout.trim_end());
            return Err(Without::MayBeSkipped(reason));
        }
        output.ok(&command).map_err(Without::Fault)?;
        Ok(Self::read(&log))
    }

    /// Reads a log of strace's: a process number, a call and its arguments a line.
    pub(super) fn read(log: &str) -> Self {
        let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        let mut ring_maps = Vec::new();
        let mut makes_ring = None;
        for line in log.lines() {
            let Some((thread, rest)) = line.split_once(char::is_whitespace) else {
                continue;
            };
            let Some((call, _)) = rest.trim_start().split_once('(') else {
                continue;
            };
            let count = counts.entry((thread, call)).or_default();
            *count += 1;
            match call {
                "io_uring_setup" => makes_ring = Some(thread),
                "io_uring_enter" => makes_ring = None,
                "mmap" if makes_ring == Some(thread) => ring_maps.push(*count),
                _ => {}
            }
        }
        let mut busiest = BTreeMap::new();
        for ((_, call), count) in counts {
            let most: &mut u32 = busiest.entry(call.to_owned()).or_default();
            *most = count.max(*most);
        }
        Self {
            counts: busiest,
            ring_maps,
        }
    }

    /// How often the busiest thread makes one of these calls, which are separated by commas.
    pub(super) fn count(&self, calls: &str) -> u32 {
        let counts = calls.split(',').filter_map(|call| self.counts.get(call));
        counts.copied().max().unwrap_or(0)
    }

    /// Which calls of mmap belong to the making of the ring.
    pub(super) fn ring_maps(&self) -> &[u32] {
        &self.ring_maps
    }
}

/// A file that strace writes its log to.
pub(super) struct Log(PathBuf);

impl Log {
    /// What was written, once.
    pub(super) fn take(self) -> String {
        let bytes = std::fs::read(&self.0).unwrap_or_default();
        // What cannot be removed is left to `cargo clean`.
        let _ = std::fs::remove_file(&self.0);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// strace with these expressions, and where it logs; the program is still to be added.
pub(super) fn log_of(ctx: &Context, expressions: &[&str]) -> Result<(Command, Log), String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let dir = ctx.target("faults");
    std::fs::create_dir_all(&dir)
        .map_err(|error| format!("cannot create {}: {error}", dir.display()))?;
    // Another run of xtask may be at it.
    let (run, serial) = (std::process::id(), COUNT.fetch_add(1, Relaxed));
    let log = dir.join(format!("log-{run}-{serial}"));
    let mut strace = (ctx.command("strace"))
        .args(["-f", "--seccomp-bpf", "-qq", "-e", "signal=none", "-o"])
        .arg(&log);
    for expression in expressions {
        strace = strace.args(["-e", expression]);
    }
    Ok((strace, Log(log)))
}

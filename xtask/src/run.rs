//! Running commands: printed first, bounded in time and output, and leaving nothing behind.
//!
//! A [`Command`] runs in a process group of its own. When it ends, when its time is up, when it
//! floods its output, and when xtask itself is interrupted, the whole group is killed: a test that
//! hangs takes its children with it. The killing is done by the [`reaper`], because `std` can
//! neither signal a group nor outlive this process.
//!
//! # Rejected
//!
//! Pipes for captured output: a grandchild that left the group keeps them open, and the reader
//! waits for it for ever. Output goes to unlinked files instead, which also keeps standard output
//! and standard error of one process in the order in which they were written.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

mod quote;
mod reaper;
mod service;

use self::quote::quote;
pub(crate) use self::service::Service;

/// How much a captured command may write before it is stopped.
const OUTPUT_BYTES_MAX: u64 = 64 << 20;

/// How often a running command's output is measured.
const MEASURE_EVERY: Duration = Duration::from_millis(250);

/// How long a killed process may take to be gone.
const KILL_GRACE: Duration = Duration::from_secs(10);

/// A command to be run once. Made by `Context::command`.
#[derive(Debug, Clone)]
#[must_use = "a command does nothing until it is streamed or captured"]
pub(crate) struct Command {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(String, OsString)>,
    dir: PathBuf,
    /// Where the reader of the printed line stands.
    home: PathBuf,
    limit: Duration,
    printed: bool,
}

impl Command {
    /// A command in the current directory with a limit of one minute.
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            dir: PathBuf::from("."),
            home: PathBuf::from("."),
            limit: Duration::from_secs(60),
            printed: true,
        }
    }

    /// Adds one argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds several arguments.
    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.args.extend(args);
        self
    }

    /// Sets a variable of the command's environment.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref().to_owned();
        self.env.push((name.to_owned(), value));
        self
    }

    /// Runs the command in this directory.
    pub(crate) fn dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.dir = dir.as_ref().to_owned();
        self
    }

    /// Runs the command in this directory, and takes it as the one where its reader stands.
    pub(crate) fn home(mut self, dir: impl AsRef<Path>) -> Self {
        self.home = dir.as_ref().to_owned();
        self.dir(dir)
    }

    /// Stops the command, and all it started, after this long.
    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Does not print the command: for probes, and for tests of which there are thousands.
    pub(crate) fn quiet(mut self) -> Self {
        self.printed = false;
        self
    }

    /// The command as a line that can be pasted into a shell.
    pub(crate) fn line(&self) -> String {
        let assignments = self
            .env
            .iter()
            .map(|(name, value)| format!("{name}={}", quote(value)));
        let mut words: Vec<_> = assignments.collect();
        words.push(quote(&self.program));
        words.extend(self.args.iter().map(|arg| quote(arg)));
        let line = words.join(" ");
        if self.dir == self.home {
            return line;
        }
        format!("(cd {} && {line})", quote(self.dir.as_os_str()))
    }

    /// Runs the command with its output going where ours goes.
    pub(crate) fn stream(&self) -> Ending {
        self.run(&Sinks::default()).0
    }

    /// Runs the command and keeps its standard output and standard error apart.
    pub(crate) fn capture(&self) -> Output {
        self.run_into(scratch_file().and_then(|out| {
            Ok(Sinks {
                out: Some(out),
                err: Some(scratch_file()?),
            })
        }))
    }

    /// Runs the command and keeps its standard output; what it writes to standard error is seen
    /// at once.
    pub(crate) fn capture_stdout(&self) -> Output {
        self.run_into(scratch_file().map(|out| Sinks {
            out: Some(out),
            err: None,
        }))
    }

    /// Runs the command and keeps all it writes, in the order in which it is written, in
    /// [`Output::stdout`].
    pub(crate) fn capture_merged(&self) -> Output {
        let mut output = self.run_into(scratch_file().and_then(|out| {
            Ok(Sinks {
                err: Some(out.try_clone()?),
                out: Some(out),
            })
        }));
        output.stderr.clear();
        output
    }

    fn run_into(&self, sinks: io::Result<Sinks>) -> Output {
        let sinks = match sinks {
            Ok(sinks) => sinks,
            Err(error) => {
                let why = format!("cannot create a file for its output: {error}");
                return Output::failed(Ending::NotStarted(why));
            }
        };
        let (ending, elapsed) = self.run(&sinks);
        Output {
            ending,
            elapsed,
            stdout: read_back(sinks.out),
            stderr: read_back(sinks.err),
        }
    }

    fn run(&self, sinks: &Sinks) -> (Ending, Duration) {
        if self.printed {
            println!("$ {}", self.line());
        }
        let started = Instant::now();
        let ending = match self.start(sinks) {
            Ok(child) => self.wait(child, sinks),
            Err(error) => Ending::NotStarted(format!(
                "cannot start {} in {}: {error}",
                self.program.to_string_lossy(),
                self.dir.display()
            )),
        };
        (ending, started.elapsed())
    }

    fn start(&self, sinks: &Sinks) -> io::Result<Child> {
        let mut process = std::process::Command::new(&self.program);
        process.args(&self.args).current_dir(&self.dir);
        process.stdin(Stdio::null()).process_group(0);
        for (name, _) in std::env::vars_os() {
            if is_of_our_own_package(&name) {
                process.env_remove(&name);
            }
        }
        process.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(out) = &sinks.out {
            process.stdout(out.try_clone()?);
        }
        if let Some(err) = &sinks.err {
            process.stderr(err.try_clone()?);
        }
        reaper::spawn(&mut process)
    }

    /// Waits for the end or the limit, whichever comes first, and kills what is left of the group.
    fn wait(&self, mut child: Child, sinks: &Sinks) -> Ending {
        let group = child.id();
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || {
            // The receiver is gone only when a killed process would not die: nobody to tell.
            let _ = ended.send(child.wait());
        });
        let deadline = Instant::now() + self.limit;
        let ending = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match end.recv_timeout(left.min(MEASURE_EVERY)) {
                Ok(Ok(status)) => break Ending::from(status),
                Ok(Err(error)) => break Ending::NotStarted(format!("cannot wait: {error}")),
                Err(RecvTimeoutError::Disconnected) => {
                    break Ending::NotStarted("its waiting thread died".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let stop = if left.is_zero() {
                Ending::TimedOut(self.limit)
            } else if sinks.written() > OUTPUT_BYTES_MAX {
                Ending::Flooded
            } else {
                continue;
            };
            reaper::kill(group);
            if end.recv_timeout(KILL_GRACE).is_err() {
                println!("process {group} was killed and is still there: it hangs in the kernel");
            }
            break stop;
        };
        reaper::end(group);
        ending
    }
}

/// Where a command's output goes; to where ours goes if there is no file.
#[derive(Debug, Default)]
struct Sinks {
    out: Option<File>,
    err: Option<File>,
}

impl Sinks {
    /// How much has been written to the fuller of the two.
    fn written(&self) -> u64 {
        let files = [&self.out, &self.err].into_iter().flatten();
        let lengths = files.map(|file| file.metadata().map_or(0, |meta| meta.len()));
        lengths.max().unwrap_or(0)
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Exited with 0.
    Success,
    /// Exited with another code.
    Code(i32),
    /// Killed by this signal, which we did not send.
    Signal(i32),
    /// Stopped by us because its time was up.
    TimedOut(Duration),
    /// Stopped by us because it wrote too much.
    Flooded,
    /// Never ran, for this reason.
    NotStarted(String),
}

impl Ending {
    /// Whether the command exited with 0.
    pub(crate) fn is_success(&self) -> bool {
        *self == Self::Success
    }

    /// `Ok` for a success, otherwise a sentence with the command's line in it.
    pub(crate) fn ok(&self, command: &Command) -> Result<(), String> {
        if self.is_success() {
            return Ok(());
        }
        Err(format!("{self}: {}", command.line()))
    }
}

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(0), _) => Self::Success,
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("succeeded"),
            Self::Code(code) => write!(f, "exited with {code}"),
            Self::Signal(signal) => write!(f, "was killed by signal {signal}"),
            Self::TimedOut(limit) => write!(f, "was stopped after its limit of {limit:?}"),
            Self::Flooded => write!(f, "was stopped after writing {OUTPUT_BYTES_MAX} bytes"),
            Self::NotStarted(why) => write!(f, "did not run: {why}"),
        }
    }
}

/// What a captured command left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    /// How it ended.
    pub(crate) ending: Ending,
    /// How long it ran.
    pub(crate) elapsed: Duration,
    /// What it wrote to standard output (or to both, see [`Command::capture_merged`]).
    pub(crate) stdout: String,
    /// What it wrote to standard error.
    pub(crate) stderr: String,
}

impl Output {
    fn failed(ending: Ending) -> Self {
        Self {
            ending,
            elapsed: Duration::ZERO,
            stdout: String::new(),
            stderr: String::new(),
        }
    }

    /// Standard output of a command that succeeded; otherwise how it ended, its line, and all that
    /// it wrote.
    pub(crate) fn ok(self, command: &Command) -> Result<String, String> {
        match self.ending.ok(command) {
            Ok(()) => Ok(self.stdout),
            Err(why) => Err(format!("{why}\n{}{}", self.stdout, self.stderr)),
        }
    }
}

/// Whether a variable describes the package xtask, put there by the `cargo run` that started us:
/// a test that read it would see another value than under plain `cargo test`.
fn is_of_our_own_package(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// A file without a name, for the output of one process.
fn scratch_file() -> io::Result<File> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let serial = COUNT.fetch_add(1, Relaxed);
    let name = format!("mainspring-xtask-{}-{serial}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut options = File::options();
    let file = options
        .read(true)
        .append(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn read_back(file: Option<File>) -> String {
    let Some(mut file) = file else {
        return String::new();
    };
    let mut bytes = Vec::new();
    match file.rewind().and_then(|()| file.read_to_end(&mut bytes)) {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => format!("(cannot read its output back: {error})"),
    }
}

#[cfg(test)]
mod tests;

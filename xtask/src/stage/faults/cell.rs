//! One cell: how the program is run, and what has to come of it.

use super::matrix::Served;
use super::reference::log_of;
use crate::context::Context;
use crate::run::{Command, Ending, Output};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// When a cell counts as hanging. Its program ends by itself long before.
const HANGS: Duration = Duration::from_secs(40);

/// How much processor time an exchange may take: it takes a twentieth of that.
const CPU_MS_MAX: u64 = 400;

/// How many reports of a driver's errors there may be: one a second.
const REPORTS_MAX: usize = 10;

/// How many failing calls are no spinning: the program tries a few times.
const FAILURES_MAX: usize = 2000;

/// How strace marks the calls that it interfered with.
const INJECTED: [&str; 2] = ["(INJECTED)", "(DELAYED)"];

/// What fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Calls, what becomes of them, and of which of them (of all if empty), as strace says it.
    Call {
        calls: &'static str,
        what: String,
        when: String,
    },
    /// The process may have so many descriptors.
    Descriptors(u32),
}

/// What has to come of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// Every byte is right, and the program has not been told of anything.
    Unseen,
    /// Every byte is right in the end, and the program was told the words.
    Told(&'static str),
    /// Every byte is right in the end.
    Survives,
    /// The program ends with an error that says the words.
    Refused(&'static str),
    /// Where the ring was asked for by its name, the same; otherwise readiness serves, and the
    /// words say why.
    NoRing(&'static str),
    /// Every byte is right in the end, or the program was told why not.
    Ends,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) served: Served,
    pub(super) fault: Fault,
    pub(super) expect: Expect,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let served = self.served;
        match &self.fault {
            Fault::Call { calls, what, when } if when.is_empty() => {
                write!(f, "{served}: {calls} {what}, always")
            }
            Fault::Call { calls, what, when } => write!(f, "{served}: {calls} {what}, {when}"),
            Fault::Descriptors(count) => write!(f, "{served}: {count} descriptors"),
        }
    }
}

impl Cell {
    /// Runs the program, and says what is wrong with what came of it.
    pub(super) fn run(&self, ctx: &Context, program: &Path) -> Result<(), String> {
        let (command, log) = match &self.fault {
            Fault::Call { calls, what, when } => {
                let mut inject = format!("inject={calls}:{what}");
                if !when.is_empty() {
                    inject.push_str(":when=");
                    inject.push_str(when);
                }
                let (command, log) = log_of(ctx, &[&format!("trace={calls}"), &inject])?;
                (command, Some(log))
            }
            Fault::Descriptors(count) => {
                let script = format!("ulimit -n {count}; exec \"$0\" \"$@\"");
                (ctx.command("sh").args(["-c", &script]), None)
            }
        };
        let limit_ms = self.limit_ms().to_string();
        let command = (command.arg(program))
            .args(["--backend", self.served.option(), "--limit-ms", &limit_ms])
            .limit(HANGS)
            .quiet();
        let output = command.capture();
        let log = log.map(|log| log.take());
        self.judge(&output, log.as_deref())
            .map_err(|why| explain(&why, &command, &output))
    }

    /// How long a client waits: not for ever where nothing will come.
    fn limit_ms(&self) -> u32 {
        let may_wait = matches!(self.expect, Expect::Survives | Expect::Ends);
        if self.is_for_ever() || may_wait {
            250
        } else {
            10_000
        }
    }

    /// Whether waiting does not help.
    fn is_for_ever(&self) -> bool {
        match &self.fault {
            Fault::Call { what, when, .. } => when.is_empty() && what.starts_with("error"),
            Fault::Descriptors(_) => true,
        }
    }

    /// Looks at how the program ended, at what it said, and at the log of calls.
    pub(super) fn judge(&self, output: &Output, log: Option<&str>) -> Result<(), String> {
        let said = format!("{}{}", output.stdout, output.stderr);
        if said.contains("panicked at") {
            return Err("it panicked".to_owned());
        }
        if said.matches("(MS0003)").count() + said.matches(" MS0003 ").count() > REPORTS_MAX {
            return Err("it fills the log with MS0003".to_owned());
        }
        if said.contains("MS0010") && !self.is_for_ever() {
            return Err("it leaks what the kernel holds, for a fault that passes".to_owned());
        }
        let is_whole = match &output.ending {
            Ending::Success => true,
            Ending::Code(1) => false,
            // It was a call of the loader's: nothing of ours has run.
            Ending::Code(127) if said.contains("error while loading shared") => return Ok(()),
            ending => return Err(ending.to_string()),
        };
        let failures: Option<usize> =
            log.map(|log| INJECTED.iter().map(|word| log.matches(word).count()).sum());
        match failures {
            Some(0) => return Err("nothing failed: this call is not made so often".to_owned()),
            Some(count) if count > FAILURES_MAX => return Err(format!("it spins: {count} calls")),
            _ => {}
        }
        match cpu_ms(&output.stdout) {
            Some(ms) if ms > CPU_MS_MAX => return Err(format!("it spins: {ms} ms of processor")),
            Some(_) => {}
            None => return Err("it does not say how much processor it took".to_owned()),
        }
        self.judge_expected(is_whole, &said)
    }

    fn judge_expected(&self, is_whole: bool, said: &str) -> Result<(), String> {
        let is_told = !said.contains("; 0 errors were told");
        let says = |words: &str| {
            if said.contains(words) {
                Ok(())
            } else {
                Err(format!("nothing says `{words}`"))
            }
        };
        let must = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
        match self.expect {
            Expect::Unseen => {
                must(is_whole, "an exchange is not whole")?;
                must(!is_told, "the program was told of it")
            }
            Expect::Told(words) => {
                must(is_whole, "an exchange is not whole")?;
                must(is_told, "the program was not told")?;
                says(words)
            }
            Expect::Survives => must(is_whole, "an exchange is not whole"),
            Expect::Refused(words) => {
                must(!is_whole, "it went well, which cannot be")?;
                says(words)
            }
            Expect::NoRing(words) if self.served == Served::Auto => {
                must(is_whole, "an exchange is not whole")?;
                says("readiness")?;
                says(words)
            }
            Expect::NoRing(words) => {
                must(!is_whole, "it went well, which cannot be")?;
                says("MS0009")?;
                says(words)
            }
            Expect::Ends => must(is_whole || is_told, "it ended without a word"),
        }
    }
}

/// What the program says about its processor time.
fn cpu_ms(stdout: &str) -> Option<u64> {
    let lines = stdout.lines().rev();
    let said = lines.filter_map(|line| line.strip_prefix("cpu ")?.strip_suffix(" ms"));
    said.map(str::parse).next()?.ok()
}

fn explain(why: &str, command: &Command, output: &Output) -> String {
    let (line, elapsed) = (command.line(), output.elapsed);
    format!(
        "{why}, in {elapsed:.1?}: {line}\n{}{}",
        output.stdout, output.stderr
    )
}

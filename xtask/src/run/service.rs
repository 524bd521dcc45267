//! A command that runs beside us until it is told to end: a server, which somebody talks to.

use super::{Command, Ending, KILL_GRACE, Sinks, reaper, scratch_file};
use std::fs::File;
use std::io::{Read, Seek};
use std::process::Child;
use std::time::{Duration, Instant};

/// How often a service is looked at: what it wrote, and whether it still runs.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A running command. Dropped, it is killed with all that it started.
#[derive(Debug)]
pub(crate) struct Service {
    child: Child,
    line: String,
    output: File,
}

impl Command {
    /// Starts the command and lets it run. What it writes is kept, in the order in which it is
    /// written.
    pub(crate) fn start_service(&self) -> Result<Service, String> {
        let started = scratch_file().and_then(|output| {
            let sinks = Sinks {
                out: Some(output.try_clone()?),
                err: Some(output.try_clone()?),
            };
            if self.printed {
                println!("$ {} &", self.line());
            }
            Ok((self.start(&sinks)?, output))
        });
        match started {
            Ok((child, output)) => Ok(Service {
                child,
                line: self.line(),
                output,
            }),
            Err(error) => Err(format!("cannot start {}: {error}", self.line())),
        }
    }
}

impl Service {
    /// Waits until the command has written a line that begins with `prefix`, and returns what
    /// follows. An error if it ends before, or does not do so in time.
    pub(crate) fn wait_for_line(
        &mut self,
        prefix: &str,
        limit: Duration,
    ) -> Result<String, String> {
        let deadline = Instant::now() + limit;
        loop {
            // Before the look at what it wrote: what it wrote last is not missed.
            let ending = self.ending();
            let written = self.written();
            let complete = written
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'));
            if let Some(rest) = complete.filter_map(|line| line.strip_prefix(prefix)).next() {
                return Ok(rest.trim_end().to_owned());
            }
            if let Some(ending) = ending {
                return Err(format!("{ending}: {}\n{written}", self.line));
            }
            if Instant::now() > deadline {
                return Err(format!(
                    "no line that begins with `{prefix}` within {limit:?}: {}\n{written}",
                    self.line
                ));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Sends SIGTERM to the command and all that it started.
    pub(crate) fn terminate(&self) {
        reaper::terminate(self.child.id());
    }

    /// Waits until the command ends, which has to be in time and with 0, and returns all that it
    /// wrote.
    pub(crate) fn wait_for_end(mut self, limit: Duration) -> Result<String, String> {
        let deadline = Instant::now() + limit;
        loop {
            match self.ending() {
                Some(Ending::Success) => return Ok(self.written()),
                Some(ending) => {
                    let written = self.written();
                    return Err(format!("{ending}: {}\n{written}", self.line));
                }
                None if Instant::now() > deadline => {
                    let written = self.written();
                    return Err(format!(
                        "still there after {limit:?}: {}\n{written}",
                        self.line
                    ));
                }
                None => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// All that the command has written.
    pub(crate) fn written(&mut self) -> String {
        let mut bytes = Vec::new();
        match self
            .output
            .rewind()
            .and_then(|()| self.output.read_to_end(&mut bytes))
        {
            Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => format!("(cannot read its output back: {error})"),
        }
    }

    fn ending(&mut self) -> Option<Ending> {
        match self.child.try_wait() {
            Ok(status) => status.map(Ending::from),
            Err(error) => Some(Ending::NotStarted(format!("cannot wait: {error}"))),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let group = self.child.id();
        reaper::kill(group);
        let deadline = Instant::now() + KILL_GRACE;
        while self.ending().is_none() {
            if Instant::now() > deadline {
                println!("process {group} was killed and is still there: it hangs in the kernel");
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        reaper::end(group);
    }
}

#[cfg(test)]
mod tests;

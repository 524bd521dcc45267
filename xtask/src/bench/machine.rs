//! Where and on what a row was measured.

use crate::context::Context;
use crate::json::Value;
use std::fs;

/// The head of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) commit: String,
    pub(crate) load: String,
    pub(crate) kernel: String,
    pub(crate) clock: String,
    pub(crate) cpu: String,
    pub(crate) cores: String,
    pub(crate) compiler: String,
}

/// Looks around.
pub(crate) fn describe(ctx: &Context) -> Machine {
    let run = |program: &str, args: &[&str]| {
        let output = ctx.command(program).args(args).quiet().capture_stdout();
        String::from(output.stdout.trim())
    };
    let mut commit = run("git", &["rev-parse", "--short=12", "HEAD"]);
    if !run("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty() {
        commit.push_str(" and changes");
    }
    let read = |path: &str| {
        fs::read_to_string(path)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let cpuinfo = read("/proc/cpuinfo");
    let field = |name: &str| {
        let line = cpuinfo
            .lines()
            .find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split(':').nth(1))
            .unwrap_or("?")
            .trim()
            .to_owned()
    };
    Machine {
        commit,
        load: read("/proc/loadavg")
            .split(' ')
            .take(3)
            .collect::<Vec<_>>()
            .join(" "),
        kernel: read("/proc/sys/kernel/osrelease"),
        clock: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        cpu: format!(
            "{} (family {}, model {})",
            field("model name"),
            field("cpu family"),
            field("model")
        ),
        cores: std::thread::available_parallelism()
            .map_or(1, usize::from)
            .to_string(),
        compiler: run("rustc", &["--version"]),
    }
}

impl Machine {
    /// One flat JSON object.
    pub(crate) fn json(&self) -> String {
        let fields = self
            .fields()
            .map(|(name, value)| format!("\"{name}\":\"{}\"", value.replace(['"', '\\'], "'")));
        format!("{{{}}}", fields.join(","))
    }

    /// Reads [`json`](Machine::json) back.
    pub(crate) fn parse(line: &str) -> Option<Machine> {
        let value = Value::parse(line).ok()?;
        let text = |name: &str| String::from(value.at(name).text());
        Some(Machine {
            commit: text("commit"),
            load: text("load"),
            kernel: text("kernel"),
            clock: text("clock"),
            cpu: text("cpu"),
            cores: text("cores"),
            compiler: text("compiler"),
        })
    }

    /// Names and values, for the head of the report.
    pub(crate) fn fields(&self) -> [(&'static str, &str); 7] {
        [
            ("commit", &self.commit),
            ("load", &self.load),
            ("kernel", &self.kernel),
            ("clock", &self.clock),
            ("cpu", &self.cpu),
            ("cores", &self.cores),
            ("compiler", &self.compiler),
        ]
    }
}

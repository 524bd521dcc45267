//! The command line of the examples: `--name VALUE` or `--name=VALUE`, and `--help`.

use std::fmt::Display;
use std::process::ExitCode;

/// Gives every pair to `take`. An error is printed with the usage; help is printed. Both say with
/// which code the program ends.
pub(crate) fn read(
    usage: &str,
    mut take: impl FnMut(&str, &str) -> Result<(), String>,
) -> Result<(), ExitCode> {
    match pairs(usage, std::env::args().skip(1)) {
        Ok(None) => {
            println!("{usage}");
            Err(ExitCode::SUCCESS)
        }
        Ok(Some(pairs)) => pairs
            .iter()
            .try_for_each(|(name, value)| take(name, value))
            .map_err(|why| wrong(usage, &why)),
        Err(why) => Err(wrong(usage, &why)),
    }
}

/// The options with their values; `None`: help is asked for.
///
/// The usage says which options there are: the words in it that begin with `--`.
fn pairs(
    usage: &str,
    arguments: impl IntoIterator<Item = String>,
) -> Result<Option<Vec<(String, String)>>, String> {
    let mut arguments = arguments.into_iter();
    let mut pairs = Vec::new();
    while let Some(argument) = arguments.next() {
        if matches!(argument.as_str(), "--help" | "-h") {
            return Ok(None);
        }
        if !argument.starts_with('-') {
            return Err(format!("`{argument}` belongs to no option"));
        }
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (argument.as_str(), None),
        };
        if !known(usage).any(|known| known == name) {
            return Err(format!("there is no option `{name}`"));
        }
        let value = value.or_else(|| arguments.next());
        let value = value.ok_or_else(|| format!("`{name}` has no value"))?;
        if known(usage).any(|known| known == value) {
            return Err(format!("`{name}` has no value: `{value}` is an option"));
        }
        pairs.push((name.to_owned(), value));
    }
    Ok(Some(pairs))
}

fn known(usage: &str) -> impl Iterator<Item = &str> {
    usage
        .split(|letter: char| letter.is_whitespace() || matches!(letter, '[' | ']'))
        .filter(|word| word.starts_with("--"))
}

fn wrong(usage: &str, why: &str) -> ExitCode {
    eprintln!("{why}\n\n{usage}");
    ExitCode::from(2)
}

/// Reads one value, or says what is wrong with it.
pub(crate) fn value<T>(name: &str, value: &str) -> Result<T, String>
where
    T: std::str::FromStr,
    T::Err: Display,
{
    value.parse().map_err(|error: T::Err| {
        let is_negative = value.starts_with('-') && value[1..].parse::<u64>().is_ok();
        // What the standard library says of it is "invalid digit".
        let why = if is_negative {
            "it is negative".to_owned()
        } else {
            error.to_string()
        };
        format!("`{name} {value}`: {why}")
    })
}

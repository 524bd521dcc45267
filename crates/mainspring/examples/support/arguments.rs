//! The command line of the examples: `--name VALUE` pairs, and `--help`.

use std::fmt::Display;
use std::process::ExitCode;

/// Gives every pair to `take`. An error is printed with the usage; help is printed. Both say with
/// which code the program ends.
pub(crate) fn read(
    usage: &str,
    mut take: impl FnMut(&str, &str) -> Result<(), String>,
) -> Result<(), ExitCode> {
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if matches!(name.as_str(), "--help" | "-h") {
            println!("{usage}");
            return Err(ExitCode::SUCCESS);
        }
        let taken = match arguments.next() {
            Some(value) => take(&name, &value),
            None => Err(format!("`{name}` has no value, or is no option")),
        };
        if let Err(why) = taken {
            eprintln!("{why}\n\n{usage}");
            return Err(ExitCode::from(2));
        }
    }
    Ok(())
}

/// Reads one value, or says what is wrong with it.
pub(crate) fn value<T>(name: &str, value: &str) -> Result<T, String>
where
    T: std::str::FromStr,
    T::Err: Display,
{
    value
        .parse()
        .map_err(|error| format!("`{name} {value}`: {error}"))
}

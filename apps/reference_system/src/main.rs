//! The package binary: its nodes for the launcher, one node by itself, and two commands for
//! people.
#![forbid(unsafe_code)]

use crossdock_executor::{PackageError, end_program};
use crossdock_reference_system::calibration::{LIMIT_MAX, crunch_time, limit_of};
use crossdock_reference_system::indicators::Indicators;
use crossdock_reference_system::nodes::package;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: crossdock-reference-system report RECORDING [--skip N] [--json]
       crossdock-reference-system calibrate [--time-ms T | --limit N] [--json]

report     evaluates /ObjectCollisionEstimator and /BehaviorPlanner of a recording: the performance
           indicators of the reference system
           --skip    messages at the start of each topic that are left out; 10 unless said
calibrate  says which number_crunch_limit takes a time on this machine, or which time a limit takes
           --time-ms   milliseconds; 10 unless said
           --limit     number_crunch_limit
";

/// Messages in which the start of a run may show.
const SKIP: usize = 10;
/// What each node of the reference system is to take.
const TIME_MS: f64 = 10.0;
/// Longest time to calibrate for: ten seconds.
const TIME_MS_MAX: f64 = 10_000.0;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = arguments.split_first().map(|(first, rest)| (first.as_str(), rest));
    let outcome = match command {
        Some(("report", rest)) => ended(report(rest)),
        Some(("calibrate", rest)) => ended(calibrate(rest)),
        Some(("-h" | "--help" | "help", _)) => {
            nodes(["--help".to_owned()]).map(|_| format!("\n{USAGE}"))
        }
        _ => nodes(arguments.clone()),
    };
    end_program("crossdock-reference-system", outcome)
}

/// Runs nodes for the launcher, or one node by itself. Finds nothing to print.
fn nodes(words: impl IntoIterator<Item = String>) -> Result<String, PackageError> {
    package().main_with(words).map(|()| String::new())
}

/// What a command comes to. Its error may quote files, and is told as an error of a node is.
fn ended(result: Result<String, String>) -> Result<String, PackageError> {
    result.map_err(|sentence| PackageError::Alone { sentence })
}

/// What stands behind a command.
#[derive(Default)]
struct Arguments<'a> {
    options: Vec<(&'a str, &'a str)>,
    others: Vec<&'a str>,
    json: bool,
}

impl<'a> Arguments<'a> {
    fn parse(arguments: &'a [String], known: &[&str]) -> Result<Self, String> {
        let mut parsed = Self::default();
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if argument == "--json" {
                parsed.json = true;
            } else if !argument.starts_with('-') {
                parsed.others.push(argument);
            } else if known.contains(&argument) {
                let value = rest.next().ok_or(format!("`{argument}` needs a value\n\n{USAGE}"))?;
                parsed.options.push((argument, value));
            } else {
                return Err(format!("there is no option `{argument}`\n\n{USAGE}"));
            }
        }
        Ok(parsed)
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let Some((_, text)) = self.options.iter().rfind(|option| option.0 == name) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| format!("`{name} {text}`: give a number\n\n{USAGE}"))
    }
}

fn report(arguments: &[String]) -> Result<String, String> {
    let arguments = Arguments::parse(arguments, &["--skip"])?;
    let [recording] = arguments.others.as_slice() else {
        return Err(format!("report needs one recording\n\n{USAGE}"));
    };
    let skip = arguments.number("--skip")?.unwrap_or(SKIP);
    let arrivals = crossdock_reference_system::read(Path::new(recording));
    let found = Indicators::of(&arrivals.map_err(|error| error.to_string())?, skip);
    Ok(match arguments.json {
        true => format!("{:#}\n", serde_json::json!(found)),
        false => found.text(),
    })
}

fn calibrate(arguments: &[String]) -> Result<String, String> {
    let arguments = Arguments::parse(arguments, &["--time-ms", "--limit"])?;
    let (limit, time_ms) = (arguments.number("--limit")?, arguments.number("--time-ms")?);
    if !arguments.others.is_empty() || limit.is_some() && time_ms.is_some() {
        return Err(format!("calibrate takes a time or a limit\n\n{USAGE}"));
    }
    let (limit, taken) = match limit {
        Some(limit) if limit > LIMIT_MAX => {
            return Err(format!("--limit {limit}: give at most {LIMIT_MAX}"));
        }
        Some(limit) => (limit, crunch_time(limit)),
        None => {
            let time_ms: f64 = time_ms.unwrap_or(TIME_MS);
            if !(time_ms > 0.0 && time_ms <= TIME_MS_MAX) {
                return Err(format!("--time-ms {time_ms}: give 0 to {TIME_MS_MAX} milliseconds"));
            }
            limit_of(Duration::from_secs_f64(time_ms / 1e3))
        }
    };
    let time_ms = taken.as_secs_f64() * 1e3;
    Ok(match arguments.json {
        true => {
            let found = serde_json::json!({ "number_crunch_limit": limit, "time_ms": time_ms });
            format!("{found:#}\n")
        }
        false => format!("number_crunch_limit {limit} takes {time_ms:.3} ms\n"),
    })
}

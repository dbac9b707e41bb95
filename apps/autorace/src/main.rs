//! The package binary: its nodes for the launcher, one node by itself, sources of its hardware, and
//! commands for people.
#![forbid(unsafe_code)]

use crossdock_autorace::nodes::{package, slam_parameters_of};
use crossdock_autorace::recording;
use crossdock_autorace::report::{self, ReportOptions};
use crossdock_autorace::score;
use crossdock_autorace::slam_score;
use crossdock_executor::{PackageError, end_program};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: crossdock-autorace score --truth FILE.json RECORDING
       crossdock-autorace report RECORDING... -o FOLDER [--graph GRAPH] [--params FILE]...
                          [--graph-picture FILE.svg] [--summary FILE.json]
       crossdock-autorace trajectory RECORDING [--graph GRAPH]

score   compares /lane and /traffic_light of a recording with lane_truth.json or truth.json and
        prints JSON
report  writes FOLDER/index.html with overlay pictures, the driven path, the map and latencies, and
        beside it path.svg and map.svg, pictures of their own; several recordings (what was played,
        what was recorded) may make up one drive
        --graph          graph file that was run: needed to draw lanes and the graph
        --params         parameter file that was given to the run; may be repeated
        --graph-picture  picture of the graph; default: drawn from the graph file
        --summary        closing table, from `crossdock run --summary FILE.json`
trajectory
        compares the poses of a map with the true ones of a recording, makes the map again with and
        without loop closing, and prints JSON
        --graph          graph file that was run: parameters of its node `slam`; default: the node's
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = arguments.split_first().map(|(first, rest)| (first.as_str(), rest));
    let outcome = match command {
        Some(("score", rest)) => ended(score_command(rest)),
        Some(("report", rest)) => ended(report_command(rest)),
        Some(("trajectory", rest)) => ended(trajectory_command(rest)),
        Some(("-h" | "--help" | "help", _)) => {
            nodes(["--help".to_owned()]).map(|_| format!("\n{USAGE}"))
        }
        _ => nodes(arguments.clone()),
    };
    end_program("crossdock-autorace", outcome)
}

/// Runs nodes for the launcher, or one node by itself. Finds nothing to print.
fn nodes(words: impl IntoIterator<Item = String>) -> Result<String, PackageError> {
    package().main_with(words).map(|()| String::new())
}

/// What a command comes to. Its error may quote files, and is told as an error of a node is.
fn ended(result: Result<String, String>) -> Result<String, PackageError> {
    result.map_err(|sentence| PackageError::Alone { sentence })
}

/// Options with a value, in any order among the other arguments.
struct Arguments<'a> {
    options: Vec<(&'a str, &'a str)>,
    others: Vec<&'a str>,
}

impl<'a> Arguments<'a> {
    fn parse(arguments: &'a [String], known: &[&str]) -> Result<Self, String> {
        let mut parsed = Self { options: Vec::new(), others: Vec::new() };
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            if !argument.starts_with('-') {
                parsed.others.push(argument);
                continue;
            }
            if !known.contains(&argument) {
                return Err(format!("there is no option `{argument}`\n\n{USAGE}"));
            }
            let value = rest.next().ok_or(format!("`{argument}` needs a value\n\n{USAGE}"))?;
            parsed.options.push((argument, value));
        }
        Ok(parsed)
    }

    fn all(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.options.iter().filter(move |o| o.0 == name).map(|o| PathBuf::from(o.1))
    }

    fn last(&self, name: &str) -> Option<PathBuf> {
        self.all(name).last()
    }
}

fn score_command(arguments: &[String]) -> Result<String, String> {
    let arguments = Arguments::parse(arguments, &["--truth"])?;
    let (Some(truth), [path]) = (arguments.last("--truth"), arguments.others.as_slice()) else {
        return Err(format!("score needs one truth file and one recording\n\n{USAGE}"));
    };
    let path = Path::new(path);
    let text = std::fs::read_to_string(&truth)
        .map_err(|error| format!("{}: {error}; check the path", truth.display()))?;
    let recorded = recording::read(path).map_err(|error| error.to_string())?;
    if recorded.lanes.is_empty() && recorded.lights.is_empty() {
        let topics = [recording::LANE_TOPIC, recording::LIGHT_TOPIC];
        let nothing = recording::RecordingError::Nothing { path: path.to_owned(), topics };
        return Err(nothing.to_string());
    }
    let score = score::score(&text, &recorded.readings())
        .map_err(|error| format!("{}: {error}", truth.display()))?;
    Ok(format!("{score:#}\n"))
}

fn report_command(arguments: &[String]) -> Result<String, String> {
    let known = ["-o", "--output", "--graph", "--params", "--graph-picture", "--summary"];
    let arguments = Arguments::parse(arguments, &known)?;
    let output = arguments.last("-o").or_else(|| arguments.last("--output"));
    let (Some(output), false) = (output, arguments.others.is_empty()) else {
        return Err(format!("report needs a recording and -o FOLDER\n\n{USAGE}"));
    };
    let options = ReportOptions {
        recordings: arguments.others.iter().map(PathBuf::from).collect(),
        output,
        graph: arguments.last("--graph"),
        parameters: arguments.all("--params").collect(),
        graph_picture: arguments.last("--graph-picture"),
        summary: arguments.last("--summary"),
    };
    let report = report::write(&options).map_err(|error| error.to_string())?;
    Ok(format!("{} with {} pictures\n", report.page.display(), report.pictures))
}

fn trajectory_command(arguments: &[String]) -> Result<String, String> {
    let arguments = Arguments::parse(arguments, &["--graph"])?;
    let [path] = arguments.others.as_slice() else {
        return Err(format!("trajectory needs one recording\n\n{USAGE}"));
    };
    let graph = arguments.last("--graph").map(|path| report::read_graph(&path, &[])).transpose();
    let graph = graph.map_err(|error| error.to_string())?;
    let parameters = slam_parameters_of(graph.as_ref()).map_err(|error| error.to_string())?;
    let score =
        slam_score::score(Path::new(path), parameters).map_err(|error| error.to_string())?;
    Ok(format!("{score:#}\n"))
}

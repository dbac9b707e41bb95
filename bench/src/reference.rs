//! The Autoware reference system, run by the product's command as a user runs it: each mapping in
//! turn, with the work that its nodes are given and with the time that they are meant to take.
//!
//! Figures come from the closing table and from the package's own evaluation of a recording.
//! Nothing here knows how either is made.

use crate::Failure;
use crate::failure::While;
use crate::findings::{Cell, Findings, Table};
use crate::plan::Extent;
use crate::scope::Scope;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where graph and mappings lie.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../apps/reference_system");
/// Mappings, in the order of the rows, and what they are called there.
const MAPPINGS: [(&str, &str); 5] = [
    ("processes", "event, a process per node"),
    ("event", "event, one thread"),
    ("chain", "chain, one thread"),
    ("paths", "chain, two threads, hot path apart"),
    ("threads", "graph, two threads"),
];
/// The limit that the reference system comes with.
const LIMIT: u64 = 4096;
/// What an execution takes where the reference system was made, milliseconds.
const TIME_MS: f64 = 10.0;
/// Topics that the indicators are made of.
const TOPICS: &str = "/ObjectCollisionEstimator,/BehaviorPlanner";
/// Executions of 10 ms or so between the release of the lidars and the last node of the hot path,
/// one after the other in one thread: two transformers, fusion, filter, detector.
const WORK_ON_THE_WAY: f64 = 5.0;
/// Of them a node.
const WORKER: &str = "ray_ground_filter";

/// The product's programs, and what a run needs beside them.
struct Programs {
    crossdock: PathBuf,
    package: PathBuf,
    scope: Scope,
    seconds: u32,
}

/// What one run told.
struct Run {
    summary: Value,
    indicators: Value,
    /// What it was told to take; coming to rest is not part of it.
    seconds: f64,
}

/// Measures everything.
pub fn measure(extent: Extent) -> Result<Findings, Failure> {
    let mut found = Findings::new("reference", "The Autoware reference system")?;
    let programs = Programs::find(if extent == Extent::Quick { 4 } else { 25 })?;
    let given_ms = programs.calibrate(&["--limit", &LIMIT.to_string()])?.1;
    let (scaled, scaled_ms) = programs.calibrate(&["--time-ms", &TIME_MS.to_string()])?;
    for (limit, time_ms) in [(LIMIT, given_ms), (scaled, scaled_ms)] {
        let title = format!("primes up to {limit}, {time_ms:.2} ms an execution");
        let mut latency = Table::new(
            &format!("Latency of the hot path and period of the behaviour planner: {title}"),
            &[
                "mapping",
                "hot path min ms",
                "p50 ms",
                "p99 ms",
                "max ms",
                "until published p50 ms",
                "planner period mean ms",
                "deviation ms",
                "max ms",
            ],
        );
        let mut cost = Table::new(
            &format!("Cost and misses: {title}"),
            &[
                "mapping",
                "CPU % of a core",
                "switches/s",
                "memory MiB",
                "lidar messages",
                "without update",
                "dropped on hot path",
                "lost in all",
                "latency limits missed",
                "timers skipped",
            ],
        );
        for (mapping, name) in MAPPINGS {
            let run = programs.run(mapping, limit)?;
            latency.row(run.latencies(name));
            cost.row(run.costs(name));
            run.compare(&format!("{name}, limit {limit}"), &mut found);
        }
        found.table(latency);
        found.table(cost);
    }
    found.note(format!(
        "{} s each, the first 10 messages left out of latencies; not pinned, other load is in the figures",
        programs.seconds
    ));
    found.note(
        "hot path: from the later release of the two lidars until the object collision estimator begins, \
         as the reference system counts it; what is fully loaded or beyond shows it in what is missed",
    );
    found.note(
        "latency limits: 100 ms from each lidar's message to that of the object collision estimator; CPU, \
         switches and memory are of all threads of all processes of the graph",
    );
    Ok(found)
}

impl Programs {
    fn find(seconds: u32) -> Result<Self, Failure> {
        let crossdock = std::env::var_os("CROSSDOCK").unwrap_or_else(|| "crossdock".into());
        let crossdock = PathBuf::from(crossdock);
        // A package's binary lies beside the command, or both are found by their names.
        let package = crossdock.with_file_name("crossdock-reference-system");
        Ok(Self { crossdock, package, scope: Scope::create()?, seconds })
    }

    /// A limit and the milliseconds that counting primes up to it takes.
    fn calibrate(&self, options: &[&str]) -> Result<(u64, f64), Failure> {
        let mut command = Command::new(&self.package);
        let found = json(command.arg("calibrate").args(options).arg("--json"))?;
        let doing = "reading the calibration";
        let limit = found["number_crunch_limit"].as_u64().during(doing)?;
        Ok((limit, found["time_ms"].as_f64().during(doing)?))
    }

    fn run(&self, mapping: &str, limit: u64) -> Result<Run, Failure> {
        let graph = Path::new(FOLDER).join("autoware.graph.yaml");
        let mapping = Path::new(FOLDER).join(format!("autoware.{mapping}.mapping.yaml"));
        let params = self.parameters(&graph, limit)?;
        let recording = self.scope.folder().join("run.mcap");
        let mut command = self.crossdock();
        command.arg("run").arg(&graph).arg("--mapping").arg(mapping).arg("--params").arg(params);
        command.arg("--record").arg(&recording).args(["--topics", TOPICS]);
        let summary = json(command.args(["--duration", &self.seconds.to_string(), "--json"]))?;
        let indicators =
            json(Command::new(&self.package).args(["report", "--json"]).arg(&recording))?;
        std::fs::remove_file(&recording).during("removing the recording")?;
        Ok(Run { summary, indicators, seconds: f64::from(self.seconds) })
    }

    /// A parameter file that gives every node that computes this limit.
    fn parameters(&self, graph: &Path, limit: u64) -> Result<PathBuf, Failure> {
        let drawn = json(self.crossdock().arg("graph").arg(graph).arg("--json"))?;
        let nodes = drawn["graph"]["nodes"].as_array().during("reading the graph's nodes")?;
        let computing =
            nodes.iter().filter(|node| !node["parameters"]["number_crunch_limit"].is_null());
        let names = computing.filter_map(|node| node["name"].as_str());
        let lines = names.map(|name| format!("  {name}: {{ number_crunch_limit: {limit} }}\n"));
        let file = self.scope.folder().join("limit.params.yaml");
        std::fs::write(&file, format!("crossdock: 1\nnodes:\n{}", lines.collect::<String>()))
            .during("writing the parameters")?;
        Ok(file)
    }

    fn crossdock(&self) -> Command {
        let mut command = Command::new(&self.crossdock);
        command.env("XDG_RUNTIME_DIR", self.scope.folder()).env_remove("ROS_DOMAIN_ID");
        command
    }
}

/// Runs a program to its end and reads what it prints.
fn json(command: &mut Command) -> Result<Value, Failure> {
    let doing = format!("running {}", command.get_program().to_string_lossy());
    let output = command.output().during(&doing)?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        return Err(Failure::new(&doing, String::from_utf8_lossy(&said)));
    }
    serde_json::from_slice(&output.stdout).during(&doing)
}

impl Run {
    fn latencies(&self, name: &str) -> Vec<Cell> {
        let of = |what: &str, key: &str| -> Cell {
            self.indicators[what][key].as_f64().map(|ns| ns / 1e6).into()
        };
        let path = ["min_ns", "p50_ns", "p99_ns", "max_ns"].map(|key| of("hot_path", key));
        let published = of("hot_path_until_published", "p50_ns");
        let period = ["mean_ns", "deviation_ns", "max_ns"];
        let period = period.map(|key| of("behavior_planner_period", key));
        [name.into()].into_iter().chain(path).chain([published]).chain(period).collect()
    }

    fn costs(&self, name: &str) -> Vec<Cell> {
        let processes = |key: &str| self.sum("processes", |row| row[key].as_u64());
        let cause =
            |row: &Value| Some(row["losses"].as_object()?.values().filter_map(Value::as_u64).sum());
        let missed = |row: &Value| Some(row["late"].as_u64()? + row["stalled"].as_u64()?);
        let indicator = |key: &str| Cell::from(self.indicators[key].as_u64());
        vec![
            name.into(),
            (processes("processor_ns") as f64 / 1e7 / self.seconds).into(),
            (processes("context_switches") as f64 / self.seconds).into(),
            (processes("resident_bytes") as f64 / f64::from(1 << 20)).into(),
            indicator("front_lidar_samples"),
            indicator("front_lidar_without_update"),
            indicator("hot_path_drops"),
            self.sum("topics", cause).into(),
            self.sum("chains", missed).into(),
            self.sum("nodes", |row| row["timer_skips"].as_u64()).into(),
        ]
    }

    /// The hot path against the work on it, which no runtime can take away from one thread.
    fn compare(&self, name: &str, found: &mut Findings) {
        let nodes = self.summary["nodes"].as_array().map_or(&[][..], Vec::as_slice);
        let worker = nodes.iter().find(|row| row["node"] == WORKER);
        let work_ns = worker.and_then(|row| row["p50_ns"].as_f64());
        let path_ns = self.indicators["hot_path"]["p50_ns"].as_f64();
        if let (Some(work_ns), Some(path_ns)) = (work_ns, path_ns) {
            let quotient = path_ns / (WORK_ON_THE_WAY * work_ns);
            found.comparison(
                format!("{name}: hot path p50 over its work in one thread"),
                quotient,
                "",
            );
        }
    }

    fn sum(&self, rows: &str, of: impl Fn(&Value) -> Option<u64>) -> u64 {
        let rows = self.summary[rows].as_array().map_or(&[][..], Vec::as_slice);
        rows.iter().filter_map(of).sum()
    }
}

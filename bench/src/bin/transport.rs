//! `transport`: measures the transports and writes `transport.json` and `transport.html`.

use crossdock_bench::control::ChildPlan;
use crossdock_bench::failure::While;
use crossdock_bench::machine::{Cores, Machine};
use crossdock_bench::plan::Extent;
use crossdock_bench::scope::Scope;
use crossdock_bench::{Failure, child, coordinator, report};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: transport [--quick] [--case PART_OF_NAME] --out FOLDER";

/// What the command line asks for.
struct Arguments {
    extent: Extent,
    /// Only cases whose name contains this.
    part: String,
    folder: PathBuf,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.first().map(String::as_str) {
        Some("child") => return be_child(arguments.get(1)),
        _ => parse(&arguments).and_then(|arguments| run(&arguments)),
    };
    match outcome {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failures) => {
            eprintln!("{failures} measurements failed; the report names them");
            ExitCode::FAILURE
        }
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn be_child(plan: Option<&String>) -> ExitCode {
    let plan = plan.and_then(|text| serde_json::from_str::<ChildPlan>(text).ok());
    match plan {
        Some(plan) => {
            child::run(&plan);
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("`transport child` is started by `transport` only");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Result<Arguments, Failure> {
    let (mut extent, mut folder, mut part) = (Extent::Full, None, String::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--quick" => extent = Extent::Quick,
            "--case" => part = rest.next().cloned().unwrap_or_default(),
            "--out" => folder = rest.next().map(PathBuf::from),
            other => return Err(Failure::new(format!("understanding {other:?}"), USAGE)),
        }
    }
    let folder = folder.ok_or_else(|| Failure::new("looking for --out", USAGE))?;
    Ok(Arguments { extent, part, folder })
}

fn run(arguments: &Arguments) -> Result<usize, Failure> {
    let Arguments { extent, part, folder } = arguments;
    std::fs::create_dir_all(folder).during("making the output folder")?;
    let machine = Machine::read()?;
    let scope = Scope::create()?;
    let mut result = report::Report::new(*extent, machine);
    for cores in [Cores::Same, Cores::Different, Cores::Siblings] {
        if let Err(why) = result.machine.placement(cores) {
            eprintln!("cores {cores:?} are not measured: {why}");
            result.unavailable.push(report::Unavailable { cores, why });
        }
    }
    let mut cases = extent.cases();
    cases.retain(|case| case.name().contains(part));
    for (index, case) in cases.iter().enumerate() {
        if result.machine.placement(case.cores).is_err() {
            continue;
        }
        eprintln!("{:>3}/{} {}", index + 1, cases.len(), case.name());
        let outcome = coordinator::measure(case, &result.schedule, &result.machine, scope.folder());
        for row in &outcome.rows {
            eprintln!(
                "        {:<18} p50 {:>12.1} ns",
                format!("{:?}", row.system),
                row.percentiles.p50_ns
            );
        }
        for failure in &outcome.failures {
            eprintln!("        {failure}");
        }
        result.rows.extend(outcome.rows);
        result.failures.extend(outcome.failures);
    }
    result.finish();
    report::write(&result, folder)?;
    Ok(result.failures.len())
}

